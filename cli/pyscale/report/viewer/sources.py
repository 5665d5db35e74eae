"""Columns of a viewer: a report, the nodes of a run, and what others measured."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

import polars as pl

from pyscale.analysis.comparison import Side
from pyscale.analysis.machine.beside import MachineSide, machines_beside
from pyscale.analysis.machine.findings import MachineFindings, trial_medians
from pyscale.analysis.referencemodel import NOT_TOLD, Reference, Referred
from pyscale.planning.runfacts import hardware
from pyscale.report.results import Results
from pyscale.report.viewer.build import Column, SideBySide, Source, letter


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
        Column(
            name=context.run_id or context.title,
            kind="table" if context.run_id is None else "run",
            about=about,
            href=href,
        ),
        Side(results.configurations, alike | _work(context.work_id), losses, results.trials),
        limits=results.limits,
        hardware=hardware(node.stamp for node in context.nodes),
    )


def _elsewhere(
    reference: Reference, side: Side | MachineSide, named: str = "", place: int | None = None
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


def machines_beside_references(results: Results) -> SideBySide | None:
    """Line up the tests of a run with the references that match them; None where none does."""
    referred = results.beside.get("machine", ())
    if not referred:
        return None
    own = list(sources_of_run(results, place=0))
    elsewhere = (
        _elsewhere(reference, MachineSide(tests, reference.size_ids), place=place)
        for place, (reference, tests) in enumerate(referred, start=1)
    )
    return SideBySide.of([*own, *elsewhere], machines_beside)


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
    tests = machine.tests
    context = results.context
    stamps = {name: node.stamp for node in context.nodes for name in node.names}
    nodes = tests["node"].unique(maintain_order=True).to_list()
    for number, node in enumerate(nodes, start=1):
        own = tests["node"].eq_missing(node)
        is_only = len(nodes) == 1
        trials = None
        if timings is not None:
            trials = trial_medians(timings.filter(timings["node"].eq_missing(node)))
        told = machine.places.get(node, {})
        named = about if is_only else ", ".join(filter(None, (about, f"node {node}")))
        yield Source(
            Column(
                id=letter(place) if is_only else f"{letter(place)}{number}",
                name=context.run_id or context.title,
                kind="run",
                about=named,
                href=href,
            ),
            MachineSide(tests.filter(own), machine.sizes, trials),
            hardware=hardware([stamps[node]] if node in stamps else []) | _folder(told),
        )


def _folder(told: Mapping[str, str]) -> dict[str, str]:
    """What was said of the folder that was measured, named as people read it."""
    return {
        name.replace("place_", "measured folder: ")
        .replace("cache_", "cache folder: ")
        .replace("_", " "): value
        for name, value in told.items()
        if not name.startswith("device_")  # The hardware tells of the GPU.
    }
