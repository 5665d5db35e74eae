"""Waiting, overlap and requests stand beside the wall time, and say what could be lowered."""

import re

import polars as pl
import pytest

from asread import printed
from pyscale.analysis.resource_request import GIB
from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.evaluation.results import analysed
from pyscale.report.advice import too_much as too_much_of
from pyscale.report.context import ReportContext
from pyscale.report.curves import curves
from pyscale.report.markdown import write_markdown
from pyscale.report.terminal import summary

ASKED = {"requested_cpus": 4, "requested_memory_bytes": 8 * GIB, "peak_rss_bytes": 5 * GIB // 4}


def on_a_cluster(new_run, **asked):
    """One worker with two windows, and two workers with two each, on two nodes."""
    asked = ASKED | {"queue_s": 2.5} | asked
    builder = new_run().trial("segment", [{"compute": 8.0}] * 2, lanes=[0, 0], cpu_s=7.6, **asked)
    builder.trial(
        "segment",
        [{"compute": 4.0}] * 4,
        lanes=[0, 1, 0, 1],
        start_s=[0.0, 1.0, 4.5, 5.75],
        nodes=["a", "b"],
        cpu_s=4.0,
        **asked,
    )
    return builder.trials


def markdown_of(tmp_path, trials):
    return write_markdown(tmp_path, analysed(trials, ReportContext(title="a run"))).read_text()


CORES = "a task requested 4 cores and used 1.00 on average (`cpus` in the site's file, or "
CORES += "`--cpus-per-worker`)."
MEMORY = "a task requested 8 GiB of memory and used at most 1.25; 2 GiB (1.2 times that, in whole "
MEMORY += "GiB) suffices (`memory_gib` in the site's file);"
NOTHING_ASKED = {"requested_cpus": None, "requested_memory_bytes": None}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, [f"segment: {MEMORY} {CORES}"]),
        # Cores alone can be too many.
        ({"requested_memory_bytes": None}, [f"segment: {CORES}"]),
        # What was needed is not called too much.
        ({"requested_cpus": 1, "requested_memory_bytes": 2 * GIB}, []),
        (NOTHING_ASKED, []),
    ],
)
def test_what_nobody_used_is_named_with_what_is_enough(new_run, asked, said):
    assert list(too_much_of(curves(configurations(on_a_cluster(new_run, **asked))))) == said


def test_where_nothing_was_asked_for_nothing_can_be_lowered(tmp_path, new_run):
    text = markdown_of(tmp_path, on_a_cluster(new_run, **NOTHING_ASKED))
    assert "| 1.25 | 0.95 |" in text
    assert "Requests to lower" not in text
    # A table of wall times has nothing beside.
    wall_times = pl.DataFrame({"stage": "track", "workers": [1, 2], "wall_s": [9.0, 5.0]})
    text = markdown_of(tmp_path, trials_from_wall_times(wall_times))
    assert "Waiting, overlap and resources" not in text


TOLD = pl.DataFrame(
    {
        "stage": ["a", "a", "a"],
        "workers": [1, 2, 2],
        "task": ["w0", "w0", "w1"],
        "wall_s": [16.0, 8.0, 8.0],
        "cpus": [4, 4, 4],
    }
)


def test_what_a_table_tells_of_its_tasks_stands_beside_and_names_no_setting(tmp_path):
    table = TOLD.with_columns(cpu_s=pl.lit(16.0), node=pl.Series(["n1", "n1", "n2"]))
    trials = trials_from_wall_times(table)
    section = markdown_of(tmp_path, trials).split("## Waiting, overlap and resources")[1]
    lines = [line for line in section.split("\n## ")[0].splitlines() if line[:4] == "| a "]
    assert lines == ["| a | 1 | 1.00 | 4 |", "| a | 2 | 2.00 | 4 |"]
    (sentence,) = too_much_of(curves(configurations(trials)))
    assert sentence == "a: a task requested 4 cores and used 2.00 on average."


def test_of_cores_whose_use_nobody_measured_nothing_is_said():
    trials = trials_from_wall_times(TOLD)
    assert list(too_much_of(curves(configurations(trials)))) == []
    assert re.search(r"Cores asked for\n.*\na +1 +4$", shown(trials, 100), re.MULTILINE)


def shown(trials, width):
    return printed(summary(configurations(trials)), width=width)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_terminal_shows_it_for_a_cluster_alone_or_says_where_the_table_is(new_run, width):
    text = shown(on_a_cluster(new_run), width)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    assert "…" not in text
    assert ("Queue wait" in text) != ("This table needs a wider terminal" in text)
    if width == 100:
        assert re.search(r"segment +1 +1\.25 +8 +0\.95 +4$", text, re.MULTILINE)
        assert "`memory_gib` in the site's file" in " ".join(text.split())
    assert "asked for" not in shown(on_a_cluster(new_run, **NOTHING_ASKED), width)
