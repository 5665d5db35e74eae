"""Answers on ranks, tied to the CSV: speedup, limit, and the number to request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyscale.analysis.intervals import repeats_needed
from pyscale.report.advice import NO_LARGER
from pyscale.report.ofranks import Row, ranks
from pyscale.report.page.answers import Answer
from pyscale.report.page.values import COMPONENTS, RECONSTRUCTIONS, Cell
from pyscale.report.reconstruct.cells import decibels, milliseconds
from pyscale.report.reconstruct.components import NOT_TOLD, fastest, limit, scales, work_normalised
from pyscale.report.reconstruct.parts import Parts
from pyscale.report.wording import listing, ratio

if TYPE_CHECKING:
    from pyscale.analysis.reconstruct.answers import ReconstructAnswer

AGREES = {"agrees": "Yes", "differs": "No", "not compared": "Not compared"}


def answers(parts: Parts, stage: str, advised: ReconstructAnswer | None) -> list[Answer]:
    """All answers on one entry, the most wanted first."""
    if advised is None:
        return [_nothing(parts.own(stage))]
    return [
        _faster(parts, advised),
        *scales(parts, advised),
        limit(parts, advised),
        _request(parts, advised),
        _agreement(parts, stage),
        _image(parts, advised),
    ]


def _nothing(own: Sequence[Row]) -> Answer:
    error = next((row["error"] for row in own if row["error"]), None)
    why = f": no trial counts; its error: {error}" if error else ": no trial counts."
    return Answer("Faster", "faster", (NOT_TOLD,), (why,))


def _faster(parts: Parts, advised: ReconstructAnswer) -> Answer:
    """State the largest speedup of an iteration over the baseline."""
    best, base = fastest(parts, advised), parts.at(advised.stage, advised.baseline_workers)
    base_s = RECONSTRUCTIONS.cell(base, "wall_s", milliseconds)
    with_base = ranks(base["workers"])
    if best["workers"] == base["workers"]:
        several = len([row for row in parts.timed if row["stage"] == advised.stage]) > 1
        head = "Not faster" if several else NOT_TOLD
        told = f" with more than {with_base}: " if several else f": {with_base} alone was timed, "
        end = f" with {with_base}." if several else "."
        return Answer("Faster", "faster", (head,), (told, *base_s, f" ms an iteration{end}"))
    whole = parts.component(best)
    return Answer(
        "Faster",
        "faster",
        (*COMPONENTS.cell(whole, "speedup", ratio), " times"),
        (
            f" with {ranks(best['workers'])}",
            *_sure(whole),
            ": ",
            *RECONSTRUCTIONS.cell(best, "wall_s", milliseconds),
            " ms an iteration, ",
            *base_s,
            f" ms with {with_base}; efficiency ",
            *COMPONENTS.cell(whole, "efficiency", ratio),
            *work_normalised(whole),
            ".",
        ),
    )


def _request(parts: Parts, advised: ReconstructAnswer) -> Answer:
    """State the number of ranks to request, and why no more."""
    gains: Cell = ()
    if advised.workers > advised.baseline_workers:
        row = parts.component(parts.at(advised.stage, advised.workers))
        # The interval of a gain that may be none holds 1.
        chance = row["speedup_low"] is not None and row["speedup_low"] <= 1
        gains = (*_gain(row), ", possibly by chance" if chance else "", "; ")
    timed = [row for row in parts.timed if row["stage"] == advised.stage]
    is_known = all(row["repeats"] >= repeats_needed() for row in timed)
    return Answer(
        "Request",
        "request",
        (ranks(advised.workers),),
        ("" if is_known else " so far", ": ", *gains, *_beyond(parts, advised), "."),
    )


def _beyond(parts: Parts, advised: ReconstructAnswer) -> Cell:
    """State the gain of the next N, or that none was timed."""
    if advised.next_workers is None:
        return ("more ranks were not timed",)
    row = parts.component(parts.at(advised.stage, advised.next_workers))
    why = NO_LARGER["knee"]
    return (
        f"{why[0].lower()}{why[1:-1]}, and with {ranks(advised.next_workers)} it is ",
        *_gain(row),
    )


def _gain(row: Row) -> Cell:
    return (
        *COMPONENTS.cell(row, "speedup", ratio),
        f" times as fast as with {row['baseline_workers']}, efficiency ",
        *COMPONENTS.cell(row, "efficiency", ratio),
    )


def _agreement(parts: Parts, stage: str) -> Answer:
    """State the agreement of all ranks with one, by the worst of all N."""
    several = [row for row in parts.own(stage) if row["gate"] is not None]
    found = {row["gate"] for row in several}
    verdict = next((one for one in ("differs", "not compared", "agrees") if one in found), None)
    if verdict is None:
        told = ": no trial of several ranks counts."
        return Answer("Agrees", "agrees", (NOT_TOLD,), (told,))
    own = [row for row in several if row["gate"] == verdict]
    worst = [
        part
        for name, column in (("gradient", "gate_gradient"), ("denoised interior", "gate_interior"))
        for most in _worst(own, column)
        for part in (", ", most, f" ({name})")
    ]
    border = _worst(own, "gate_border")
    why = next((row["gate_why_not"] for row in own if row["gate_why_not"]), "")
    return Answer(
        "Agrees",
        "agrees",
        (AGREES[verdict],),
        (
            f" with one rank (N = {listing(row['workers'] for row in own)})",
            *(
                (": largest deviation ", *worst[1:], ", as shares of the largest value")
                if worst
                else ()
            ),
            *(("; ", *border, " at the border of tiles, which tiling changes") if border else ()),
            f"; {why}" if why else "",
            "" if why.endswith(".") else ".",
        ),
    )


def _worst(own: Sequence[Row], column: str) -> Cell:
    known = [row for row in own if row[column] is not None]
    if not known:
        return ()
    row = max(known, key=lambda one: float(one[column]))
    return RECONSTRUCTIONS.cell(row, column)


def _image(parts: Parts, advised: ReconstructAnswer) -> Answer:
    """State the quality of the image, or that it means nothing."""
    row = parts.at(advised.stage, advised.workers)
    if row["timing_only"]:
        told = ": the denoiser's weights are random, so image and PSNR mean nothing."
        return Answer("Image", "image", ("Timing only",), (told,))
    if row["psnr_db"] is None:
        return Answer("Image", "image", (NOT_TOLD,), (": no PSNR.",))
    drift: Cell = (".",)
    if row["workers"] != row["baseline_workers"] and row["psnr_drift_db"] is not None:
        drift = (
            ", ",
            *RECONSTRUCTIONS.cell(row, "psnr_drift_db", decibels),
            f" dB from that with {ranks(row['baseline_workers'])}.",
        )
    return Answer(
        "Image",
        "image",
        (*RECONSTRUCTIONS.cell(row, "psnr_db", ratio), " dB"),
        (f" PSNR with {ranks(row['workers'])}", *drift),
    )


def _sure(whole: Row) -> Cell:
    _, *interval = COMPONENTS.interval_cell(whole, "speedup", ratio)
    return tuple(interval) or (" [no 95 % interval]",)
