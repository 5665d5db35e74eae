"""Times stand beside those of references that did the same work, and of no others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from pyscale.plan import Plan
from pyscale.references.files import read_reference, shipped_folder
from pyscale.references.fromrun import reference_from
from pyscale.references.model import Loaded, Reference
from pyscale.store.folder import RunFolder
from pyscale.suite import load_suite
from pyscale.validation.findings import Speed
from pyscale.validation.speed import speeds


def trials(*times: float, workers: int = 1) -> pl.DataFrame:
    return pl.DataFrame(
        {"stage": "segment", "workers": workers, "wall_s": list(times), "valid": True}
    )


def reference(*times: float, work_id: str | None = "work", sweep: str = "workers") -> Loaded:
    told = Reference(
        name="theirs",
        title="Theirs",
        source="They",
        figures="wall times",
        hardware={"processor": "theirs"},
        caveats=("One.",),
        sweep=sweep,
        stages={"segment": "segment"},
        work_id=work_id,
    )
    return Loaded(told, trials(*times).drop("valid"))


def found(own: pl.DataFrame, *references: Loaded, work_id: str | None = "work") -> list[Speed]:
    return list(speeds(own, work_id, references))


def test_a_speedup_is_their_median_over_ours() -> None:
    (one,) = found(trials(5, 4, 6), reference(10, 12, 8))
    assert (one.speedup, one.wall_s, one.reference_s) == (2, 5, 10)
    assert one.speedup_low is None, "three trials have no interval"


def test_six_trials_have_an_interval() -> None:
    (one,) = found(trials(*(5 + n / 10 for n in range(6))), reference(*range(10, 16)))
    assert one.speedup_low is not None
    assert one.speedup_high is not None
    assert one.speedup_low < one.speedup < one.speedup_high


@pytest.mark.parametrize("work_id", ["other", None])
def test_other_or_unknown_work_is_not_compared(work_id: str | None) -> None:
    assert found(trials(5), reference(10, work_id=work_id)) == []
    assert found(trials(5), reference(10), work_id=work_id) == []


def test_other_numbers_of_workers_are_not_compared() -> None:
    assert found(trials(5, workers=2), reference(10)) == []


def test_times_that_were_not_valid_do_not_count() -> None:
    own = pl.concat([trials(5), trials(500).with_columns(valid=False)])
    assert found(own, reference(10))[0].wall_s == 5


def test_a_reference_that_is_this_run_is_left_out() -> None:
    assert found(trials(5), reference(5)) == []


@pytest.mark.parametrize(
    "path", sorted(shipped_folder().glob("validation-*.toml")), ids=lambda path: path.stem
)
def test_what_comes_with_pyscale_stands_beside_the_same_work_alone(path: Path) -> None:
    told = read_reference(path).reference
    assert told.work_id is not None
    assert told.concerns(told.work_id)
    assert not told.concerns("other")
    assert not told.concerns(None)
    assert list(told.stages) == list(load_suite("validation").stages)


def test_a_reference_of_ones_own_stands_beside_other_work_too() -> None:
    assert reference(10).reference.concerns("other")


def test_a_reference_made_of_a_validation_is_for_the_same_work(
    plan: Callable[..., Plan], carried_out: Callable[..., RunFolder]
) -> None:
    assert reference_from(carried_out(plan(repeats=1)), "ours").reference.same_work_only
