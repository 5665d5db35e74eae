"""What a plan lacks ends it in one sentence, before any trial and in under a second."""

import sys
import time

import numpy as np
import pytest

from mockruns import plan_of
from pyscale.doctor.files import room
from pyscale.doctor.preflight import before_run, preflight
from pyscale.errors import UserError
from pyscale.planning.planentry import Dataset
from pyscale.planning.suite import load_suite
from pyscale_stages.errors import ResourceExhausted
from pyscale_stages.moviewriter import write_movie
from refusals import refused


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """No variable of this shell that a plan would be warned of."""
    from pyscale_stages.commandline import THREAD_VARIABLES
    from pyscale_stages.measure import stamp

    for name in (*THREAD_VARIABLES, *stamp.THREAD_VARIABLES):
        monkeypatch.delenv(name, raising=False)


def problems(plan):
    return {(one.code, one.where): one.what for one in preflight(plan) if one.status == "problem"}


def test_it_takes_less_than_a_second_and_imports_no_stage_library(make):
    plan = make()
    heavy = {"ants", "torch", "cellpose", "pyclesperanto", "laptrack"}
    before = heavy & set(sys.modules)

    def took_s():
        start = time.monotonic()
        preflight(plan)
        return time.monotonic() - start

    # A busy machine may take longer now and then, and not each time.
    assert any(took_s() < 1 for _ in range(20))
    assert heavy & set(sys.modules) == before


def of_reconstruction(tmp_path, **params):
    """A plan of two ranks that share an image."""
    suite = load_suite("reconstruct")
    step = suite.stages["tomography_3d"]
    step = step.model_copy(update={"params": step.params | params})
    suite = suite.model_copy(update={"stages": {"tomography_3d": step}})
    return plan_of(suite, None, tmp_path / "runs", (1, 2))


def test_what_a_parameter_asks_for_is_named_with_its_package(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "pyscale.doctor.examined.find_spec", lambda name: None if name == "astra" else name
    )
    assert problems(of_reconstruction(tmp_path, projector="torch")) == {}
    with refused(UserError):
        before_run(of_reconstruction(tmp_path, projector="astra"))
    absent = problems(of_reconstruction(tmp_path, weights=str(tmp_path / "none.pth")))
    assert set(absent) == {("stage.works", "tomography_3d")}


def test_an_absent_library_is_a_problem(make, monkeypatch):
    # Python's own way to make an import fail.
    monkeypatch.setitem(sys.modules, "cellpose", None)
    assert set(problems(make())) == {("stage.libraries", "segment")}


def test_absent_weights_end_the_run_in_one_sentence(make, tmp_path, monkeypatch):
    monkeypatch.setenv("CELLPOSE_LOCAL_MODELS_PATH", str(tmp_path))
    with refused(UserError):
        before_run(make(stages={"segment": {"model": "cyto3"}}))


@pytest.fixture
def two_channels(tmp_path):
    """A movie of two frames and channels."""
    path = tmp_path / "two.ome.tif"
    write_movie(path, np.ones((2, 2, 16, 16), np.float32), "TCYX")
    return Dataset(movie=path, frames=2)


def test_a_channel_that_the_movie_lacks_and_a_first_frame_that_cannot_be_read_end_the_run(
    make, two_channels
):
    assert problems(make(dataset=two_channels, stages={"segment": {"channel": 1}})) == {}
    with refused(UserError):
        before_run(make(dataset=two_channels, stages={"segment": {"channel": 5}}))
    frames = np.ones((2, 2, 16, 16), np.float32)
    frames[0, 1, 3, 4] = np.nan
    write_movie(two_channels.movie, frames, "TCYX")
    with refused(UserError):
        before_run(make(dataset=two_channels))


@pytest.mark.parametrize(
    ("stage", "params"),
    [
        ("segment", {"model": "cpsam"}),
        ("contact", {"backend": "opencl"}),
        ("track", {"backend": "trackmate", "trackmate_jars": "."}),
    ],
)
def test_a_part_that_parameters_ask_for_and_that_is_absent_ends_the_run(
    make, tmp_path, monkeypatch, stage, params
):
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    # A processor needs no driver, and other stages are not looked at.
    assert problems(make()) == {}
    assert problems(make(only=("register_denoise",), stages={stage: params})) == {}
    assert set(problems(make(stages={stage: params}))) == {("stage.works", stage)}


def test_a_full_disk_ends_the_run_as_a_resource_and_little_room_is_a_warning(make, small_disk):
    disk = small_disk("size=64k")
    (disk / "filler").write_bytes(b"x" * (64 << 10))
    with refused(ResourceExhausted):
        before_run(make(runs_folder=disk / "runs"))
    disk = small_disk("size=4m")
    assert [one.status for one in room(disk, 1 << 20)] == ["warning"]
    assert list(room(disk, 1 << 10)) == []


def test_warnings_are_said_and_the_run_goes_on(make, monkeypatch, capsys):
    assert problems(make()) == {}
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    before_run(make())
    said = capsys.readouterr()
    assert "warning: OMP_NUM_THREADS=8: " in said.err
    assert said.out == ""
