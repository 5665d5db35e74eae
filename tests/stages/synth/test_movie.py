import hashlib
import os
import subprocess
import sys

import pytest

from pyscale_stages.synth.movie import SynthParams, write_synthetic_movie

SMALL = SynthParams(seed=3, frames=4, height_px=96, width_px=80, cells=8, radius_px=6)


def files_of(folder):
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def test_a_movie_is_written_as_the_tree_that_the_stages_expect(two_types):
    labels = {f"labels_ch{channel}.ome.tif" for channel in (0, 1)}
    tables = {f"{name}.parquet" for name in ("tracks", "contacts", "drift")}
    # The camera alone has noise.
    noise = {"clean_ch0.ome.tif", "clean_ch1.ome.tif", "noise.parquet"}
    truth = {f"truth/specimen/{file}" for file in labels | tables}
    truth |= {f"truth/camera/{file}" for file in labels | tables | noise}
    assert set(files_of(two_types)) == {"movie.ome.tif", "synth.json"} | truth
    assert sorted(p.name for p in two_types.parent.iterdir()) == [two_types.name]


@pytest.mark.slow
def test_the_same_parameters_give_the_same_bytes_in_another_process(tmp_path):
    write_synthetic_movie(tmp_path / "here", SMALL)
    program = (
        "import sys, pathlib; from pyscale_stages.synth.movie import *; "
        "write_synthetic_movie(pathlib.Path(sys.argv[1]), "
        "SynthParams.model_validate_json(sys.argv[2]))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "17", "TZ": "Asia/Tokyo"}
    arguments = [sys.executable, "-c", program, str(tmp_path / "there"), SMALL.model_dump_json()]
    subprocess.run(arguments, check=True, env=environment)
    assert files_of(tmp_path / "here") == files_of(tmp_path / "there")


def test_a_movie_is_whole_or_not_there(tmp_path):
    calls = []

    def interrupt(done, total):
        calls.append((done, total))
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_synthetic_movie(tmp_path / "m", SMALL, interrupt)
    assert list(tmp_path.iterdir()) == []
    folder = write_synthetic_movie(tmp_path / "m", SMALL, lambda *told: calls.append(told))
    assert calls == [(1, 4), (2, 4), (3, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    assert (folder / "synth.json").is_file()
