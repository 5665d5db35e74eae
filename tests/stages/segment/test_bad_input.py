"""Input that cannot be used ends with exit code 2 and one sentence."""

import pytest
import torch

from pyscale_stages.segment.models import MODEL_FOLDER_VARIABLE


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"channel": 2}, "has no channel 2"),
        ({"model": "cyto33"}, "did you mean 'cyto3'?"),
        ({"model": "cpsam"}, "pip install cellpose==4."),
        (
            {"diameter_px": 20, "estimate_diameter": True},
            "diameter_px 20 and estimate_diameter exclude each other",
        ),
        ({"length_px": 500}, "500 x 500 pixels"),
        ({"length_px": 500}, "movie.ome.tif have 144 x 128"),
        *(
            ({name: value}, repr(name))
            for name, value in {
                "diameter_px": 0,
                "batch_size": 0,
                "channel": -1,
                "flow_threshold": -0.1,
                "length_px": 0,
                "calls": 0,
            }.items()
        ),
    ],
)
def test_a_wrong_task_is_refused_with_what_to_give(params, sentence, frames, bench):
    assert sentence in bench.refused("run", frames, **params)


def test_weights_are_not_downloaded(frames, bench, tmp_path, monkeypatch):
    monkeypatch.setenv(MODEL_FOLDER_VARIABLE, str(tmp_path / "models"))
    said = bench.refused("run", frames, model="cyto3")
    assert f"put Cellpose's file 'cyto3' into {tmp_path / 'models'}" in said
    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (None, "is not readable as network weights"),
        ({"layer.weight": torch.ones(2)}, "weights of another network"),
        ({"W2": torch.ones(2)}, "needs Cellpose 4"),
        ({"output.2.weight": torch.ones(3, 16, 1, 1)}, "no network for 2 input channels"),
    ],
    ids=["damaged", "of another network", "of Cellpose 4", "of two channels"],
)
def test_weights_that_fit_no_network_are_refused(state, sentence, frames, bench, tmp_path):
    weights = tmp_path / "weights.pt"
    if state is None:
        weights.write_bytes(b"nothing that torch wrote" * 100)
    else:
        torch.save(state, weights)
    assert sentence in bench.refused("run", frames, model=str(weights))


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_device_that_does_not_work_is_refused(device, frames, bench):
    usable = torch.cuda.is_available() if device == "cuda" else torch.backends.mps.is_available()
    if usable:
        pytest.skip(f"{device} works here: nothing to refuse")
    said = bench.refused("run", frames, device=device)
    assert f"the device {device} does not work here" in said
