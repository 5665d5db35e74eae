import json
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from unittest.mock import Mock

import pytest
import torch

from pyscale_stages.errors import BadInput, MissingPart
from pyscale_stages.segment import models
from pyscale_stages.segment.models import cellpose_of_state, read_state
from pyscale_stages.segment.networks import Cellpose3Segmenter, build_net, widths_of
from pyscale_stages.segment.params import EMBEDDED_MODEL, SegmentParams
from refusals import refused


def test_a_model_is_a_path_or_a_name_in_cellposes_folder_by_setting_or_in_the_home(
    tmp_path, monkeypatch
):
    home = tmp_path / ".cellpose" / "models"
    home.mkdir(parents=True)
    files = tmp_path / "mine.pt", tmp_path / "cyto3", home / "cpsam"
    for file in files:
        file.write_bytes(b"weights")
    monkeypatch.setenv(models.MODEL_FOLDER_VARIABLE, str(tmp_path))
    assert models.find_weights(str(files[0])) == files[0]
    assert models.find_weights("cyto3") == files[1]
    monkeypatch.delenv(models.MODEL_FOLDER_VARIABLE)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert models.find_weights("cpsam") == files[2]


def test_under_cellpose_4_the_embedded_model_other_tiles_and_an_estimate_are_refused(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(models, "version", lambda _name: "4.2.1.1")
    with refused(MissingPart):
        models.refuse_other_version(
            EMBEDDED_MODEL, models.CELLPOSE_OF_MODEL[EMBEDDED_MODEL], models.installed_cellpose()
        )
    (tmp_path / "mine.pt").write_bytes(b"weights")
    own = SegmentParams(model=str(tmp_path / "mine.pt"), estimate_diameter=True)
    with refused(BadInput):
        models.find_model(own)
    with refused(BadInput):
        models.find_model(own.model_copy(update={"estimate_diameter": False, "tile_px": 256}))


@pytest.mark.parametrize("widths", [[2, 8, 16, 24], [2, 4, 8, 16, 256]])
def test_a_network_of_any_width_is_rebuilt_from_its_weights(widths, tmp_path):
    net = build_net(widths)
    net.save_model(tmp_path / "net.pt")
    state = read_state(tmp_path / "net.pt")
    assert cellpose_of_state(tmp_path / "net.pt", state) == 3
    assert widths_of(tmp_path / "net.pt", state) == widths
    segmenter = Cellpose3Segmenter(tmp_path / "net.pt", torch.device("cpu"))
    loaded = segmenter.model.net.state_dict()
    for name, value in net.state_dict().items():
        torch.testing.assert_close(loaded[name], value)


IMPORTS = """
import json, sys
import numba
njit = numba.njit
from pyscale_stages.segment.models import import_cellpose
import_cellpose(3)
from cellpose import dynamics
assert numba.njit is njit
assert "matplotlib" not in sys.modules
functions = ["_extend_centers", "steps2D", "steps3D"]
stats = {name: getattr(dynamics, name).stats for name in functions}
print(json.dumps({name: [sum(s.cache_hits.values()), sum(s.cache_misses.values())]
                  for name, s in stats.items()}))
"""


def imported(folder):
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS],
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


@pytest.mark.slow
def test_the_second_import_of_cellpose_compiles_nothing_and_none_loads_matplotlib(tmp_path):
    pytest.importorskip("cellpose")
    first, second = imported(tmp_path), imported(tmp_path)
    assert all(misses for _, misses in first.values())
    assert second == {name: [1, 0] for name in first}


@pytest.mark.parametrize(
    "found",
    [
        {"return_value": "2.3.2"},
        {"return_value": "5.0"},
        {"side_effect": PackageNotFoundError("cellpose")},
    ],
    ids=["older", "newer", "none"],
)
def test_a_cellpose_that_no_adapter_knows_or_none_is_missing(found, monkeypatch):
    monkeypatch.setattr(models, "version", Mock(**found))
    with refused(MissingPart):
        models.installed_cellpose()


def test_half_precision_weights_are_read_and_those_with_a_layer_missing_refused(tmp_path):
    net = build_net([2, 4, 8]).half()
    net.save_model(tmp_path / "net.pt")
    segmenter = Cellpose3Segmenter(tmp_path / "net.pt", torch.device("cpu"))
    assert next(segmenter.model.net.parameters()).dtype == torch.float32
    state = build_net([2, 4, 8]).state_dict()
    del state["output.2.bias"]
    torch.save(state, tmp_path / "net.pt")
    with refused(BadInput):
        Cellpose3Segmenter(tmp_path / "net.pt", torch.device("cpu"))
