"""Which run would settle what the trials leave open."""

import pytest

from madeupadvice import cause, choice, limits
from pyscale.analysis.advice import experiments


def found(*limits, repeats=6, frames=None, **changes):
    own = {"worker_hours": 2.0} | changes
    return {one.code: one for one in experiments(choice(**own), repeats, limits, frames=frames)}


def limit(workers, code, gain=0.3):
    return limits(cause(code, 0.5 + gain, 1.0, gain=gain), workers=workers, efficiency=0.5)


AT_EDGE = {"workers": 8, "at_edge": True}
BUDGET = AT_EDGE | {"objective": "budget"}
GREW = limit(8, "work-inflation")


@pytest.mark.parametrize(
    ("limits", "changes", "asked"),
    [
        # A sure choice within the measured range needs nothing, and nor does none.
        ([], {}, {}),
        ([], {"workers": None, "repeats": 1}, {}),
        # Too few trials are made enough, and two rivals timed twice as often beside the base.
        ([], {"repeats": 3, "share_chosen": None}, {"few-repeats": ((1, 2, 4, 8), 6)}),
        *(
            ([], {"repeats": 8, "share_chosen": share, "rival": 8}, {"undecided": ((1, 4, 8), 16)})
            for share in (0.5, 0.9)
        ),
        # The largest measured is doubled, as far as there are frames and a budget.
        ([], AT_EDGE, {"larger": ((1, 8, 16), 6)}),
        ([], AT_EDGE | {"frames": 12}, {"larger": ((1, 8, 12), 6)}),
        ([], AT_EDGE | {"frames": 8}, {}),
        ([], BUDGET | {"limit": 2.0}, {}),
        ([], BUDGET | {"limit": 4.0}, {"larger": ((1, 8, 16), 6)}),
        # The smallest is halved where it is not one.
        ([], {"workers": 4, "baseline_workers": 4}, {"smaller": ((2, 4), 6)}),
        ([], {"workers": 1}, {}),
        # Where computing grew one worker does the same windows, which it cannot in weak scaling.
        ([GREW], {}, {"windows": ((1,), 6)}),
        ([limit(8, "busy")], {}, {"windows": ((1,), 6)}),
        ([GREW], {"scaling": "weak"}, {}),
        ([limit(8, "imbalance"), limit(4, "work-inflation", gain=0.001)], {}, {}),
    ],
)
def test_what_stays_open_is_asked_for(limits, changes, asked):
    experiments_asked = found(*limits, **changes)
    assert {code: (one.workers, one.repeats) for code, one in experiments_asked.items()} == asked
    assert {one.windows for one in experiments_asked.values()} == {
        8 if code == "windows" else None for code in asked
    }
