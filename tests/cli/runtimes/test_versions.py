"""What a version says of itself in its own Python, and versions that no run can measure."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import pyscale_stages
from baseenvironment import base_environment, replace_in
from mockruns import plan_of
from pyscale.errors import UserError
from pyscale.planning.grid import unfolded
from pyscale.planning.planentry import Dataset
from pyscale.planning.suite import load_suite
from pyscale.runtimes.versions import fitted_to_versions, refuse_changed_versions
from pyscale_stages.moviewriter import write_movie
from refusals import refused

LABELS = load_suite("labels")


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Folder of the packages of a base environment, with a copy of the stages."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return base_environment(tmp_path / "env")


@pytest.fixture
def plan(tmp_path):
    movie = tmp_path / "labels.ome.tif"
    write_movie(movie, np.zeros((4, 8, 8), np.uint16), "TYX")

    def planned(base=tmp_path / "env", **settings):
        suite = unfolded(LABELS, {"environment": (str(base),)}, device="cpu", cores=lambda *_: 1)
        what = (suite, Dataset(movie, frames=4), tmp_path / "runs")
        return fitted_to_versions(plan_of(*what, only=("track",), repeats=1, **settings))

    return planned


def refusal(function, *arguments, **named):
    with refused(UserError) as caught:
        function(*arguments, **named)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.slow
def test_the_plan_freezes_what_a_version_is_made_from_and_a_changed_one_is_refused(
    plan, packages, tmp_path
):
    begun = plan()
    (found,) = begun.identities.values()
    assert begun.identities == {f"{tmp_path}/env/bin/python": found}
    assert found.code_folder == packages / "pyscale_stages"
    assert "laptrack" in found.packages
    refuse_changed_versions(begun, "both")
    replace_in(
        packages / "pyscale_stages" / "track" / "stage.py", "The stage `track`", "Another stage"
    )
    (again,) = plan().identities.values()
    assert again.code_sha256 != found.code_sha256
    refusal(refuse_changed_versions, begun, "both")


@pytest.mark.slow
def test_an_environment_without_the_stages_or_without_this_one_is_refused(plan, tmp_path, packages):
    base_environment(tmp_path / "empty", has_stages=False)
    said = refusal(plan, tmp_path / "empty")
    why = "cannot run the stage track (ModuleNotFoundError: No module named 'pyscale_stages')"
    assert why in said
    assert said.endswith("install pyscale with that stage there")
    shutil.rmtree(packages / "pyscale_stages" / "track")
    refusal(plan)


def test_an_interpreter_that_does_not_start_is_refused(plan, packages):
    python = packages.parents[2] / "bin" / "python"
    python.unlink()
    python.write_text("")
    refusal(plan)


@pytest.mark.slow
def test_a_version_whose_records_have_another_schema_is_refused(plan, packages):
    contract = packages / "pyscale_stages" / "contract.py"
    before, now = (f"schema_version: Literal[{n}] = {n}" for n in (2, 3))
    replace_in(contract, now, before)
    refusal(plan)


@pytest.mark.slow
def test_a_missing_library_is_refused_with_what_installs_it(plan, packages):
    libraries = packages / "libraries.pth"
    kept = packages / "kept"
    kept.mkdir()
    for one in Path(libraries.read_text().strip()).iterdir():
        if not one.name.startswith("laptrack"):
            (kept / one.name).symlink_to(one)
    libraries.write_text(f"{kept}\n")
    refusal(plan)


@pytest.mark.slow
def test_parameters_that_an_older_version_does_not_know_are_left_out(plan, packages):
    replace_in(packages / "pyscale_stages" / "track" / "params.py", "gap_frames:", "frames_of_gap:")
    (params,) = {tuple(trial.params) for trial in plan().trials}
    assert "max_distance_px" in params
    assert "gap_frames" not in params
    refusal(plan, stages={"track": {"gap_frames": 3}})


@pytest.mark.slow
@pytest.mark.usefixtures("packages")
def test_stages_that_hide_those_of_a_version_are_refused(plan, monkeypatch):
    hiding = Path(pyscale_stages.__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", f"/elsewhere:{hiding}")
    refusal(plan)
