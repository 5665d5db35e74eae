"""Reconstruction over ranks: how much faster, what limits, how many ranks to request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from pyscale.analysis.flags import flags_of, flags_of_trials
from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.ranks.reconstruct import (
    AGREES,
    COMPUTED,
    DIFFERS,
    NOT_COMPARED,
    OBJECTIVE,
    TOTAL,
    WITH_WORK,
    Knee,
    ReconstructFindings,
)
from pyscale.analysis.trust import GRAVE, Basis, Trusted, judged
from pyscale.report import sentences
from pyscale.report.answered import answers
from pyscale.report.dictionary import Written, labels
from pyscale.report.page.values import (
    COMPONENTS,
    RECONSTRUCTIONS,
    Cell,
    Columns,
    Row,
    Table,
    Writer,
    laid_out,
    numbers,
    words,
)
from pyscale.report.results import Results
from pyscale.report.section import Answer, Answered, Block, Section, beside, doubts_of, there
from pyscale.report.sentences import failed, places, told_doubts, trials_of
from pyscale.wording import ABSENT, grouped, number, percent, ratio, titled
from pyscale_stages.reconstruction import COMPONENTS as PARTS
from pyscale_stages.wording import plural

QUESTION = "Which component of the reconstruction scales?"
VERDICTS = (DIFFERS, NOT_COMPARED, AGREES)
"""On outputs, the worst first."""
GATES = {"gradient": "gate_gradient", "denoised interior": "gate_interior"}
LEFT_OUT = {
    *("Trials", "Work-normalised", "Gradient: efficiency", "Denoiser: efficiency", "Work"),
    "Doubts",
}
"""Columns that a terminal has no room for."""
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
    first = scaling(points)
    shown = (first, components(points), sharing(points), quality(points))
    return Section(
        kind=findings.kind,
        nav="Reconstruction",
        title=QUESTION,
        heading="Distributed reconstruction",
        subject="which component scales",
        ran=f"reconstruction of {plural(len(names), 'image')} {trials_of(points)}",
        answered=tuple(_answered(points, findings, configurations)),
        blocks=(Block(tables=there(*shown)),),
        short=there(first and first.in_short(LEFT_OUT)),
        narrow=4,
        advises=True,
        note="N: ranks, which share the operators and the tiles of one image.",
        figures=("components", "componentefficiency", "componentshares"),
        scales=("linear", "log"),
        published=beside(
            results.beside.get(findings.kind, ()),
            lambda title, rows: published(title, rows, points),
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
        for column in (*GATES.values(), "gate_border")
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
        "deviations": [(name, worst[own]) for name, own in GATES.items() if own in worst],
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


NAMES = labels("components")
"""Every component as sentences, tables, legends and the tips of charts call it."""
MILLI = 1e-3


def images(findings: ReconstructFindings) -> list[Row]:
    """Give a row an entry at one N, with the entry's `name` and its `components` by theirs."""
    points = findings.points.to_dicts()
    components: dict[tuple[str, int], dict[str, Row]] = {}
    for row in findings.scaling.to_dicts():
        components.setdefault((row["stage"], row["workers"]), {})[row["component"]] = row
    titles = {row["stage"]: _title(row) for row in points}
    told = list(titles.values())
    names = {
        stage: title if told.count(title) == 1 else f"{title} ({stage})"
        for stage, title in titles.items()
    }
    return [
        row | {"name": names[stage], "components": components[stage, row["workers"]]}
        for row in points
        for stage in (row["stage"],)
    ]


def timed(points: Sequence[Row]) -> list[Row]:
    """Points of which a trial counts."""
    return [row for row in points if row["wall_s"] is not None]


def problem(name: str | None) -> str:
    """Name a problem in words, with a capital."""
    return titled(labels("problems").get(name or "", name or "reconstruction"))


def _title(row: Row) -> str:
    size = "" if row["size_px"] is None else f", {row['size_px']} px"
    return f"{problem(row['problem'])}{size}"


def milliseconds(value: float | None) -> str:
    """Write a time in milliseconds, the unit of all times of an iteration."""
    return number(None if value is None else value / MILLI)


HEAD = "Reconstruction"
OF = RECONSTRUCTIONS
DEVIATIONS = (
    *("gate_gradient", "gate_interior", "gate_border", "deviation_interior", "deviation_border"),
)
SIGNALS = ("psnr", "psnr_interior", "psnr_border")


def _iteration(row: Row) -> Cell:
    if row["wall_s"] is None:
        return ("out of memory" if row["exhausted"] else "failed" if row["failed"] else ABSENT,)
    return OF.interval_cell(row, "wall_s", milliseconds)


def _component(name: str, column: str, written: Written = ratio) -> Writer:
    return lambda row: COMPONENTS.cell(row["components"][name], column, written)


def _speedup(name: str) -> Writer:
    """Write the speedup of a component; at N0 itself there is none."""

    def write(row: Row) -> Cell:
        if row["workers"] == row["baseline_workers"]:
            return ("baseline",)
        return COMPONENTS.interval_cell(row["components"][name], "speedup", ratio)

    return write


def _named(points: Sequence[Row]) -> list[tuple[str, Row]]:
    return [(row["name"], row) for row in points]


def scaling(points: Sequence[Row]) -> Table | None:
    """Speedup of an iteration, and of what one rank computes too; failed ones with their error."""
    columns = [*OF.columns("workers", "repeats"), OF.column("wall_s", _iteration)]
    for name in (TOTAL, *COMPUTED):
        of = "" if name == TOTAL else f"{titled(NAMES[name])}: "
        columns += [
            COMPONENTS.column("speedup", _speedup(name), head=of and f"{of}speedup"),
            COMPONENTS.column(
                "efficiency", _component(name, "efficiency"), head=of and f"{of}efficiency"
            ),
        ]
        if name in WITH_WORK:
            write = _component(name, "normalised_efficiency")
            columns.append(COMPONENTS.column("normalised_efficiency", write))
    columns += [
        *OF.columns("work_multiplier"),
        words("Doubts", told_doubts, "Flags, explained below"),
    ]
    return laid_out("Strong scaling", _named(points), columns, head=HEAD)


def components(points: Sequence[Row]) -> Table | None:
    """Components of an iteration at every N."""

    def with_share(name: str) -> Writer:
        seconds = _component(name, "mean_seconds", milliseconds)
        share = _component(name, "share", percent)
        return lambda row: (
            found if (found := seconds(row)) == (ABSENT,) else (*found, " (", *share(row), ")")
        )

    columns: Columns = [
        *OF.columns("workers"),
        *(
            numbers(
                f"{titled(NAMES[name])} (ms)",
                with_share(name),
                "Mean of the ranks: median over iterations, and share of the time of all "
                f"iterations; {labels('component_means')[name]}",
            )
            for name in PARTS
        ),
        *OF.columns("rest_share"),
        numbers(
            f"{titled(NAMES[OBJECTIVE])} (ms)",
            _component(OBJECTIVE, "mean_seconds", milliseconds),
            "Computed after iterations, apart",
        ),
    ]
    return laid_out("Components of an iteration", _named(timed(points)), columns, head=HEAD)


def sharing(points: Sequence[Row]) -> Table | None:
    """Balance of the ranks, exchange between them, and memory of each."""
    columns: Columns = [
        *OF.columns("workers"),
        *OF.columns("tiles", "tile_px", "tiles_balance", "balance", "collectives_share"),
        *OF.columns("barrier_share", "memory_peak_bytes", "memory_total_bytes", "setup_s"),
        words("Device", lambda row: row["device_name"] or row["device"]),
        *OF.columns("backend"),
    ]
    return laid_out("Balance, exchange and memory", _named(timed(points)), columns, head=HEAD)


def quality(points: Sequence[Row]) -> Table | None:
    """Whether ranks compute what one does, and how good the image is."""
    columns = OF.columns("workers", "gate", *DEVIATIONS)
    for name in SIGNALS:
        columns += OF.columns(f"{name}_db", f"{name}_drift_db")
    columns.append(words("Weights", lambda row: row["told_weights"], "Of the denoiser"))
    rows = []
    for name, row in _named(timed(points)):
        timing_only = ": timing only" if row["timing_only"] else ""
        told: Row = {"told_weights": f"{row['weights']}{timing_only}"}
        if row["workers"] == row["baseline_workers"]:
            told |= {f"{signal}_drift_db": None for signal in SIGNALS}
        rows.append((name, row | told))
    return laid_out("Agreement and quality", rows, columns, head=HEAD)


def published(title: str, rows: Sequence[Row], points: Sequence[Row]) -> Table | None:
    """Published speedups beside those of the same problem here."""
    columns: Columns = [
        words("Component", lambda row: NAMES[row["component"]]),
        words(
            "Ranks",
            lambda row: f"{row['workers']}, over {row['baseline_workers']}",
            "There, and those of its baseline",
        ),
        words(
            "Published speedup", lambda row: f"{ratio(row['speedup'])} times", "Over its baseline"
        ),
        words("Efficiency", lambda row: percent(row["efficiency"]), "That speedup x N0/N"),
        words(
            "Work-normalised",
            lambda row: percent(row["normalised_efficiency"]),
            "For as many denoised pixels",
        ),
        numbers(
            "Here",
            lambda row: _here(row, points),
            "Speedup of the same problem, size, component and numbers of ranks here",
        ),
    ]
    named = [
        (f"{problem(row['problem'])}, " * bool(row["problem"]) + f"{row['size_px']} px", row)
        for row in rows
    ]
    return laid_out(title, named, columns, head="Published")


def _here(row: Row, points: Sequence[Row]) -> Cell:
    """Give the speedup here; a source without its problem has none."""
    same = ("problem", "size_px", "workers", "baseline_workers")
    for point in timed(points):
        if all(point[name] == row[name] for name in same):
            own = point["components"][row["component"]]
            if own["speedup"] is not None:
                return COMPONENTS.cell(own, "speedup", ratio)
    return (ABSENT,)
