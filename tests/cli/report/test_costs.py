"""The report tells what each configuration cost, as far as that is known."""

from io import StringIO

import polars as pl
import pytest

from pyscale.analysis.spending import Prices
from pyscale.evaluation.results import analysed
from pyscale.report.context import ReportContext
from pyscale.report.csv import csv_texts
from pyscale.report.markdown import write_markdown

CONTEXT = ReportContext(title="a run")
EURO = Prices(core_hour=0.5, gpu_hour=2, currency="EUR")
TWO_CORES = {"segment": 2}


def two_workers(new_run, **asked):
    """An hour by one worker, and half an hour by each of two, of 80 frames."""
    return new_run().curve("segment", lambda n, _: 3600.0 / n, blocks=1, **asked).trials


def section(tmp_path, results):
    """Lines of the table of costs; empty where the report has none."""
    _, _, rest = write_markdown(tmp_path, results).read_text().partition("### What it cost")
    return [line for line in rest.split("\n## ")[0].splitlines() if line.startswith("|")]


def test_what_was_held_and_paid_is_told_as_far_as_it_is_known(tmp_path, new_run):
    trials = two_workers(new_run, requested_cpus=4, requested_gpus=0)
    paid = csv_texts(analysed(trials, CONTEXT, held="task", prices=EURO))["configurations"]
    row = pl.read_csv(StringIO(paid)).row(1, named=True)
    assert (row["core_hours"], row["gpu_hours"]) == (4, 0)
    assert (row["money"], row["money_per_work"], row["currency"]) == (2, 2 / 80, "EUR")
    unpaid = section(tmp_path, analysed(trials, CONTEXT, held="task"))
    assert unpaid[0] == "| Stage | N | Core-hours | Core-hours per unit of work |"
    # Nothing says how long cores were held.
    assert section(tmp_path, analysed(trials, CONTEXT)) == []


@pytest.mark.parametrize(
    ("ran", "core_hours", "gpu_hours"),
    [
        ({"device": "cpu"}, 2, 0),
        ({"device": "cuda"}, 2, 1),
        ({"oversubscribed": True}, None, None),
    ],
)
def test_workers_on_one_machine_hold_what_they_had_for_themselves(
    new_run, ran, core_hours, gpu_hours
):
    results = analysed(two_workers(new_run, **ran), CONTEXT, held="machine", own_cpus=TWO_CORES)
    table = results.configurations
    assert table["core_hours"].to_list() == [core_hours] * 2
    assert table["gpu_hours"].to_list() == [gpu_hours] * 2
    # Nobody was asked for them, so nothing could be lowered.
    assert table["requested_cpus"].null_count() == 2
