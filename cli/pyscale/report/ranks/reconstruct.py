"""Reconstruction over ranks: how much faster, what limits, how many ranks to request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from pyscale.analysis.flags import flags_of, flags_of_trials
from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.ranks.components import COMPUTED, Knee
from pyscale.analysis.ranks.reconstruct import AGREES, DIFFERS, NOT_COMPARED, ReconstructFindings
from pyscale.analysis.trust import GRAVE, Basis, Trusted, judged
from pyscale.report import sentences
from pyscale.report.answered import answers
from pyscale.report.page.values import RECONSTRUCTIONS, Row
from pyscale.report.ranks import reconstructtables as tables
from pyscale.report.ranks.reconstructtables import images, timed
from pyscale.report.results import Results
from pyscale.report.section import Answer, Answered, Block, Section, beside, doubts_of, there
from pyscale.report.sentences import failed, places, trials_of
from pyscale.wording import grouped
from pyscale_stages.wording import plural

QUESTION = "Which component of the reconstruction scales?"
VERDICTS = (DIFFERS, NOT_COMPARED, AGREES)
"""On outputs, the worst first."""
DEVIATIONS = {"gradient": "gate_gradient", "denoised interior": "gate_interior"}
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
    shown = (
        tables.scaling(points),
        tables.components(points),
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
        ran=f"reconstruction of {plural(len(names), 'image')} {trials_of(points)}",
        answered=tuple(_answered(points, findings, configurations)),
        blocks=(Block(tables=there(*shown)),),
        short=there(tables.short(points)),
        narrow=4,
        advises=True,
        note="N: ranks, which share the operators and the tiles of one image.",
        figures=("components", "componentefficiency", "componentshares"),
        scales=("linear", "log"),
        published=beside(
            results.beside.get(findings.kind, ()),
            lambda title, rows: tables.published(title, rows, points),
            NOT_COMPARABLE,
        ),
        doubts=(
            *failed(points, names),
            *doubts_of(points, places(names)),
            *sentences.doubts_of_trials(configurations, list(names), points),
        ),
    )


def _answered(
    points: Sequence[Row], findings: ReconstructFindings, configurations: pl.DataFrame
) -> Iterator[Answered]:
    knees = {knee.row["stage"]: knee for knee in findings.knees}
    for (stage, name), own in grouped(((row["stage"], row["name"]), row) for row in points).items():
        knee, of_trials = knees.get(stage), flags_of_trials(configurations, [stage])
        if knee is None:
            error = next((f"; its error: {row['error']}" for row in own if row["error"]), ".")
            told: tuple[Answer, ...] = (
                Answer("Faster", "faster", ("Unknown",), (f": no trial counts{error}",)),
            )
            trusted = judged((), compared=None, none_timed="no trial counts")
        else:
            fastest = min(timed(own), key=lambda row: (float(row["wall_s"]), row["workers"]))
            told = answers("reconstruct", **_known(own, knee, fastest))
            trusted = trust_in(own, knee, fastest, of_trials)
        yield Answered.of(name, told, trusted)


def trust_in(own: Sequence[Row], knee: Knee, fastest: Row, of_trials: Sequence[str]) -> Trusted:
    """Judge an entry by all points that its answers rest on, and by what makes others wrong."""
    counts = {row["workers"] for row in (knee.base, knee.row, knee.following, fastest) if row}
    decisive = [row for row in timed(own) if row["workers"] in counts]
    codes = {code for row in own for code in flags_of(row) if row in decisive or code in GRAVE}
    lost = ", ".join(str(row["workers"]) for row in own if row["wall_s"] is None)
    return judged(
        [Basis("", codes - {"not-compared"}, row["repeats"]) for row in decisive],
        of_trials=of_trials,
        compared="not-compared" not in codes and any(row["gate"] for row in decisive),
        none_timed="no trial counts",
        reasons=[f"no timed trial at N = {lost}"] if lost else [],
        in_favour=["ranks agree with one"],
    )


def _known(own: Sequence[Row], knee: Knee, fastest: Row) -> Row:
    known, at = timed(own), {row["workers"]: row for row in own}
    limited, base = at[knee.limited["workers"]], knee.base["workers"]
    # Of the fastest, or where that is the baseline of the next.
    shown = limited if fastest["workers"] == base else fastest
    scales = [one for name in COMPUTED if (one := shown["components"][name])["speedup"]]
    verdict = next((one for one in VERDICTS if one in {row["gate"] for row in own}), None)
    agreed = [row for row in own if verdict is not None and row["gate"] == verdict]
    worst = {
        column: RECONSTRUCTIONS.cell(max(told, key=lambda one: float(one[column])), column)
        for column in (*DEVIATIONS.values(), "gate_border")
        if (told := [row for row in agreed if row[column] is not None])
    }
    why_not = next((row["gate_why_not"] for row in agreed if row["gate_why_not"]), "")
    return {
        "knee": knee,
        "known": known,
        "fastest": fastest,
        "limited": limited,
        "scales": sorted(scales, key=lambda one: -float(one["speedup"]))
        if shown != at[base]
        else [],
        "above_one": _above_one(scales),
        "is_early": any(row["repeats"] < repeats_needed() for row in known),
        "judged": agreed,
        "deviations": [(name, worst[own]) for name, own in DEVIATIONS.items() if own in worst],
        "border": worst.get("gate_border"),
        "why_not": why_not.rstrip("."),
        "image": at[knee.row["workers"]],
    }


def _above_one(scales: Sequence[Row]) -> str | None:
    """Say whether an efficiency above 1 is beyond chance; None where none is."""
    above = [one for one in scales if one["efficiency"] > 1]
    if not above:
        return None
    lows = [one["efficiency_low"] for one in above]
    if None in lows:
        return "may be chance, or a smaller share that fits caches better"
    if max(lows) > 1:
        return "is beyond chance: a smaller share that fits caches better, or a slow baseline"
    return "is within chance"
