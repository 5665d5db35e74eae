"""Answers on components, tied to the CSV: which gains by more ranks, and which limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale.report.ofranks import Row, ranks
from pyscale.report.page.answers import Answer
from pyscale.report.page.values import COMPONENTS, RECONSTRUCTIONS, Cell
from pyscale.report.reconstruct.cells import milliseconds
from pyscale.report.reconstruct.parts import Parts
from pyscale.report.reconstruct.words import COMPUTED, NAMES, titled
from pyscale.report.wording import percent, ratio

if TYPE_CHECKING:
    from pyscale.analysis.reconstruct.answers import ReconstructAnswer


NOT_TOLD = "Unknown"


def fastest(parts: Parts, advised: ReconstructAnswer) -> Row:
    """The point of an entry whose iterations are shortest."""
    own = [row for row in parts.timed if row["stage"] == advised.stage]
    return min(own, key=lambda row: (float(row["wall_s"]), row["workers"]))


def scales(parts: Parts, advised: ReconstructAnswer) -> list[Answer]:
    """State the gains of gradient and denoiser, the better first; nothing with N0 alone.

    At the fastest number of ranks, or else at the one that limits.
    """
    row = fastest(parts, advised)
    if row["workers"] == advised.baseline_workers:
        row = parts.at(advised.stage, advised.limit_workers)
    if row["workers"] == advised.baseline_workers:
        return []
    found = [parts.component(row, name) for name in COMPUTED]
    found = sorted(
        (one for one in found if one["speedup"] is not None), key=lambda one: -float(one["speedup"])
    )
    if not found:
        return []
    best, *others = found
    more = [part for other in others for part in ("; ", NAMES[other["component"]], *_gain(other))]
    beyond = any(one["efficiency"] > 1 for one in found)
    return [
        Answer(
            "Scales",
            "scales",
            (titled(NAMES[best["component"]]),),
            (
                f" best with {ranks(row['workers'])}:",
                *_gain(best),
                *more,
                "; efficiency above 1 is chance, or a smaller share that fits caches better"
                if beyond
                else "",
                ".",
            ),
        )
    ]


def _gain(one: Row) -> Cell:
    return (
        " ",
        *COMPONENTS.cell(one, "speedup", ratio),
        " times, efficiency ",
        *COMPONENTS.cell(one, "efficiency", ratio),
        *work_normalised(one),
    )


def work_normalised(one: Row) -> Cell:
    """Put the efficiency of a component for equal work beside the other, where they differ."""
    known = one["normalised_efficiency"]
    if known is None or ratio(known) == ratio(one["efficiency"]):
        return ()
    return (
        " (work-normalised ",
        *COMPONENTS.cell(one, "normalised_efficiency", ratio),
        ")",
    )


def limit(parts: Parts, advised: ReconstructAnswer) -> Answer:
    """Name the component that loses most against ideal scaling, and why if known."""
    if advised.limit_workers == advised.baseline_workers:
        alone = f": {ranks(advised.baseline_workers)} alone was timed."
        return Answer("Holds back", "limit", (NOT_TOLD,), (alone,))
    if advised.limit is None:
        return Answer(
            "Holds back", "limit", ("Nothing",), (": no component loses against ideal scaling.",)
        )
    row = parts.at(advised.stage, advised.limit_workers)
    lost = parts.component(row, advised.limit)
    share = advised.limit_loss_share
    return Answer(
        "Holds back",
        "limit",
        (titled(NAMES[advised.limit]),),
        (
            f": with {ranks(row['workers'])} ",
            *COMPONENTS.cell(lost, "loss_s", milliseconds),
            " ms an iteration more than ideal scaling",
            "" if share is None else f", {percent(share)} of the loss",
            *_why(row, advised),
            ".",
        ),
    )


def _why(row: Row, advised: ReconstructAnswer) -> Cell:
    if advised.limit == "denoiser" and advised.margin_loss_s and advised.limit_loss_s:
        # Pixels of margins may explain more than the loss, where a pixel takes less time in a tile.
        explained, lost = map(milliseconds, (advised.margin_loss_s, advised.limit_loss_s))
        if explained == lost or advised.margin_loss_s > advised.limit_loss_s:
            return ("; margins of tiles explain all of it",)
        return (f"; margins of tiles explain {explained} ms of it",)
    if advised.limit == "barrier" and row["balance"] is not None:
        balance = RECONSTRUCTIONS.cell(row, "balance", ratio)
        return ("; the mean rank computes ", *balance, " times as long as the busiest")
    return ()
