"""The results of one report side by side with what others measured."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import polars as pl

from pyscale.analysis.machine.sidebyside import MachineSide
from pyscale.analysis.sidebyside import Side
from pyscale.references.model import NOT_TOLD, Reference, Referred
from pyscale.report.results import Results
from pyscale.report.viewer.build import SideBySide, Source
from pyscale.runfacts import hardware


def beside_references(results: Results) -> SideBySide:
    """Line up a report with the references that match it, itself first."""
    elsewhere = (source for found in results.references for source in _of_reference(found))
    return SideBySide.of([source_of(results), *elsewhere])


def source_of(
    results: Results,
    *,
    alike: frozenset[Hashable] = frozenset(),
    about: str | None = None,
    href: str | None = None,
) -> Source:
    """Make a column of the results of a run, or of a table.

    `alike` is what else it may be compared by, beside its fingerprint (see `Side`).
    """
    context = results.context
    losses = None if results.losses.is_empty() else results.losses
    return Source(
        name=context.run_id or context.title,
        kind="table" if context.run_id is None else "run",
        side=Side(
            results.configurations,
            alike | _work(context.work_id),
            losses,
            results.trials,
        ),
        limits=results.limits,
        hardware=hardware(node.stamp for node in context.nodes),
        about=about,
        href=href,
    )


def column_of(reference: Reference, side: Side | MachineSide, named: str = "") -> Source:
    """Make a column of what others measured."""
    year = f", {reference.measured}" if reference.measured else ""
    return Source(
        name=reference.title,
        kind="reference",
        side=side,
        hardware={what: value for what, value in reference.hardware.items() if value != NOT_TOLD},
        about=f"another machine{year}{named}",
        href=reference.url,
    )


def _of_reference(found: Referred[pl.DataFrame]) -> Iterator[Source]:
    """Make a column of a reference, and further ones where it measured a stage more than once."""
    reference, configurations = found
    one = ["stage", "label"]
    labels = (
        configurations.select(one)
        .unique(maintain_order=True)
        .with_columns(turn=pl.int_range(pl.len()).over("stage"), of=pl.len().over("stage"))
    )
    turns = configurations.join(labels, on=one, maintain_order="left").partition_by(
        "turn", maintain_order=True
    )
    for own in sorted(turns, key=lambda table: int(table["turn"][0])):
        several = own.filter(pl.col("of") > 1).select(one).unique(maintain_order=True).rows()
        named = "".join(f"; {stage}: {label}" for stage, label in several)
        yield column_of(reference, Side(own, _work(reference.work_id)), named)


def _work(work_id: str | None) -> frozenset[Hashable]:
    return frozenset() if work_id is None else frozenset({("work", work_id)})
