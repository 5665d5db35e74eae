import json

import polars as pl
import pytest
from typer.testing import CliRunner

from mockexecutor import MockEnd, MockExecutor
from mockruns import carry_out
from pyscale.app import app
from pyscale.errors import UserError
from pyscale.store.folder import RunFolder
from pyscale.store.tables import build_tables
from pyscale.store.taskfiles import RecordError, read_task
from refusals import refused

pytestmark = pytest.mark.usefixtures("without_figures")

TRIAL, RESULT = "contact-n2-b1", "tasks/contact-n2-b1/w0/result.json"
WRONG = {
    "'wall_s'": lambda record: record.update(wall_s=-5),
    "'counters.cpu_s'": lambda record: record["counters"].update(cpu_s=float("nan")),
    "'counters.peak_rss_bytes'": lambda record: record["counters"].update(peak_rss_bytes=-1),
    "'quality.recall'": lambda record: record["quality"].update(recall=float("inf")),
    "ends before it starts": lambda record: record["spans"][0].update(end_monotonic_s=-1),
    "'schema_version'": lambda record: record.update(schema_version=2),
    "'outputs'": lambda record: record.update(outputs=7),
    "'stamp.filesystems'": lambda record: record.update(stamp={"filesystems": 7}),
    "'stamp.cpu'": lambda record: record.update(stamp={"cpu": "fast"}),
}
"""What is wrong in a result, by what is said of it."""


@pytest.fixture
def run(make, tmp_path):
    """Contacts at N = 1 and 2, twice, at their end."""
    run = RunFolder.create(tmp_path / "runs", make(only=("contact",)))
    carry_out(run, MockExecutor(lambda _trial, _task, _spec: MockEnd(wall_s=2.0)))
    return run


def damaged(run, damage):
    record = json.loads((run.path / RESULT).read_text())
    damage(record)
    (run.path / RESULT).write_text(json.dumps(record))


def pyscale(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize("said", WRONG)
def test_a_wrong_value_leaves_its_trial_out_of_the_tables_and_is_named(run, said):
    damaged(run, WRONG[said])
    tables = build_tables(run)
    (sentence,) = tables.sources.unreadable.values()
    assert sentence.startswith(f"The trial {TRIAL} is left out: its record {RESULT} cannot be read")
    assert said in sentence
    assert set(tables.tasks["trial"]) == {trial.id for trial in run.plan.trials} - {TRIAL}
    assert TRIAL not in set(tables.spans["trial"])


def test_records_and_plans_of_another_version_are_refused_with_the_one_that_reads_them(run):
    file = run.path / "provenance.json"
    wrote = json.loads(file.read_text()) | {"pyscale_version": "0.0.9", "git_commit": "ab" * 20}
    file.write_text(json.dumps(wrote))
    damaged(run, lambda record: record.update(schema_version=1))
    with refused(RecordError):
        read_task((run.path / RESULT).parent)
    plan = run.path / "plan.json"
    plan.write_text(json.dumps(json.loads(plan.read_text()) | {"start": "warm"}))
    with refused(UserError):
        RunFolder(run.path)


@pytest.mark.parametrize("name", ["order.json", "launch.json", "exit.json", "result.json"])
@pytest.mark.parametrize("content", ['{"torn', "[]", "\x00"])
def test_a_torn_or_empty_record_is_never_taken_for_absent(run, name, content):
    file = run.path / "tasks" / TRIAL / "w0" / name
    file.write_text(content)
    with refused(RecordError):
        read_task(file.parent)
    assert list(build_tables(run).sources.unreadable) == [TRIAL]


@pytest.mark.slow
def test_every_command_tells_the_rest_of_the_run(run, tmp_path):
    other = tmp_path / "other"
    assert pyscale("report", run.path, "--archive", "--out", other).exit_code == 0
    damaged(run, WRONG["'wall_s'"])
    named = f"The trial {TRIAL} is left out: its record {RESULT} cannot be read ('wall_s'"
    out = tmp_path / "out"
    done = pyscale("report", run.path, "--archive", "--out", out)
    assert (done.exit_code, done.output.count("is left out")) == (0, 1), done.output
    assert named in done.output
    rows = pl.read_csv(out / "benchmark_trials.csv")
    assert rows.height == len(run.plan.trials) - 1
    assert RESULT in (out / "scaling_analysis.md").read_text()
    assert RESULT in (out / "report.html").read_text()
    assert (out / f"{run.path.name}.zip").is_file()
    copy = run.path.rename(run.path.with_name("copy"))
    for command in (("advise", copy), ("status", copy), ("status", copy, "--log")):
        told = pyscale(*command)
        assert told.exit_code == 0, told.output
        assert (named in told.output) == (command[0] == "advise")


def test_status_names_the_record_of_a_trial_that_it_reads(run):
    (run.path / "tasks" / TRIAL / "w0" / "exit.json").write_text("[]")
    told = pyscale("status", run.path, "--json")
    assert told.exit_code == 0, told.output
    status = json.loads(told.output)
    (failure,) = status["failures"]
    assert failure.startswith(f"{TRIAL}: the record {run.path}/tasks/{TRIAL}/w0/exit.json")
    assert len(status["trials"]) == len(run.plan.trials) - 1


@pytest.mark.slow
def test_a_journal_that_is_a_folder_is_said_and_spares_the_report(run, tmp_path):
    run.journal_file.unlink()
    run.journal_file.mkdir()
    assert pyscale("report", run.path, "--out", tmp_path / "out").exit_code == 0
    assert (tmp_path / "out" / "report.html").is_file()
    for command in (("status", run.path), ("status", run.path, "--log")):
        told = pyscale(*command)
        assert "journal.jsonl cannot be read (Is a directory)" in str(told.exception)


def test_two_runs_are_compared_without_the_trial(run, tmp_path):
    second = RunFolder.create(
        tmp_path / "runs", run.plan.model_copy(update={"run_id": "20260101T000000Z-aaaa"})
    )
    carry_out(second)
    damaged(run, WRONG["'outputs'"])
    told = pyscale("compare", second.path, run.path)
    assert told.exit_code == 0, told.output
    assert f"The trial {TRIAL} is left out" in told.output
    assert "1 of" in told.output
