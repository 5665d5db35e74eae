"""The report tells what each configuration cost, as far as that is known."""

import pytest

from pyscale.evaluation.results import analysed
from pyscale.report.context import ReportContext

CONTEXT = ReportContext(title="a run")
TWO_CORES = {"segment": 2}


def two_workers(new_run, **asked):
    """An hour by one worker, and half an hour by each of two, of 80 frames."""
    return new_run().curve("segment", lambda n, _: 3600.0 / n, blocks=1, **asked).trials


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
