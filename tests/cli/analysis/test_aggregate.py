"""One number more is one field more: tables, trials and configurations follow the record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

import polars as pl
import pytest
from pydantic import Field

from pyscale.analysis.aggregate import over_ranks, over_trials
from pyscale.analysis.declared import row_of, schema_of
from pyscale_stages.record import Bytes, Derived, Metric, Record, Seconds


class Found(Record):
    """What a rank of a made-up stage measured."""

    derived: ClassVar[Mapping[str, Derived]] = {
        "cpu_s_per_patch": Derived("cpu_s", "Processor time of a patch", "sum", per="patches"),
        "read_bytes_per_s": Derived("read_bytes", "Rate of reading", "rates", per="cpu_s"),
        "rank_pss_bytes": Derived("pss_bytes", "Memory of the fullest rank", "most"),
        "copy_s": Derived("step_s wait_s", "Step, or where there is none the wait", "most"),
    }

    cpu_s: Seconds = 2.0
    patches: int = 10
    step_s: Seconds | None = None
    wait_s: Annotated[Seconds | None, Metric(ranks="mean", trials="median")] = 1.0
    pss_bytes: Annotated[Bytes | None, Metric(ranks="node", trials="most")] = Field(
        100, description="Memory"
    )
    read_bytes: Annotated[Bytes, Metric(ranks="sum", trials="max")] = 30
    free_bytes: Annotated[Bytes, Metric(ranks="least", trials="min")] = 5
    slides: Annotated[float, Metric(ranks="apart", trials="rate")] = 4.0
    library: Annotated[str | None, Metric(ranks="first", trials="told")] = Field(
        None, description="What read it"
    )
    gpu: Annotated[str | None, Metric(ranks="names", trials="names")] = None


def ranks_of(*found, trial="a"):
    """Table of the ranks of a trial; the first two are on one node, all others on another."""
    rows = [
        {"trial": trial, "rank": rank, "node": f"n{rank // 2}"} | row_of(one)
        for rank, one in enumerate(found)
    ]
    header = {"trial": pl.String(), "rank": pl.Int64(), "node": pl.String()}
    return pl.DataFrame(rows, header | schema_of(type(found[0])))


def trial_of(*found):
    """The trial of such ranks."""
    return over_ranks(ranks_of(*found), type(found[0])).row(0, named=True)


def test_a_trial_has_what_its_ranks_declare():
    ranks = (
        Found(gpu="B", step_s=3.0),
        Found(patches=30, wait_s=3.0, library="tifffile", gpu="A"),
        Found(pss_bytes=150, read_bytes=40, free_bytes=4, wait_s=2.0),
    )
    assert trial_of(*ranks) == {
        "trial": "a",
        "cpu_s_per_patch": pytest.approx(6.0 / 50),
        "read_bytes_per_s": pytest.approx(15 + 15 + 20),
        "copy_s": 3.0,
        "wait_s": 2.0,
        "pss_bytes": 200,
        "rank_pss_bytes": 150,
        "read_bytes": 100,
        "free_bytes": 4,
        "slides": pytest.approx(3 * 4.0),
        "library": "tifffile",
        "gpu": "A, B",
    }


def test_what_one_rank_does_not_know_no_sum_and_no_largest_has():
    row = trial_of(Found(), Found(pss_bytes=None), Found(wait_s=None))
    assert (row["pss_bytes"], row["copy_s"], row["wait_s"]) == (None, None, 1.0)


def test_a_configuration_has_what_its_trials_that_count_tell():
    trials = pl.concat(
        over_ranks(ranks_of(Found(**changes), trial=str(number)), Found)
        for number, changes in enumerate(
            [{"slides": 2.0}, {"slides": 6.0, "read_bytes": 50}, {"library": "zarr", "gpu": "A"}]
        )
    ).with_columns(valid=pl.Series([True, True, False]))
    row = over_trials(trials, Found)
    assert (row["read_bytes"], row["free_bytes"], row["pss_bytes"]) == (50, 5, 100)
    # Of rates it is the inverse of the median of 1/2 and 1/6.
    assert row["slides"] == pytest.approx(3.0)
    assert (row["library"], row["gpu"]) == ("zarr", "A")


class Pass(Record):
    """One pass over the data."""

    waits_s: Annotated[
        tuple[Seconds, ...],
        Metric(samples={"batches": "count", "wait_p50_s": "p50", "wait_p95_s": "p95"}),
    ] = Field((), description="Each wait")
    batches_read: Annotated[int, Metric("read")] = Field(0, description="Batches that were read")


class Whole(Record):
    """What a made-up stage measured."""

    pss_bytes: Bytes | None = Field(None, description="Most memory")
    origin: Literal["start", "fork"] | None = None
    shape: tuple[int, ...] = ()
    details: dict[str, float] = Field(default_factory=dict)
    warm: Pass | None = Field(None, description="With a warm cache")
    cold: Annotated[Pass, Metric("")]
    rows: tuple[Pass, ...] = Field((), description="A table of its own")


WHOLE = Whole(
    shape=(3, 256), details={"b": 2.0, "a": 1.0}, cold=Pass(waits_s=(1.0, 3.0), batches_read=4)
)


def test_each_field_has_a_column_of_its_type():
    of_pass = {
        "batches": pl.Int64(),
        **dict.fromkeys(("wait_p50_s", "wait_p95_s"), pl.Float64()),
        "read": pl.Int64(),
    }
    assert schema_of(Whole) == {
        "pss_bytes": pl.Int64(),
        **dict.fromkeys(("origin", "shape", "details"), pl.String()),
        **{f"warm_{name}": kind for name, kind in of_pass.items()},
        **of_pass,
    }


def test_a_row_has_all_that_was_measured_and_null_for_the_rest():
    row = row_of(WHOLE)
    assert list(row) == list(schema_of(Whole))
    assert (row["shape"], row["details"]) == ("3 x 256", '{"a": 1.0, "b": 2.0}')
    assert (row["batches"], row["wait_p50_s"], row["read"]) == (2, 2.0, 4)
    assert {row[name] for name in row if name.startswith("warm_")} == {row["pss_bytes"]} == {None}
    assert row_of(None) == {}


def test_an_empty_list_has_no_samples():
    assert row_of(Pass()) == {**dict.fromkeys(schema_of(Pass)), "read": 0}
