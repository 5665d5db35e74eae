"""`pyscale run quality`, for real: every stage and backend is as right as its suite asks."""

import json

import polars as pl
import pytest

from pyscale.planning.suite import load_suite

pytestmark = pytest.mark.slow


ELSEWHERE = {"register_previous", "segment_crowded"}
"""Entries that this leaves out: what the one registers by is tested with its stage, and the other
segments what the suite `validation` does."""


def test_every_entry_reaches_what_the_suite_asks(pyscale, home):
    asked = {
        entry: step
        for entry, step in load_suite("quality").stages.items()
        if entry not in ELSEWHERE
    }
    # The first four of its eight frames: half of the test's time, held to the same bounds.
    only = [word for entry in asked for word in ("--only", entry)]
    answer = pyscale("run", "quality", "--strict", "--data", "demo-nuclei", *only)
    assert answer.code == 0, answer.err
    assert "Quality" in answer.out
    (table,) = home.glob("runs/*/report/benchmark_results_aggregated.csv")
    measured = {row["stage"]: json.loads(row["quality"]) for row in pl.read_csv(table).to_dicts()}
    assert list(measured) == list(asked)
    for entry, step in asked.items():
        assert step.at_least or step.at_most
        assert {*step.at_least, *step.at_most} <= measured[entry].keys()


def test_a_bound_that_is_missed_fails_a_strict_run_alone(pyscale, home):
    (home / "own.toml").write_text(
        'name = "own"\nsummary = "Contacts of labels"\n[settings]\ndata = "cells"\n'
        'workers = "1"\nrepeats = 1\n[stages.contact]\ninputs = { labels = "truth" }\n'
        'truth = "camera"\nat_least = { matched_cells = 1.01 }\n'
    )
    pyscale("data", "synth", "cells", "--frames", "2", "--size", "128")
    strict = pyscale("run", "own.toml", "--strict")
    assert strict.code == 1
    assert "contact: matched_cells is" in strict.err
    assert "the suite requires at least 1.01" in strict.err
    assert pyscale("resume", "latest").code == 0
