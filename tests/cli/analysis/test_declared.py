"""The columns of a record are made from its fields alone."""

from __future__ import annotations

from typing import Annotated, Literal

import polars as pl
from pydantic import Field

from pyscale.analysis.declared import row_of, schema_of
from pyscale_stages.record import Bytes, Metric, Record, Seconds


class Pass(Record):
    """One pass over the data."""

    waits_s: Annotated[
        tuple[Seconds, ...],
        Metric(samples={"batches": "count", "wait_p50_s": "p50", "wait_p95_s": "p95"}),
    ] = Field((), description="Each wait")
    batches_read: Annotated[int, Metric("read")] = Field(0, description="Batches that were read")


class Found(Record):
    """What a made-up stage measured."""

    pss_bytes: Bytes | None = Field(None, description="Most memory")
    origin: Literal["start", "fork"] | None = None
    shape: tuple[int, ...] = ()
    details: dict[str, float] = Field(default_factory=dict)
    warm: Pass | None = Field(None, description="With a warm cache")
    cold: Annotated[Pass, Metric("")]
    rows: tuple[Pass, ...] = Field((), description="A table of its own")


FOUND = Found(
    shape=(3, 256), details={"b": 2.0, "a": 1.0}, cold=Pass(waits_s=(1.0, 3.0), batches_read=4)
)


def test_each_field_has_a_column_of_its_type():
    of_pass = {
        "batches": pl.Int64(),
        **dict.fromkeys(("wait_p50_s", "wait_p95_s"), pl.Float64()),
        "read": pl.Int64(),
    }
    assert schema_of(Found) == {
        "pss_bytes": pl.Int64(),
        **dict.fromkeys(("origin", "shape", "details"), pl.String()),
        **{f"warm_{name}": kind for name, kind in of_pass.items()},
        **of_pass,
    }


def test_a_row_has_all_that_was_measured_and_null_for_the_rest():
    row = row_of(FOUND)
    assert list(row) == list(schema_of(Found))
    assert (row["shape"], row["details"]) == ("3 x 256", '{"a": 1.0, "b": 2.0}')
    assert (row["batches"], row["wait_p50_s"], row["read"]) == (2, 2.0, 4)
    assert {row[name] for name in row if name.startswith("warm_")} == {row["pss_bytes"]} == {None}
    assert row_of(None) == {}


def test_an_empty_list_has_no_samples():
    assert row_of(Pass()) == {**dict.fromkeys(schema_of(Pass)), "read": 0}
