"""A stage's interpreter is really asked: what is broken there shows itself, whatever it does."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from shutil import which

import pytest

from pyscale.doctor.examined import distinct
from pyscale.doctor.stages import asked, read_answers, stages
from pyscale.findings import Finding
from pyscale.planning.plan import Trial
from pyscale_stages import trying
from pyscale_stages.commandline import THREAD_VARIABLES
from pyscale_stages.declaration import Needs
from pyscale_stages.registry import load_stage

STAND_INS = Path(__file__).resolve().parents[2] / "stages" / "track" / "trackmate_standin"
Ask = Callable[..., dict[str, Finding]]
pytestmark = pytest.mark.slow


def trial_of(stage, params=None, device="cpu"):
    """A trial of a stage with some of its parameters."""
    whole = load_stage(stage).params.model_validate(params or {}).model_dump(mode="json")
    known = {"entry": stage, "stage": stage, "params": whole, "device": device, "image": None}
    return Trial.model_construct(**known, interpreter=None)


def ask(stage, params=None, device="cpu", **environment):
    """Ask this environment about a stage, with variables of the test's own."""
    variables = {name: str(value) for name, value in environment.items()}
    found = asked(
        trial_of(stage, params, device),
        1,
        [sys.executable],
        environment={**os.environ, **variables},
        time_limit_s=600,
    )
    return {one.code.rpartition(".")[2]: one for one in found}


def asked_here(request):
    """Findings of this very process."""
    said = StringIO()
    trying.ask(request, said)
    return read_answers(said.getvalue().encode())[0]


@pytest.fixture
def ask_segment(monkeypatch):
    """Ask this process about segmentation: torch and Cellpose are imported once for all tests."""
    # What the checks set is undone with this.
    for variable in THREAD_VARIABLES:
        monkeypatch.setenv(variable, "1")

    def ask_segment(params, device="cpu"):
        trial = trial_of("segment", params, device)
        request = {"entry": "segment", "stage": "segment", "params": trial.params, "threads": 1}
        found = asked_here(request | {"device": device})
        return {one.code.rpartition(".")[2]: one for one in found}

    return ask_segment


def library(folder, name, body):
    """A folder with a library that is found before the installed one."""
    (folder / f"{name}.py").write_text(body)
    return folder


def test_a_stage_that_works_has_done_some_work():
    found = ask("track")
    assert {one.status for one in found.values()} == {"ok"}
    assert found["works"].what == "it ran on a small input on cpu"
    assert "laptrack 0." in found["libraries"].what


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        # What a library prints does not disturb the answer.
        ("print('x'); import os; os.write(1, b'{x'); raise OSError('no')", "libraries", "OSError"),
        ("raise ImportError('libfoo.so.1: cannot open')", "libraries", "libfoo"),
        ("raise ModuleNotFoundError('no', name='foo')", "libraries", "foo is not installed"),
        ("raise RuntimeError('no locator available for file')", "libraries", "NUMBA_CACHE_DIR"),
        ("import os; os.kill(os.getpid(), 11)", "works", "SIGSEGV at this step: import laptrack"),
        ("import os; os._exit(7)", "works", "failed at this step: import laptrack"),
    ],
)
def test_a_broken_library_is_named_with_what_it_did(tmp_path, body, code, said):
    (found,) = ask("track", PYTHONPATH=library(tmp_path, "laptrack", body)).values()
    assert (found.code, found.status) == (f"stage.{code}", "problem")
    assert said in found.what + found.do
    assert found.do


def test_a_library_that_hangs_is_given_up(tmp_path):
    reached = tmp_path / "reached"
    hangs = f"import pathlib, signal; pathlib.Path({str(reached)!r}).touch(); signal.pause()"
    folder = library(tmp_path, "laptrack", hangs)
    trial = trial_of("track")
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    for limit_s in (2, 20, 200):
        (found,) = asked(trial, 1, [sys.executable], environment=environment, time_limit_s=limit_s)
        # A busy machine may take long to come to the library.
        if reached.exists():
            break
    assert found.what == f"it hung for {limit_s} s at this step: import laptrack"


@pytest.mark.parametrize(
    ("stage", "params", "device", "status"),
    [
        ("contact", {"backend": "opencl"}, "cpu", "problem"),
        ("contact", {}, "cpu", "ok"),
        # The device of another kind is never taken.
        ("contact", {}, "cuda", "problem"),
        ("register_denoise", {}, "cpu", "ok"),
    ],
)
def test_a_part_that_is_absent_is_a_problem_of_who_needs_it(
    tmp_path, stage, params, device, status
):
    found = ask(stage, params, device, OCL_ICD_VENDORS=tmp_path)
    assert found["libraries"].status == "ok"
    assert (found["works"].where, found["works"].status) == (stage, status)


def test_contact_runs_its_kernels(missing):
    found = ask("contact", {"backend": "opencl"})["works"]
    if "shows no" in found.what:
        missing("OpenCL", "run scripts/provide_parts.sh as root")
    assert found.status == "ok"


def test_copies_of_the_weights_are_looked_at_and_crops_of_the_real_frames_are_not(
    ask_segment, tmp_path
):
    from pyscale_stages.segment.params import embedded_model

    assert ask_segment({"length_px": 2016})["works"].status == "ok"
    original = embedded_model("pyscale-tiny")
    copy = tmp_path / "mine.pt"
    copy.write_bytes(original.read_bytes())
    # It has no size model.
    found = ask_segment({"model": str(copy), "estimate_diameter": True})["works"]
    assert (found.status, "estimate_diameter" in found.do) == ("problem", True)
    # One that has changed is not that of the record.
    copy = tmp_path / original.name
    copy.write_bytes(original.read_bytes()[:-1] + b"x")
    copy.with_suffix(".json").write_bytes(original.with_suffix(".json").read_bytes())
    assert ask_segment({"model": str(copy)})["weights"].status == "problem"


def test_cuda_that_torch_cannot_use_is_a_problem_whatever_is_listed(ask_segment):
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine's torch can use CUDA")
    found = ask_segment({}, "cuda")
    assert found["weights"].status == "ok"
    assert "does not work here" in found["works"].what


def test_that_no_jars_of_trackmate_are_named_is_a_warning_and_maven_is_not_asked(tmp_path):
    found = ask("track", {"backend": "trackmate"}, HOME=tmp_path, PYSCALE_TRACKMATE_JARS="")
    assert found["jars"].status == "warning"
    assert "PYSCALE_TRACKMATE_JARS" in found["jars"].do
    assert not (tmp_path / ".m2").exists()
    assert not (tmp_path / ".jgo").exists()


@pytest.fixture(scope="module")
def jars(tmp_path_factory, missing):
    """Classes with TrackMate's names, for a real Java."""
    if which("javac") is None or which("jar") is None:
        missing("a Java development kit", "apt-get install openjdk-17-jdk-headless")
    folder, classes = (tmp_path_factory.mktemp(name) for name in ("jars", "classes"))
    sources = [str(path) for path in sorted(STAND_INS.rglob("*.java"))]
    subprocess.run(["javac", "-d", str(classes), *sources], check=True)
    jar = folder / "TrackMate-standin.jar"
    subprocess.run(["jar", "--create", "--file", str(jar), "-C", str(classes), "."], check=True)
    return folder


def test_trackmate_links_with_a_heap_that_fits_the_job(jars):
    params = {"backend": "trackmate", "trackmate_jars": str(jars)}
    found = ask("track", params, SLURM_MEM_PER_NODE=1000)
    assert found["works"].status == "ok"
    beyond = ask("track", params | {"trackmate_heap_mib": 4000}, SLURM_MEM_PER_NODE=1000)
    assert beyond["works"].status == "problem"


def test_an_image_that_cannot_run_a_stage_is_a_problem(plan, make_sif, tmp_path):
    """A real image, in which there is nothing."""
    sif = make_sif(tmp_path / "images_folder" / "contact.sif")
    (found,) = stages(plan("labels", runtime="apptainer"))
    assert (found.code, found.where, found.status) == ("stage.works", "contact", "problem")
    assert "did not start" in found.what
    sif.write_bytes(sif.read_bytes()[:5000])
    (found,) = stages(plan("labels", runtime="apptainer"))
    assert found.status == "problem"
    # One that is absent is left to the check of images.
    sif.unlink()
    assert list(stages(plan("labels", runtime="apptainer"))) == []


def test_entries_that_need_the_same_parts_are_asked_once(plan):
    names = [trial.entry for trial in distinct(plan("pipeline_two_channels"))]
    assert names == ["register_denoise", "segment_ch0", "contact", "track_ch0"]


@pytest.mark.parametrize(("module", "told"), [("polars", "ok"), ("absent_library", "problem")])
def test_a_stage_of_another_package_is_loaded_with_its_libraries(monkeypatch, module, told):
    stage = replace(
        load_stage("contact"), name="edges", packages=("polars",), modules=(module,), needs=Needs()
    )
    monkeypatch.setattr("pyscale_stages.trying.load_stage", lambda _name: stage)
    for variable in THREAD_VARIABLES:
        monkeypatch.setenv(variable, "1")
    request = {"entry": "edges", "stage": "edges", "params": {}, "device": "cpu", "threads": 1}
    assert asked_here(request)[-1].status == told
