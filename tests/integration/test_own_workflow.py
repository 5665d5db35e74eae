"""Workflows of a user's own and tools that others describe, from command line to report."""

import os
import re
import shutil
import sys
from pathlib import Path

import polars as pl
import pytest

from standinnextflow import write_nextflow
from waitingforruns import only_run

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "workflow"
SNAKEMAKE_VARIABLE = "PYSCALE_TEST_SNAKEMAKE"
"""Names the environment that `make test` installs Snakemake into."""


@pytest.fixture
def snakemake(missing, monkeypatch):
    """Snakemake is in PATH, behind the Python that runs tests."""
    places = [str(Path(sys.executable).parent)]
    if given := os.environ.get(SNAKEMAKE_VARIABLE):
        places.append(str(ROOT / given / "bin"))
    monkeypatch.setenv("PATH", os.pathsep.join([*places, os.environ["PATH"]]))
    if shutil.which("snakemake") is None:
        missing(
            "Snakemake",
            f"`make test` installs it into an environment of its own and names that in "
            f"{SNAKEMAKE_VARIABLE}",
        )


@pytest.fixture
def images(home, shared_data):
    """Four real images, beside the example and what an earlier run of it left."""
    shutil.copytree(EXAMPLE, home, dirs_exist_ok=True)
    (home / "results").mkdir()
    (home / "results" / "counts.csv").write_text("what the user has\n")
    folder = home / "images"
    folder.mkdir()
    for path in sorted((shared_data / "drosophila-nuclei").glob("*.tif"))[:4]:
        shutil.copy(path, folder)
    return folder


def measures(home):
    (report,) = (home / "runs").glob("*/report")
    return pl.read_csv(report / "benchmark_measures.csv")


def test_a_workflow_of_snakemake_over_cores(pyscale, home, images, snakemake):
    told = pyscale(
        *("run", "--snakemake", "Snakefile --config images={input}", "--sweep", "cores=1,2"),
        *("--data", images, "--repeats", "1", "--keep-outputs", "all"),
    )
    assert told.code == 0, told.err
    assert "own step, Snakefile" in told.out
    assert "Outputs: same bytes at every N." in told.text
    # Times of each rule, beside that of the whole.
    found = measures(home)
    assert {*found["name"]} == {"label", "label, one job", "count", "count, one job"}
    assert {*found["workers"]} == {1, 2}
    assert found["value"].min() > 0
    one = {name: found.filter(name=name, workers=1)["value"].item() for name in found["name"]}
    # Four jobs at one core run one after the other.
    assert one["label"] == pytest.approx(4 * one["label, one job"], rel=0.2)
    run = only_run()
    caches = run.report / "scaling_analysis.md"
    assert "| workflow | verified-cold | 1, 2 |" in caches.read_text()
    for trial in run.plan.trials:
        # Every trial did all of the work, in a folder of its own.
        output = run.output(trial)
        assert (output / "results" / "counts.csv").read_text().count("\n") == 5
        assert len([*(output / "results" / "labels").iterdir()]) == 4
        log = next((output / ".snakemake" / "log").iterdir()).read_text()
        assert "6 of 6 steps (100%) done" in log
        assert re.search(rf"^Provided cores: {trial.workers}\b", log, re.MULTILINE)
    assert (home / "results" / "counts.csv").read_text() == "what the user has\n"
    assert not (home / ".snakemake").exists()
    advised = pyscale("advise")
    assert "--snakemake" in advised.text or "--extend" in advised.text
    assert "#SBATCH --ntasks=1" in advised.out


def test_a_rule_that_fails_is_told_with_its_own_words(pyscale, home, images, snakemake):
    (home / "count.py").write_text("raise SystemExit('oh no, no cells')")
    told = pyscale(
        *("run", "--snakemake", "Snakefile --config images={input}", "--sweep", "cores=1"),
        *("--data", images, "--repeats", "1", "--retries", "0"),
    )
    assert told.code == 1
    assert "oh no, no cells" in told.err
    assert "Error in rule count:" in told.err


def test_a_workflow_of_nextflow_over_forks(pyscale, home, monkeypatch):
    """A stand-in: no test has Nextflow."""
    write_nextflow(home / "bin")
    monkeypatch.setenv("PATH", str(home / "bin"), prepend=os.pathsep)
    (home / "main.nf").write_text("")
    (home / "movie.txt").write_text("1\n")
    told = pyscale(
        *("run", "--nextflow", "main.nf --movie {input}", "--sweep", "process.maxForks=1,2"),
        *("--data", "movie.txt", "--repeats", "1"),
    )
    assert told.code == 0, told.err
    assert "Outputs: same bytes at every N." in told.text
    found = measures(home)
    label = found.filter(name="LABEL").sort("workers")
    assert label["value"].to_list() == pytest.approx([0.4, 0.2])
    assert found.filter(name="LABEL, one job")["value"].to_list() == pytest.approx([0.1, 0.1])


def test_a_workflow_without_its_engine_ends_before_the_first_trial(
    pyscale, home, images, monkeypatch
):
    monkeypatch.setenv("PATH", "/usr/nowhere")
    told = pyscale("run", "--snakemake", "Snakefile", "--sweep", "cores=1,2", "--data", images)
    assert told.code == 2
    assert "error: snakemake is not found on this machine: install it" in told.err
    assert not (home / "runs").exists()


def test_a_tool_of_cwl_runs_over_the_files_of_a_folder(pyscale, home, shared_data):
    images = home / "my images"
    images.mkdir()
    for path in sorted((shared_data / "drosophila-nuclei").glob("*.tif"))[:4]:
        shutil.copy(path, images)
    (home / "brightest.py").write_text(
        "import sys, tifffile\nimage = tifffile.imread(sys.argv[2])\n"
        "print(image.max() * float(sys.argv[1]))\n"
    )
    (home / "brightest.cwl").write_text(
        "cwlVersion: v1.2\nclass: CommandLineTool\n"
        f"baseCommand: [{sys.executable}, brightest.py]\n"
        "inputs:\n"
        "  image: {type: File, inputBinding: {position: 2}}\n"
        "  times: {type: float, default: 1.0, inputBinding: {position: 1}}\n"
        "outputs:\n  found: stdout\nstdout: found.txt\n"
    )
    told = pyscale("stage", "import", "brightest.cwl", "--output", "brightest.toml")
    assert told.code == 0, told.err
    told = pyscale(
        *("run", "brightest.toml", "--data", images, "--set", "brightest.times=2"),
        *("--workers", "1,2", "--repeats", "1", "--keep-outputs", "all"),
    )
    assert told.code == 0, told.err
    assert "Outputs: same bytes at every N." in told.text
    run = only_run()
    output = run.output(run.plan.trial("brightest-n2-b1")) / "output"
    found = {file.name: float(file.read_text()) for file in output.iterdir()}
    assert {*found} == {f"{file.stem}.txt" for file in images.iterdir()}
    assert min(found.values()) > 0
