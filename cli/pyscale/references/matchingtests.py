"""Which references belong beside the tests of a machine: those of the same tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyscale.references.model import Loaded, ReferredTests

if TYPE_CHECKING:
    import polars as pl

_CELL = ("kind", "_device", "test", "at_once", "step")


def matching_tests(references: Iterable[Loaded], tests: pl.DataFrame) -> list[ReferredTests]:
    """Find what others measured of the reported tests, on the same kind of device.

    A reference that names no stages is matched by the names of its tests. One that is the very
    measurement reported, to the last digit of every time, is left out.

    Parameters
    ----------
    references : iterable of Loaded
    tests : polars.DataFrame
        As reported, of one run (see `pyscale.analysis.machine.tests.machine_tests`).

    Returns
    -------
    list of ReferredTests
        In the order of `references`; each with its rows of reported tests alone.
    """
    import polars as pl

    own = _placed(tests)
    kinds = own.select("test", _kind="kind").unique(subset="test", maintain_order=True)
    found = []
    for loaded in references:
        measured = loaded.tests()
        if measured is None:
            continue
        known = measured.join(kinds, on="test", how="left", maintain_order="left").with_columns(
            kind=pl.coalesce("kind", "_kind")
        )
        named = ["kind", "_device", "test"]
        beside = _placed(known).join(
            own.select(named).unique(), on=named, how="semi", maintain_order="left"
        )
        if not beside.is_empty() and not _is_the_same(beside, own):
            columns = beside.select(tests.columns)
            found.append(ReferredTests(loaded.reference, columns))
    return found


def _placed(tests: pl.DataFrame) -> pl.DataFrame:
    """Say of each test what kind of device did it, whatever its name."""
    import polars as pl

    from pyscale.analysis.machine.sidebyside import device_names

    devices = pl.DataFrame(
        list(device_names(tests["device"].unique(maintain_order=True)).items()),
        schema={"device": pl.String, "_device": pl.String},
        orient="row",
    )
    return tests.join(devices, on="device", how="left", nulls_equal=True, maintain_order="left")


def _is_the_same(beside: pl.DataFrame, own: pl.DataFrame) -> bool:

    both = beside.drop_nulls("wall_s").join(
        own.drop_nulls("wall_s"), on=_CELL, nulls_equal=True, suffix="_own"
    )
    return not both.is_empty() and bool((both["wall_s"] == both["wall_s_own"]).all())
