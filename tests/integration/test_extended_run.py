"""A finished run is extended on the command line and stands there as one run."""

import json

import polars as pl
import pytest

from pyscale.store.folder import find_run


@pytest.fixture(autouse=True, scope="module")
def _without_page():
    """The page says how the run was extended."""


@pytest.mark.slow
def test_a_finished_run_is_extended_by_repeats(pyscale, labels, home):
    first = ("run", "labels", "--data", labels, "--only", "contact", "--workers", "1,2")
    assert pyscale(*first, "--repeats", "1").code == 0
    before = find_run(home / "runs", None)
    made = (before.path / "provenance.json").read_bytes()
    assert pyscale("extend", "latest", "--repeats", "2", "--cache", "warm").code == 2

    done = pyscale("extend", "latest", "--repeats", "2")
    assert done.code == 0, done.err
    assert "extended" in done.err
    run = find_run(home / "runs", None)
    assert run.path == before.path
    assert (run.path / "provenance.json").read_bytes() == made
    rows = pl.read_csv(run.report / "benchmark_results_aggregated.csv")
    assert dict(rows.select("workers", "repeats").iter_rows()) == {1: 2, 2: 2}
    assert rows["agreement"].to_list() == [1.0, 1.0]
    status = json.loads(pyscale("status", "--json").out)
    assert status["state"] == "complete"
    assert "extended: 2 trials" in pyscale("status", "--log").out
    assert "--workers 1,2 --repeats 2" in (run.report / "report.html").read_text()
    assert pyscale("report", "latest", "--archive").code == 0

    labels.write_bytes(labels.read_bytes() + b"more")
    changed = pyscale("extend", "latest", "--repeats", "4")
    assert "has changed since the run" in changed.err
    assert len(find_run(home / "runs", None).plan.trials) == len(run.plan.trials)
