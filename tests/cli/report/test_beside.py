"""Waiting, overlap and requests stand beside the wall time, and say what could be lowered."""

import polars as pl

from pyscale.analysis.resource_request import GIB
from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.evaluation.results import analysed
from pyscale.report.advice import too_much as too_much_of
from pyscale.report.context import ReportContext
from pyscale.report.curves import curves
from pyscale.report.markdown import write_markdown
from refusals import assert_said

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


NOTHING_ASKED = {"requested_cpus": None, "requested_memory_bytes": None}


def test_what_nobody_used_is_named_with_what_is_enough(new_run):
    # Cores alone can be too many, and what was needed is not called too much.
    for asked, sentences in (
        ({}, 1),
        ({"requested_memory_bytes": None}, 1),
        ({"requested_cpus": 1, "requested_memory_bytes": 2 * GIB}, 0),
        (NOTHING_ASKED, 0),
    ):
        found = list(too_much_of(curves(configurations(on_a_cluster(new_run, **asked)))))
        assert len(found) == sentences
        assert_said(*found)


def test_where_nothing_was_asked_for_nothing_can_be_lowered(tmp_path, new_run):
    text = markdown_of(tmp_path, on_a_cluster(new_run, **NOTHING_ASKED))
    assert "| 1.25 | 0.95 |" in text
    assert "Requests to lower" not in text
    # A table of wall times has nothing beside.
    wall_times = pl.DataFrame({"stage": "track", "workers": [1, 2], "wall_s": [9.0, 5.0]})
    text = markdown_of(tmp_path, trials_from_wall_times(wall_times))
    assert "Memory and cores of a task" not in text


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
    section = markdown_of(tmp_path, trials).split("### Memory and cores of a task")[1]
    section, _, _ = section.partition("\n### ")
    lines = [line for line in section.splitlines() if line.startswith("| a ")]
    assert lines == ["| a | 1 | 1.00 | 4 |", "| a | 2 | 2.00 | 4 |"]
    assert_said(*too_much_of(curves(configurations(trials))))
