"""Reconstruction over ranks in words: how much faster, what limits, how many ranks to request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from pyscale.analysis.flags import flags_of_trials
from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.ranks.components import COMPUTED, TOTAL, Knee
from pyscale.analysis.ranks.reconstruct import ReconstructFindings
from pyscale.analysis.trust import trust_in_reconstruction
from pyscale.report import laws, sentences
from pyscale.report.advice import NO_LARGER
from pyscale.report.dictionary import decibels
from pyscale.report.page.values import COMPONENTS, RECONSTRUCTIONS, Cell, Row
from pyscale.report.ranks import reconstructtables as tables
from pyscale.report.ranks.images import (
    NAMES,
    images,
    milliseconds,
    timed,
)
from pyscale.report.ranks.ranklabels import failed, places, ranks, trials_of
from pyscale.report.results import Results
from pyscale.report.section import (
    Answer,
    Answered,
    Block,
    Section,
    beside,
    doubts_of,
    there,
)
from pyscale.wording import grouped, listing, percent, ratio, titled

QUESTION = "Which component of the reconstruction scales?"
NOT_TOLD = "Unknown"
AGREES = {"agrees": "Yes", "differs": "No", "not compared": "Not compared"}
DEVIATIONS = {
    "gradient": "gate_gradient",
    "denoised interior": "gate_interior",
    "border": "gate_border",
}
NOT_COMPARABLE = (
    " Not comparable: hardware, denoiser and number of iterations differ or are unknown."
)


def section(results: Results) -> Section | None:
    """Tell of reconstruction over ranks; None where none was made."""
    findings, configurations = results.of(ReconstructFindings), results.configurations
    if findings is None:
        return None
    points = images(findings)
    names = {row["stage"]: row["name"] for row in points}
    many = "1 image" if len(names) == 1 else f"{len(names)} images"
    shown = (
        tables.scaling(points),
        tables.components(points),
        tables.speedups(points),
        tables.sharing(points),
        tables.quality(points),
        tables.largest(findings.largest.to_dicts(), points),
    )
    return Section(
        kind=findings.kind,
        nav="Reconstruction",
        title=QUESTION,
        heading="Distributed reconstruction",
        subject="which component scales",
        ran=f"reconstruction of {many} {trials_of(points)}",
        answered=tuple(_answered(points, findings, configurations)),
        blocks=(
            Block(said=tuple(failed(points, names)), tables=there(*shown)),
            *laws.of_ranks(findings.laws, names),
        ),
        short=there(tables.short(points)),
        narrow=4,
        advises=True,
        note="N: ranks, which share the operators and the tiles of one image.",
        figures=("components", "componentshares"),
        scales=("linear", "log"),
        published=beside(
            results.beside.get(findings.kind, ()),
            lambda title, rows: tables.published(title, rows, points),
            NOT_COMPARABLE,
        ),
        doubts=(
            *doubts_of(points, places(names)),
            *sentences.doubts_of_trials(configurations, list(names), points),
        ),
    )


def _answered(
    points: Sequence[Row], findings: ReconstructFindings, configurations: pl.DataFrame
) -> Iterator[Answered]:
    knees = {knee.row["stage"]: knee for knee in findings.knees}
    for (stage, name), own in grouped(((row["stage"], row["name"]), row) for row in points).items():
        knee = knees.get(stage)
        trusted = trust_in_reconstruction(own, knee, flags_of_trials(configurations, [stage]))
        if knee is None:
            error = next((f"; its error: {row['error']}" for row in own if row["error"]), ".")
            why = f": no trial counts{error}"
            answers = iter([Answer("Faster", "faster", (NOT_TOLD,), (why,))])
        else:
            answers = _answers(own, knee)
        yield Answered.of(name, answers, trusted)


def _answers(own: Sequence[Row], knee: Knee) -> Iterator[Answer]:
    known, at = timed(own), {row["workers"]: row for row in own}
    fastest = min(known, key=lambda row: (float(row["wall_s"]), row["workers"]))
    yield Answer("Faster", "faster", *_faster(known, fastest, knee))
    limited, base = at[knee.limited["workers"]], knee.base["workers"]
    shown = limited if fastest["workers"] == base else fastest
    if shown["workers"] != base:
        yield from _scales([shown["components"][name] for name in COMPUTED])
    yield Answer("Holds back", "limit", *_limit(limited, knee))
    yield Answer("Request", "request", *_request(known, knee))
    yield Answer("Agrees", "agrees", *_agreement(own))
    yield Answer("Image", "image", *_image(at[knee.row["workers"]]))


def _faster(known: Sequence[Row], fastest: Row, knee: Knee) -> tuple[Cell, Cell]:
    """State the largest speedup of an iteration over the baseline."""
    with_base, base = ranks(knee.base["workers"]), known[0]
    base_s = RECONSTRUCTIONS.cell(base, "wall_s", milliseconds)
    if fastest["workers"] == base["workers"]:
        if len(known) > 1:
            told = f" with more than {with_base}: "
            return ("Not faster",), (told, *base_s, f" ms an iteration with {with_base}.")
        return (NOT_TOLD,), (f": {with_base} alone was timed, ", *base_s, " ms an iteration.")
    whole = fastest["components"][TOTAL]
    speedup, *interval = COMPONENTS.interval_cell(whole, "speedup", ratio)
    return (speedup, " times"), (
        *(f" with {ranks(fastest['workers'])}", *(interval or (" [no 95 % interval]",)), ": "),
        *(*RECONSTRUCTIONS.cell(fastest, "wall_s", milliseconds), " ms an iteration, "),
        *(*base_s, f" ms with {with_base}", *_efficiency(whole, "; "), "."),
    )


def _scales(computed: Sequence[Row]) -> Iterator[Answer]:
    """State the gains of gradient and denoiser at one N, the better first."""
    found = [one for one in computed if one["speedup"] is not None]
    if not found:
        return
    best, *others = sorted(found, key=lambda one: -float(one["speedup"]))
    told: Cell = ()
    for one in (best, *others):
        name = f"; {NAMES[one['component']]} " if told else f" best with {ranks(one['workers'])}: "
        speedup = COMPONENTS.cell(one, "speedup", ratio)
        told = (*told, name, *speedup, " times", *_efficiency(one, ", "))
    above = [one for one in found if one["efficiency"] > 1]
    if above:
        # The interval of the efficiency is that of the speedup, times the same factor.
        lows = [one["speedup_low"] and one["speedup_low"] / one["speedup"] for one in above]
        if None in lows:
            why = "may be chance, or a smaller share that fits caches better"
        elif any(low * one["efficiency"] > 1 for low, one in zip(lows, above, strict=True)):
            why = "is beyond chance: a smaller share that fits caches better, or a slow baseline"
        else:
            why = "is within chance"
        told = (*told, f"; efficiency above 1 {why}")
    yield Answer("Scales", "scales", (titled(NAMES[best["component"]]),), (*told, "."))


def _efficiency(one: Row, before: str) -> Cell:
    """State an efficiency, with that for equal work where they differ."""
    known = one["normalised_efficiency"]
    alike = known is None or ratio(known) == ratio(one["efficiency"])
    for_work = COMPONENTS.cell(one, "normalised_efficiency", ratio)
    return (
        *(f"{before}efficiency ", *COMPONENTS.cell(one, "efficiency", ratio)),
        *(() if alike else (" (work-normalised ", *for_work, ")")),
    )


def _limit(limited: Row, knee: Knee) -> tuple[Cell, Cell]:
    """Name the component that loses most against ideal scaling, and why if known."""
    limit = knee.limit
    if knee.limited["workers"] == knee.base["workers"]:
        return (NOT_TOLD,), (f": {ranks(knee.base['workers'])} alone was timed.",)
    if limit is None:
        return ("Nothing",), (": no component loses against ideal scaling.",)
    why: Cell = ()
    if limit["component"] == "denoiser" and knee.margin_loss_s:
        # Pixels of margins may explain more than the loss, where a pixel takes less time in a tile.
        explained, lost = map(milliseconds, (knee.margin_loss_s, limit["loss_s"]))
        is_all = explained == lost or knee.margin_loss_s > limit["loss_s"]
        why = (f"; margins of tiles explain {'all' if is_all else f'{explained} ms'} of it",)
    elif limit["component"] == "barrier" and limited["balance"] is not None:
        times = RECONSTRUCTIONS.cell(limited, "balance", ratio)
        why = ("; the mean rank computes ", *times, " times as long as the busiest")
    return (titled(NAMES[limit["component"]]),), (
        f": with {ranks(limit['workers'])} ",
        *COMPONENTS.cell(limit, "loss_s", milliseconds),
        f" ms an iteration more than ideal scaling, {percent(knee.limit_share)} of the loss",
        *(*why, "."),
    )


def _request(known: Sequence[Row], knee: Knee) -> tuple[Cell, Cell]:
    gains: Cell = ()
    if knee.row["workers"] > knee.base["workers"]:
        # The interval of a gain that may be none holds 1.
        chance = knee.row["speedup_low"] is not None and knee.row["speedup_low"] <= 1
        gains = (*_gain(knee.row), ", possibly by chance" if chance else "", "; ")
    beyond: Cell = ("more ranks were not timed",)
    if knee.following is not None:
        why, with_next = NO_LARGER["knee"], ranks(knee.following["workers"])
        beyond = (
            f"{why[0].lower()}{why[1:-1]}, and with {with_next} it is ",
            *_gain(knee.following),
        )
    is_known = all(row["repeats"] >= repeats_needed() for row in known)
    so_far = "" if is_known else " so far"
    return (ranks(knee.row["workers"]),), (so_far, ": ", *gains, *beyond, ".")


def _gain(row: Row) -> Cell:
    return (
        *COMPONENTS.cell(row, "speedup", ratio),
        f" times as fast as with {row['baseline_workers']}, efficiency ",
        *COMPONENTS.cell(row, "efficiency", ratio),
    )


def _agreement(own: Sequence[Row]) -> tuple[Cell, Cell]:
    """State the agreement of all ranks with one, by the worst of all N."""
    found = {row["gate"] for row in own}
    verdict = next((one for one in ("differs", "not compared", "agrees") if one in found), None)
    if verdict is None:
        return (NOT_TOLD,), (": no trial of several ranks counts.",)
    judged = [row for row in own if row["gate"] == verdict]
    told: Cell = (f" with one rank (N = {listing(row['workers'] for row in judged)})",)
    worst = {
        name: RECONSTRUCTIONS.cell(max(known, key=lambda one: float(one[column])), column)
        for name, column in DEVIATIONS.items()
        if (known := [row for row in judged if row[column] is not None])
    }
    border = worst.pop("border", None)
    for place, (name, most) in enumerate(worst.items()):
        told = (*told, ", " if place else ": largest deviation ", *most, f" ({name})")
    if worst:
        told = (*told, ", as shares of the largest value")
    if border:
        told = (*told, "; ", *border, " at the border of tiles, which tiling changes")
    why = next((f"; {row['gate_why_not']}" for row in judged if row["gate_why_not"]), "")
    return (AGREES[verdict],), (*told, why, "" if why.endswith(".") else ".")


def _image(row: Row) -> tuple[Cell, Cell]:
    if row["timing_only"]:
        told = ": the denoiser's weights are random, so image and PSNR mean nothing."
        return ("Timing only",), (told,)
    if row["psnr_db"] is None:
        return (NOT_TOLD,), (": no PSNR.",)
    told = f" PSNR with {ranks(row['workers'])}"
    drift: Cell = ()
    if row["workers"] != row["baseline_workers"] and row["psnr_drift_db"] is not None:
        so_far = RECONSTRUCTIONS.cell(row, "psnr_drift_db", decibels)
        drift = (", ", *so_far, f" dB from that with {ranks(row['baseline_workers'])}")
    return (*RECONSTRUCTIONS.cell(row, "psnr_db", ratio), " dB"), (told, *drift, ".")
