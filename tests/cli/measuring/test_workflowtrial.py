"""One trial of a workflow: its work directory, the line of its engine, and the times it tells."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pyscale.errors import UserError
from pyscale.measuring import workflowtrial
from pyscale.measuring.workflowtrial import (
    engine_line,
    link_files,
    main,
    root_of,
    traced,
    why_failed,
)
from pyscale_stages.telling import TOLD_VARIABLE
from refusals import refused
from standinnextflow import HEADER, row, write_nextflow


@pytest.fixture
def root(tmp_path):
    """A workflow with scripts, data by a link, results of an earlier run, and a run of pyscale."""
    root = tmp_path / "mine"
    for name in (
        *("Snakefile", "scripts/a.py", "results/old.csv", ".git/config", ".hidden"),
        *("masks/results/kept.txt", "runs/r1/tasks/other/a.txt"),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "image.txt").write_text("1")
    (root / "data").symlink_to(tmp_path / "far")
    return root


def test_a_work_directory_shows_the_files_of_the_workflow_and_no_results(root):
    work = root / "runs" / "r2" / "output"
    link_files(root, work, but="results")
    found = {str(path.relative_to(work)) for path in work.rglob("*") if path.is_symlink()}
    assert found == {"Snakefile", "scripts/a.py", "data", "masks/results/kept.txt"}
    assert (work / "data" / "image.txt").read_text() == "1"
    # What a workflow makes anew takes the place of a link, and the file behind it stays.
    (work / "scripts" / "a.py").unlink()
    assert (root / "scripts" / "a.py").is_file()


def test_a_work_directory_within_the_workflow_is_seen_and_very_many_files_refused(
    root, tmp_path, monkeypatch
):
    (tmp_path / "other").symlink_to(root)
    work = root / "runs" / "r2"
    link_files(tmp_path / "other", work, but="results")
    assert not (work / "runs").exists()
    monkeypatch.setattr(workflowtrial, "MOST_FILES", 3)
    with refused(UserError):
        link_files(root, tmp_path / "work", but="results")


@pytest.mark.parametrize(
    ("engine", "file", "root"),
    [
        ("snakemake", "a/Snakefile", "a"),
        ("snakemake", "a/workflow/Snakefile", "a"),
        ("nextflow", "a/workflow/main.nf", "a/workflow"),
    ],
)
def test_paths_begin_where_the_engine_lets_them(engine, file, root):
    assert root_of(engine, Path(file)) == Path(root)


def test_nothing_of_an_earlier_trial_is_taken_over(tmp_path):
    line = engine_line("snakemake", "/a/Snakefile", "cores", "4", tmp_path)
    assert line[line.index("--cores") + 1] == "4"
    assert "--forceall" in line
    line = engine_line("nextflow", "/a/main.nf", "process.maxForks", "4", tmp_path)
    assert line[line.index("-work-dir") + 1] == "work"
    assert "-resume" not in line
    assert "\nprocess.maxForks = 4\n" in Path(line[line.index("-c") + 1]).read_text()


IN_RULE = """\
localrule label:
    output: results/a.tif
    resources: tmpdir=/tmp
oh no, no cells
RuleException:
CalledProcessError in file "/a/Snakefile", line 6:
Command 'set -euo pipefail;  python label.py' returned non-zero exit status 3.
[Tue Nov 24 10:16:07 2026]
Error in rule label:
    jobid: 1
Shutting down, this might take some time.
Complete log(s): /a/.snakemake/log/1.snakemake.log
WorkflowError:
At least one job did not complete successfully.
"""
IN_PROCESS = """\
[2f/1c] Submitted process > LABEL (1)
ERROR ~ Error executing process > 'LABEL (1)'

Caused by:
  Process `LABEL (1)` terminated with an error exit status (3)

Command error:
  oh no, no cells

Work dir:
  /a/work/2f/1c

Tip: you can try to figure out what's wrong
 -- Check '.nextflow.log' file for details
"""


@pytest.mark.parametrize(
    ("engine", "said", "told"),
    [
        ("snakemake", IN_RULE, ["oh no, no cells", "Command 'set -euo", "Error in rule label:"]),
        ("nextflow", IN_PROCESS, ["  Process `LABEL (1)`", "Command error:", "  oh no, no cells"]),
        ("snakemake", "MissingInputException\n    nix.txt\n", []),
    ],
)
def test_the_last_lines_of_a_failure_say_what_failed(engine, said, told):
    found = why_failed(engine, said.splitlines())
    assert [line[: len(begin)] for line, begin in zip(found, told, strict=True)] == told


def keep(folder, name, rule, start, end, **more):
    folder.mkdir(parents=True, exist_ok=True)
    told = {"rule": rule, "input": [], "starttime": start, "endtime": end, **more}
    (folder / name).write_text(json.dumps(told))


def told_by(work, engine, monkeypatch):
    monkeypatch.setenv(TOLD_VARIABLE, str(work / "told.jsonl"))
    workflowtrial.tell_times(traced(engine, work))
    lines = map(json.loads, (work / "told.jsonl").read_text().splitlines())
    return {line["metric"]: line["value"] for line in lines}


def test_a_rule_ran_while_any_of_its_jobs_did(tmp_path, monkeypatch):
    folder = tmp_path / ".snakemake" / "metadata"
    keep(folder, "a", "label", 10.0, 14.0, input=["1"])
    keep(folder, "b", "label", 12.0, 15.0, input=["2"])
    keep(folder / "deep", "c", "label", 20.0, 22.0, input=["3"])
    # Another output of the same job, which is no job by itself.
    keep(folder, "d", "label", 20.0, 22.0, input=["3"])
    keep(folder, "e", "count", 15.0, 15.5)
    (folder / "broken").write_text("{")
    (folder / "another version").write_text('{"rule": "label"}')
    assert told_by(tmp_path, "snakemake", monkeypatch) == {
        "count": 0.5,
        "count, one job": 0.5,
        "label": 7.0,
        "label, one job": 3.0,
    }


def test_processes_of_nextflow_are_read_as_pyscale_import_does(tmp_path, monkeypatch):
    rows = [row(1, "LABEL", 0, 4), row(2, "LABEL", 2, 5), row(3, "COUNT", 5, 6)]
    (tmp_path / "pyscale-trace.txt").write_text("\n".join([HEADER, *rows]))
    assert told_by(tmp_path, "nextflow", monkeypatch) == {
        "LABEL": 5.0,
        "LABEL, one job": 3.5,
        "COUNT": 1.0,
        "COUNT, one job": 1.0,
    }


def test_what_nextflow_takes_from_its_cache_is_no_trial(tmp_path):
    (tmp_path / "pyscale-trace.txt").write_text(f"{HEADER}\n{row(1, 'LABEL', 0, 4, 'CACHED')}")
    with refused(UserError):
        traced("nextflow", tmp_path)


@pytest.mark.parametrize(
    ("n", "code", "said"), [("2", 0, "LABEL"), ("3", 7, "oh no"), ("", 2, "cannot be started")]
)
def test_a_trial_ends_as_its_engine_does(root, tmp_path, monkeypatch, capfd, n, code, said):
    """A stand-in has Nextflow's command line and trace; it fails where N is 3."""
    write_nextflow(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(tmp_path / "bin") if n else "/nowhere")
    monkeypatch.setenv(TOLD_VARIABLE, str(tmp_path / "told.jsonl"))
    output = tmp_path / "work" / "results"
    output.mkdir(parents=True)
    file = root / "main.nf"
    given = ("nextflow", str(file), "process.maxForks", n, "movie.tif", str(output), "--x", "1")
    assert main(given) == code
    if code == 0:
        assert said in (tmp_path / "told.jsonl").read_text()
        assert (output / "out.txt").read_text() == "--x 1"
    else:
        assert said in capfd.readouterr().err


def test_the_program_imports_little():
    """It is timed with the workflow."""
    modules = "measuring.workflowtrial, pyscale.traces.nextflow, pyscale.traces.snakemake"
    line = f"import sys, pyscale.{modules}"
    heavy = "print({'polars', 'numpy'} & {*sys.modules})"
    found = subprocess.run(
        [sys.executable, "-c", f"{line}\n{heavy}"], check=True, capture_output=True, text=True
    )
    assert found.stdout == "set()\n"
