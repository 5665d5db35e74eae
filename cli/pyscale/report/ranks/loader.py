"""Loading patches: can storage feed the GPU, and with which settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pyscale.analysis.aggregate import folded
from pyscale.analysis.flags import flags_of, flags_of_trials
from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.ranks.loader import SETTINGS, LoaderFindings
from pyscale.analysis.trust import Basis, Trusted, judged
from pyscale.report import sentences
from pyscale.report.answered import answers
from pyscale.report.dictionary import WAYS, labels
from pyscale.report.page.values import (
    LOADER,
    LOADER_RANKS,
    Cell,
    Columns,
    Row,
    Table,
    laid_out,
    numbers,
    words,
    yes_no,
)
from pyscale.report.results import Results
from pyscale.report.section import Answer, Answered, Block, Section, beside, doubts_of, there
from pyscale.report.sentences import failed, named, places, told_doubts, trials_of
from pyscale.wording import ABSENT, few, grouped, listing, number, percent
from pyscale_stages.loader.stage import SHIPPED
from pyscale_stages.loading import Loading
from pyscale_stages.wording import plural

QUESTION = "Can storage feed the GPU?"
DATASET = ("pool_size", "patches_per_slide", "patches_per_visit")
"""Settings of a dataset's factory."""
OF_PROCESSES = ("prefetch_factor", "persistent_workers")
"""What torch refuses where there is no loader process."""
DATALOADER = ("batch_size", "num_workers", *OF_PROCESSES, "pin_memory")
"""Settings of torch's DataLoader."""
SHORT = labels("settings")
"""Short names of settings; factory and reader are named by their values alone."""
DELIVERED = {
    "same": "delivered the same patches: places and pixels have one checksum",
    "different": "delivered different patches: their rates are of different work",
    "unknown": "have no checksum in common: whether they delivered the same patches is unknown",
}
"""Sentences on factories with equal settings, by the verdict on their patches."""
LEFT_OUT = {
    "Trials",
    "Aggregate",
    "Slowest rank",
    "Behind",
    "Page cache",
    "Doubts",
    "Distance (px)",
}
"""Columns that a terminal has no room for."""
MOST_RANKS = 24
"""More rows of ranks are left to the CSV and the page."""


def section(results: Results) -> Section | None:
    """Tell of loading patches; None where none were loaded."""
    findings, configurations = results.of(LoaderFindings), results.configurations
    if findings is None:
        return None
    points, chosen = findings.points.to_dicts(), findings.chosen
    names = names_of(points)
    # One rank alone has nothing that the tables of configurations have not.
    every_rank = named(findings.ranks.filter(findings.ranks["workers"] > 1).to_dicts(), names)
    of_trials = flags_of_trials(configurations, [chosen["stage"]] if chosen else [])
    rows = named(points, names)
    first_table = rates(rows)
    first, fewer = _answers(findings, points, names)
    return Section(
        kind=findings.kind,
        nav="Loading patches",
        title=QUESTION,
        heading="Patch loading",
        subject="whether storage feeds the GPU",
        ran=f"patch loading in {plural(len(names), 'configuration')} {trials_of(points)}",
        answered=(Answered.of(QUESTION, first, trust_in(findings, of_trials)),),
        blocks=(
            Block(
                said=(*fewer, *same(points), *_same_patches(findings, names)),
                tables=there(first_table, diversity(rows, findings.keep), waits(rows)),
            ),
            Block(
                folded=there(of_ranks(every_rank)),
                is_on_page_alone=len(every_rank) > MOST_RANKS,
            ),
        ),
        short=there(first_table and first_table.in_short(LEFT_OUT)),
        narrow=3,
        advises=True,
        note="N: ranks, processes that load at once, each with its own loader processes.",
        figures=("loaderpareto",),
        paste=to_paste(chosen) if chosen else (),
        pasted=names[chosen["stage"]] if chosen else "",
        published=beside(
            results.beside.get(findings.kind, ()),
            lambda title, rows: published(title, rows, points, names),
        ),
        doubts=(
            *failed(points, names),
            *doubts_of(points, places(names)),
            *sentences.doubts_of_trials(configurations, list(names), points),
        ),
    )


def trust_in(findings: LoaderFindings, of_trials: Sequence[str] = ()) -> Trusted:
    """Judge the configuration that is advised."""
    row, points = findings.chosen, findings.points
    if row is None:
        return judged((), compared=None, none_timed="no timed configuration")
    failed = points.filter(points["patches_per_s"].is_null())["stage"].n_unique()
    return judged(
        [Basis("", flags_of(row), row["repeats"])],
        of_trials=of_trials,
        # All trials have one seed, and so the same patches.
        compared=row["checksum"] is not None and row["repeats"] > 1,
        none_timed="no timed configuration",
        reasons=[f"{plural(failed, 'configuration')} failed"] if failed else [],
        in_favour=["cold cache verified"] if row["cache_state"] == "verified-cold" else [],
        of_rates=True,
    )


def _answers(
    findings: LoaderFindings, points: Sequence[Row], names: Mapping[str, str]
) -> tuple[tuple[Answer, ...], list[str]]:
    """Answer for the most ranks, and advise in a sentence for fewer."""
    row, first, varied = findings.chosen, findings.advice, varied_in(points)
    advised = [one for one in findings.advised[::-1] if one is not first]
    advised = [first, *advised] if first else advised
    # Another configuration at this N may feed where the chosen one does not.
    at_n = (one for one in points if row and one["workers"] == row["workers"])
    able = [one for one in at_n if one["feeds"] == "yes"]
    found = answers(
        "loader",
        row=row,
        names=names,
        advised=advised,
        keep=findings.keep,
        able=max(able, key=lambda one: float(one["patches_per_s"]), default=None),
        settings=[", ".join(settings_of(one.row, varied)) for one in advised],
        others=[few(names[other["stage"]] for other in one.as_fast) for one in advised],
        varies_size=bool({"patch_px", "mpp"} & set(varied)),
        needed=repeats_needed(),
    )
    fewer = zip(found[3::2], found[4::2], strict=True)
    return found[:3], [f"{take.text} {given_up.text}" for take, given_up in fewer]


def _same_patches(findings: LoaderFindings, names: Mapping[str, str]) -> Iterator[str]:
    """Name the factories and readers that delivered the same patches, and those that did not."""
    at_counts = grouped(
        ((listing(names[stage] for stage in group.stages), group.verdict), group.workers)
        for group in findings.same_patches
    )
    for (which, verdict), counts in at_counts.items():
        yield f"{which} {DELIVERED[verdict]} (N = {listing(counts)})."


def to_paste(row: Row) -> tuple[tuple[str, str], ...]:
    """Lines that make the dataset and its DataLoader with the settings of a configuration."""
    factory = row["factory"]
    make = "make_dataset" if factory == SHIPPED else str(factory).rpartition(":")[2]
    whose = f"the factory {factory}" if factory == SHIPPED else factory
    known = [name for name in DATALOADER if row["num_workers"] or name not in OF_PROCESSES]
    data = ", ".join(settings_of(row, DATASET))
    return (
        (f"Dataset of each rank, by {whose}", f"dataset = {make}(slide_paths, {data})"),
        ("Loader of each rank", f"DataLoader(dataset, {', '.join(settings_of(row, known))})"),
    )


def same(points: Sequence[Row]) -> Iterator[str]:
    """Name the settings that no configuration varies, and the short names of the others."""
    varied = varied_in(points)
    if told := settings_of(points[0], [name for name in SETTINGS if name not in varied]):
        yield f"The same in all configurations: {', '.join(told)}."
    if threads := listing(dict.fromkeys(filter(None, (row["threads"] for row in points)))):
        yield f"Threads of each process: {threads}."
    called = [f"{SHORT[name]} is {name}" for name in varied if name in SHORT]
    if called:
        yield f"In names of configurations, {listing(called)}."


def names_of(points: Iterable[Row]) -> dict[str, str]:
    """Name every entry by the settings in which the entries differ."""
    rows = {row["stage"]: row for row in points}
    varied = varied_in(list(rows.values()))
    found = {stage: ", ".join(in_short(row, varied)) for stage, row in rows.items()}
    told = list(found.values())
    return {
        stage: name if name and told.count(name) == 1 else " ".join(filter(None, (stage, name)))
        for stage, name in found.items()
    }


def varied_in(points: Sequence[Row]) -> list[str]:
    """Settings in which configurations differ."""
    return [name for name in SETTINGS if len({str(row[name]) for row in points}) > 1]


def in_short(row: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Write settings in few letters; what is not known is left out."""
    told = []
    for name in names:
        value = row[name]
        if isinstance(value, bool):
            value = "yes" if value else "no"
        elif isinstance(value, float):
            value = f"{value:g}"
        if value is not None:
            told.append(f"{SHORT[name]} {value}" if name in SHORT else str(row[name]))
    return told


def settings_of(row: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Write settings as `name=value`; what is not known is left out."""
    return [f"{name}={row[name]}" for name in names if row[name] is not None]


HEAD = "Configuration"
Rows = Sequence[tuple[str, Row]]
"""Rows of configurations, each with its name."""


def _rate(row: Row) -> Cell:
    if row["patches_per_s"] is None and row["failed"]:
        return ("failed",)
    return LOADER.interval_cell(row, "patches_per_s")


def rates(rows: Rows) -> Table | None:
    """Rate of each configuration; failed ones with their error."""
    columns: Columns = [
        *LOADER.columns("workers", "repeats"),
        LOADER.column("patches_per_s", _rate),
        *LOADER.columns("inferred_per_s", "effective_over_inferred", "aggregate_per_s"),
        *LOADER.columns("slowest_per_s", "straggling"),
        LOADER.column("feeds", _fed),
        *LOADER.columns("cache_state"),
        words("Doubts", told_doubts, "Flags, explained below"),
    ]
    return laid_out("Patches a second", rows, columns, head=HEAD)


def waits(rows: Rows) -> Table | None:
    """Waits for a batch, memory, storage and cores of loading, as its record declares."""
    shown = {column: each for column, each in folded(Loading).items() if each.shown}
    columns = LOADER.columns("workers") + [
        numbers(each.shown, LOADER.plain(column, WAYS[_unit(each.shown)]), each.means)
        for column, each in shown.items()
    ]
    return laid_out("Waiting, memory and storage", _timed(rows), columns, head=HEAD)


def diversity(rows: Rows, keep: float) -> Table | None:
    """Diversity of the patches of each configuration, beside its rate."""
    known = [(name, row) for name, row in _timed(rows) if row["effective_slides"] is not None]
    columns = [
        *LOADER.columns("workers", "patches_per_s"),
        *LOADER.columns("effective_slides", "slides_per_batch", "distance_px", "diversity_patches"),
        words(
            f"Keeps {percent(keep)}",
            lambda row: yes_no(row["keeps_diversity"]),
            "Of the most effective slides that any configuration has at this N",
        ),
        *LOADER.columns("on_front"),
    ]
    return laid_out("Diversity beside speed", known, columns, head=HEAD)


def of_ranks(rows: Rows) -> Table | None:
    """Rate of each rank by itself."""
    columns = LOADER_RANKS.columns(
        *("workers", "rank", "node", "slides", "patches_per_s"),
        *("wait_p50_s", "wait_p95_s", "wait_p99_s", "pss_bytes"),
    )
    return laid_out("Rank by rank", rows, columns, head=HEAD)


def published(
    title: str, rows: Sequence[Row], points: Sequence[Row], names: Mapping[str, str]
) -> Table | None:
    """Published rates beside those of the same settings here."""
    own = {(row["stage"], row["workers"]): row for row in points}
    columns: Columns = [
        numbers("N", LOADER.plain("workers", str), "Ranks, there and here"),
        numbers("Measured here (patches/s)", LOADER.plain("patches_per_s"), "In step"),
        numbers(
            "Inferred here",
            LOADER.plain("inferred_per_s"),
            "N times the slowest rank, as published",
        ),
        words(
            "Published",
            lambda row: f"{number(row['effective_patches_per_s'])} patches/s",
            "N times the slowest rank",
        ),
        words(
            "Published sum",
            lambda row: f"{number(row['aggregate_patches_per_s'])} patches/s",
            "Of all ranks, each by itself",
        ),
    ]
    both = [(names[row["stage"]], row | own[row["stage"], row["workers"]]) for row in rows]
    return laid_out(title, both, columns, head=HEAD)


def _fed(row: Row) -> Cell:
    if row["feeds"] is None:
        return (ABSENT,)
    return (f"{row['feeds']}, takes ", *LOADER.cell(row, "consumed_per_s"))


def _unit(head: str) -> str:
    """Unit in the brackets of a head, without what it is for each of."""
    return re.split(r"[(/)]", head)[1]


def _timed(rows: Rows) -> Rows:
    """Configurations that delivered anything: the others stand in the first table."""
    return [(name, row) for name, row in rows if row["patches_per_s"] is not None]
