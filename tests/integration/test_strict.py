"""A stage whose windows really compute other links than the whole movie, and what is said of it."""

import csv
import shutil

import numpy as np
import pytest

from commandline import answer_here, answer_of
from forkedtasks import forked_tasks
from pyscale.store.folder import RunFolder
from pyscale_stages.moviewriter import write_movie

pytestmark = pytest.mark.slow

SENTENCE = (
    "track at N = 2 is invalid: in the worst trial its output agrees with the baseline's by "
    "0.0000, and 0.999 is required (the score is: the smaller of the F1 "
    "of links between (frame, label) and the F1 of cells)."
)
CHAIN = 20
DATA = ("--data", "chain.ome.tif", "--only", "track")
SETTINGS = """\
[stages.track]
max_distance_px = 5
gap_distance_px = 15
splitting = false
overlap_frames = 4
"""


def competing_gaps():
    """Cells that are lost and found in a chain longer than windows can see.

    Each lost cell has two places to reappear, 14 px away in the next frame or 13.9 px away in the
    one after, where the next cell of the chain could reappear too. The farther choice leaves no
    cell over; the nearer one leaves two ends, which pays once the chain is 15 long: it is, in the
    whole movie, and is not in half of it and four frames more.
    """
    lost_yx = np.array([[7 + 7 * (cell % 2), 26 * (CHAIN - cell)] for cell in range(CHAIN)])
    frames = np.zeros((CHAIN + 2, 24, 26 * CHAIN + 24), np.uint16)
    for cell, (y, x) in enumerate(lost_yx):
        for frame, x_there in ((cell, x), (cell + 1, x + 14)):
            label = frames[frame].max() + 1
            frames[frame, y - 1 : y + 2, x_there - 1 : x_there + 2] = label
    return frames


def pyscale(folder, *words):
    """Run a command in a folder; lines of a pipe are as long as they are told to be."""
    with forked_tasks():
        return answer_here(folder, *words, COLUMNS=300)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run without --strict, and how it ended."""
    folder = tmp_path_factory.mktemp("strict")
    write_movie(folder / "chain.ome.tif", competing_gaps(), "TYX")
    (folder / "pyscale.toml").write_text(SETTINGS)
    ended = pyscale(folder, "run", "labels", *DATA, "--workers", "1,2", "--repeats", "1")
    (path,) = (folder / "runs").iterdir()
    return RunFolder(path), ended


@pytest.fixture(scope="module")
def run(finished):
    return finished[0]


def again(run, *arguments):
    return pyscale(run.path.parents[1], *arguments)


def test_a_run_that_is_not_strict_says_so_and_succeeds(finished):
    ended = finished[1]
    assert ended.code == 0, ended.err
    assert ended.err.count(SENTENCE) == 1
    row = next(line for line in ended.out.splitlines() if line.startswith("track "))
    assert "invalid" in row
    assert "Outputs differ from the baseline's: track at N = 2." in ended.out


def test_strict_makes_the_exit_code_one_for_the_same_sentence(run):
    ended = again(run, "resume", run.path.name, "--strict")
    assert ended.code == 1
    assert ended.err.count(SENTENCE) == 1
    assert "are not complete" not in ended.err


def test_strict_passes_where_every_output_is_the_baselines(run):
    folder = run.path.parents[1] / "wider"
    folder.mkdir()
    (folder / "pyscale.toml").write_text(SETTINGS.replace("= 4", "= 20"))
    data = run.path.parents[1] / "chain.ome.tif"
    options = ("--only", "track", "--workers", "1,2", "--repeats", "1", "--strict")
    ended = pyscale(folder, "run", "labels", "--data", data, *options)
    assert ended.code == 0, ended.err
    assert "invalid" not in ended.err + ended.out


def test_the_report_says_it_in_the_table_the_text_and_on_stderr(run):
    ended = again(run, "report", run.path.name)
    assert ended.code == 0
    assert ended.err.count(SENTENCE) == 1
    with (run.report / "benchmark_results_aggregated.csv").open() as file:
        rows = {row["workers"]: row for row in csv.DictReader(file)}
    assert [rows[n]["invalid"] for n in "12"] == ["false", "true"]
    assert rows["2"]["agreement_tolerance"] == "0.999"
    assert f"\n- {SENTENCE}\n" in (run.report / "scaling_analysis.md").read_text()


def test_a_check_that_fails_is_not_passed_over(run, tmp_path):
    """The reference output is cut short after the run, and the comparison done again."""
    shutil.copytree(run.path, tmp_path / "runs" / run.path.name)
    copy = RunFolder(tmp_path / "runs" / run.path.name)
    shutil.rmtree(copy.task(copy.plan.trial("track-n2-b1"), "check"))
    reference = copy.plan.trial("track-n1-b1")
    table = copy.task(reference, reference.output_task) / "out" / "tracks.parquet"
    table.write_bytes(table.read_bytes()[:100])
    ended = again(copy, "resume", copy.path.name, "--strict")
    assert ended.code == 1
    assert (
        "track at N = 2 may be invalid: the comparison of its output with the baseline's failed."
        in ended.err
    )
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("run", "labels", "--dry-run"), "with --dry-run nothing is measured yet"),
        (("run", "labels", "--detach"), "with --detach nothing is measured yet"),
        (("resume", "RUN", "--detach"), "with --detach nothing is measured yet"),
        (
            ("run", "labels", "--emit", "scripts"),
            "leave out --dry-run, --detach, --strict and --at-most",
        ),
        (("run", "labels", *DATA, "--workers", "1", "--repeats", "1"), "this run compares none"),
        (
            ("run", "labels", *DATA, "--workers", "1,2", "--scaling", "weak"),
            "this run compares none",
        ),
    ],
)
def test_strict_is_refused_where_it_could_never_fail(run, arguments, sentence, capsys, monkeypatch):
    monkeypatch.chdir(run.path.parents[1])
    given = (run.path.name if word == "RUN" else word for word in arguments)
    ended = answer_of(capsys, "pyscale", *given, "--strict")
    assert (ended.code, ended.out) == (2, "")
    assert sentence in " ".join(ended.err.split())
    assert not (run.path.parents[1] / "scripts").exists()
    assert list(run.path.parent.iterdir()) == [run.path]
