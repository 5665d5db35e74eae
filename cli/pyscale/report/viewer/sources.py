"""Columns of a viewer: a report, the nodes of a run, and what others measured."""

from __future__ import annotations

import string
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl
from pydantic import Field

from pyscale.analysis.align import Beside
from pyscale.analysis.causes import Limits
from pyscale.analysis.comparison import Side, stages_beside
from pyscale.analysis.machine.beside import MachineSide, machines_beside
from pyscale.analysis.machine.findings import MachineFindings, trial_medians
from pyscale.analysis.referencemodel import NOT_TOLD, Reference, Referred
from pyscale.planning.runfacts import hardware
from pyscale.report.results import Results
from pyscale_stages.contract import Record


class Column(Record):
    """One set of results."""

    id: str = Field("", description="A letter, by which rows and files name the column")
    name: str = Field(description="What it is, for people")
    kind: Literal["run", "reference", "table"]
    about: str | None = Field(None, description="What else a reader must know of it, in a line")
    href: str | None = Field(None, description="Its own page, where there is one")


@dataclass(frozen=True)
class Source:
    """What a column is made of; without an id it has the letter of its place.

    `limits` are those of its configurations, empty where nothing is known. `hardware` has property
    and value, in the order to print.
    """

    column: Column
    side: Side | MachineSide
    limits: Sequence[Limits] = ()
    hardware: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SideBySide(Beside):
    """The tables behind a viewer, with what its columns are."""

    sources: tuple[Source, ...]
    columns: tuple[Column, ...]

    @classmethod
    def of(
        cls, sources: Sequence[Source], line_up: Callable[[Sequence[Any]], Beside] = stages_beside
    ) -> SideBySide:
        """Line up the results of all sources."""
        columns = tuple(
            one.column.model_copy(update={"id": one.column.id or letter(place)})
            for place, one in enumerate(sources)
        )
        found = line_up([source.side for source in sources])
        return cls(**vars(found), columns=columns, sources=tuple(sources))


def letter(place: int) -> str:
    """Name of a column: A to Z, then A1 to Z1 and so on."""
    turn, rest = divmod(place, len(string.ascii_uppercase))
    return string.ascii_uppercase[rest] + (str(turn) if turn else "")


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
        _column(results, about, href),
        Side(results.configurations, alike | _work(context.work_id), losses, results.trials),
        limits=results.limits,
        hardware=hardware(node.stamp for node in context.nodes),
    )


def machines_beside_references(results: Results) -> SideBySide | None:
    """Line up the tests of a run with the references that match them; None where none does."""
    referred = results.beside.get("machine", ())
    if not referred:
        return None
    elsewhere = (
        _elsewhere(reference, MachineSide(tests, reference.size_ids), place=place)
        for place, (reference, tests) in enumerate(referred, start=1)
    )
    return SideBySide.of([*sources_of_run(results, place=0), *elsewhere], machines_beside)


def sources_of_run(
    results: Results,
    *,
    place: int,
    timings: pl.DataFrame | None = None,
    about: str | None = None,
    href: str | None = None,
) -> Iterator[Source]:
    """Make a column of each node of a run.

    `place` is that of the run among those that are compared. Without its single `timings` no
    interval of a speedup is known.
    """
    machine = results.of(MachineFindings)
    assert machine is not None
    stamps = {name: node.stamp for node in results.context.nodes for name in node.names}
    nodes = machine.tests["node"].unique(maintain_order=True).to_list()
    for number, node in enumerate(nodes, start=1):
        is_own = pl.col("node").eq_missing(node)
        trials = None if timings is None else trial_medians(timings.filter(is_own))
        named, which = about, letter(place)
        if len(nodes) > 1:
            named = ", ".join(filter(None, (about, f"node {node}")))
            which += str(number)
        yield Source(
            _column(results, named, href).model_copy(update={"id": which, "kind": "run"}),
            MachineSide(machine.tests.filter(is_own), machine.sizes, trials),
            hardware=hardware([stamps[node]] if node in stamps else [])
            | _folder(machine.places.get(node, {})),
        )


def _column(results: Results, about: str | None, href: str | None) -> Column:
    run_id = results.context.run_id
    return Column(
        name=run_id or results.context.title,
        kind="run" if run_id else "table",
        about=about,
        href=href,
    )


def _elsewhere(
    reference: Reference, side: Side | MachineSide, named: str = "", *, place: int | None = None
) -> Source:
    year = f", {reference.measured}" if reference.measured else ""
    return Source(
        Column(
            id="" if place is None else letter(place),
            name=reference.title,
            kind="reference",
            about=f"another machine{year}{named}",
            href=reference.url,
        ),
        side,
        hardware={what: value for what, value in reference.hardware.items() if value != NOT_TOLD},
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
        yield _elsewhere(reference, Side(own, _work(reference.work_id)), named)


def _work(work_id: str | None) -> frozenset[Hashable]:
    return frozenset() if work_id is None else frozenset({("work", work_id)})


def _folder(told: Mapping[str, str]) -> dict[str, str]:
    """What was said of the folder that was measured, named as people read it."""
    return {
        name.replace("place_", "measured folder: ")
        .replace("cache_", "cache folder: ")
        .replace("_", " "): value
        for name, value in told.items()
        if not name.startswith("device_")  # The hardware tells of the GPU.
    }
