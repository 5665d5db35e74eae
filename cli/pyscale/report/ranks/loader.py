"""Loading patches in words: can storage feed the GPU, and with which settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from pyscale.analysis.flags import flags_of, flags_of_trials
from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.ranks.loader import SETTINGS, LoaderFindings
from pyscale.analysis.ranks.pareto import COMPARABLE, Advised
from pyscale.analysis.trust import trust_in_loading
from pyscale.report import laws, sentences
from pyscale.report.page.values import LOADER, Cell, Row, cell_text
from pyscale.report.ranks import loadertables as tables
from pyscale.report.ranks.ranklabels import failed, named, places, ranks, trials_of
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
from pyscale.wording import few, grouped, listing, number, percent, ratio
from pyscale_stages.loader.params import SHIPPED

QUESTION = "Can storage feed the GPU?"
DATASET = ("pool_size", "patches_per_slide", "patches_per_visit")
"""Settings of a dataset's factory."""
DATALOADER = ("batch_size", "num_workers", "prefetch_factor", "pin_memory")
"""Settings of torch's DataLoader."""
SHORT = {
    "num_workers": "workers",
    "pool_size": "pool",
    "patches_per_slide": "slide",
    "patches_per_visit": "visit",
    "batch_size": "batch",
    "prefetch_factor": "prefetch",
    "pin_memory": "pinned",
    "patch_px": "px",
    "mpp": "mpp",
    "tissue": "tissue",
}
"""Short names of settings; factory and reader are named by their values alone."""
HEADS = {"yes": "Yes", "no": "No", "not sure": "Uncertain"}
NOT_TOLD = "Unknown"
HOW_TO_TELL = (
    "Set `consumes_per_s = …` (patches per second and rank that training takes) or `consumer = "
    "true` (measured with a small model) under `[stages.loader]` in `pyscale.toml`"
)
DELIVERED = {
    "same": "delivered the same patches: places and pixels have one checksum",
    "different": "delivered different patches: their rates are of different work",
    "unknown": "have no checksum in common: whether they delivered the same patches is unknown",
}
"""Sentences on factories with equal settings, by the verdict on their patches."""
MOST_RANKS = 24
"""More rows of ranks are left to the CSV and the page."""


def section(results: Results) -> Section | None:
    """Tell of loading patches; None where none were loaded."""
    findings, configurations = results.of(LoaderFindings), results.configurations
    if findings is None:
        return None
    points, chosen = findings.points.to_dicts(), findings.chosen
    names = names_of(points)
    entries = {row["stage"] for row in points}
    many = "1 configuration" if len(entries) == 1 else f"{len(entries)} configurations"
    # One rank alone has nothing that the tables of configurations have not.
    every_rank = findings.ranks.filter(findings.ranks["workers"] > 1).to_dicts()
    laid_out = tables.of_ranks(named(every_rank, names))
    of_trials = flags_of_trials(configurations, [chosen["stage"]] if chosen else [])
    trusted = trust_in_loading(findings, of_trials)
    rows = named(points, names)
    said = (
        *_for_fewer(findings),
        *failed(points, names),
        *same(points),
        *_same_patches(findings, names),
        *_measured_beside_inferred(points, names),
        *_stragglers(points, names),
    )
    shown = (tables.rates(rows), tables.diversity(rows, findings.keep), tables.waits(rows))
    return Section(
        kind=findings.kind,
        nav="Loading patches",
        title=QUESTION,
        heading="Patch loading",
        subject="whether storage feeds the GPU",
        ran=f"patch loading in {many} {trials_of(points)}",
        answered=(Answered.of(QUESTION, _answers(findings), trusted),),
        blocks=(
            Block(
                said=said,
                tables=there(*shown),
            ),
            Block(folded=there(laid_out), is_on_page_alone=len(every_rank) > MOST_RANKS),
            *laws.of_ranks(findings.laws, names),
        ),
        short=there(tables.short(rows)),
        narrow=3,
        advises=True,
        note="N: ranks, processes that load at once, each with its own loader processes.",
        figures=("loaderpareto",),
        paste=to_paste(chosen) if chosen else (),
        pasted=names[chosen["stage"]] if chosen else "",
        published=beside(
            results.beside.get(findings.kind, ()),
            lambda title, rows: tables.published(title, rows, points, names),
        ),
        doubts=(
            *doubts_of(points, places(names)),
            *sentences.doubts_of_trials(configurations, entries, points),
        ),
    )


def _answers(findings: LoaderFindings) -> Iterator[Answer]:
    yield Answer("Feeds", "feeds", *_feeds(findings))
    if findings.advice is not None:
        yield Answer("Take", "settings", *_settings(findings, findings.advice))
        yield Answer("Gives up", "given-up", *_given_up(findings, findings.advice))


def _for_fewer(findings: LoaderFindings) -> Iterator[str]:
    for one in reversed(findings.advised):
        if one is not findings.advice:
            told = (_settings(findings, one), _given_up(findings, one))
            take, given_up = (cell_text((*head, *rest)) for head, rest in told)
            yield f"Take {take} It gives up {given_up[:1].lower()}{given_up[1:]}"


def _same_patches(findings: LoaderFindings, names: Mapping[str, str]) -> Iterator[str]:
    """Name the factories and readers that delivered the same patches, and those that did not."""
    at_counts = grouped(
        ((listing(names[stage] for stage in group.stages), group.verdict), group.workers)
        for group in findings.same_patches
    )
    for (which, verdict), counts in at_counts.items():
        yield f"{which} {DELIVERED[verdict]} (N = {listing(counts)})."


def _feeds(findings: LoaderFindings) -> tuple[Cell, Cell]:
    row = findings.chosen
    if row is None:
        return (NOT_TOLD,), (": no timed configuration.",)
    rate, *interval = LOADER.interval_cell(row, "patches_per_s")
    in_step = " in step" if row["workers"] > 1 else ""
    delivered: Cell = (
        *(": ", rate, " patches/s", *(interval or [" [no 95 % interval]"])),
        f" measured{in_step} on {ranks(row['workers'])}",
    )
    if row["feeds"] is None:
        return (NOT_TOLD,), (*delivered, f". {HOW_TO_TELL}.")
    told = f" consumed ({row['consumer']})" if row["consumer"] else " consumed"
    if row["feeds"] == "not sure" and row["patches_per_s_low"] is not None:
        told += "; the consumption is inside the interval"
    elif row["feeds"] == "not sure":
        trials = "1 trial gives" if row["repeats"] == 1 else f"{row['repeats']} trials give"
        told += f"; {trials} no interval, {repeats_needed()} are needed"
    # Another configuration at this N may feed where the chosen one does not.
    points = findings.points.to_dicts()
    other: Cell = ()
    able = [one for one in points if one["workers"] == row["workers"] and one["feeds"] == "yes"]
    if able and row["feeds"] != "yes":
        best = max(able, key=lambda one: float(one["patches_per_s"]))
        name, fed = names_of(points)[best["stage"]], LOADER.cell(best, "patches_per_s")
        other = ("; ", name, " would feed it with ", *fed, " patches/s")
    consumed = LOADER.cell(row, "consumed_per_s")
    return (HEADS[row["feeds"]],), (*delivered, " against ", *consumed, told, *other, ".")


def _settings(findings: LoaderFindings, advised: Advised) -> tuple[Cell, Cell]:
    """Name the fastest configuration that keeps the stated share of diversity."""
    rows, row = findings.points.to_dicts(), advised.row
    names = names_of(rows)
    head = ", ".join(settings_of(row, varied_in(rows))) or names[row["stage"]]
    slides = LOADER.cell(row, "effective_slides")
    is_alone, where = _among(rows, row)
    if is_alone:
        return (head,), (f": the only timed one {where} (", *slides, " effective slides).")
    others = few(names[one["stage"]] for one in advised.as_fast)
    as_fast = ""
    if others and row["patches_per_s_low"] is not None:
        as_fast = f"; {others} may be as fast"
    elif others:
        proves = "1 trial does" if row["repeats"] == 1 else f"{row['repeats']} trials do"
        as_fast = f"; {proves} not distinguish it from {others}"
    return (head,), (
        f": the fastest {where} that keeps {percent(findings.keep)} of the diversity (",
        *slides,
        f" effective slides, {percent(advised.keeps)} of the maximum){as_fast}.",
    )


def _given_up(findings: LoaderFindings, advised: Advised) -> tuple[Cell, Cell]:
    rows, fastest = findings.points.to_dicts(), advised.fastest
    if fastest == advised.row:
        is_alone, where = _among(rows, fastest)
        told = "no other was timed" if is_alone else "no measured one is faster"
        return ("No speed",), (f": {told} {where}.",)
    return (percent(advised.given_up),), (
        f" of the speed: {names_of(rows)[fastest['stage']]} delivers ",
        *LOADER.cell(fastest, "patches_per_s"),
        " patches/s with ",
        *LOADER.cell(fastest, "effective_slides"),
        " effective slides.",
    )


def _among(rows: Sequence[Row], row: Row) -> tuple[bool, str]:
    """Say whether no other was timed that can be compared with one, and among which it is."""
    timed = [one for one in rows if one["patches_per_s"] is not None]
    is_alone = sum(all(one[name] == row[name] for name in COMPARABLE) for one in timed) == 1
    sizes = {"patch_px", "mpp"} & set(varied_in(rows))
    return is_alone, f"on {ranks(row['workers'])}{' with patches of its size' if sizes else ''}"


def to_paste(row: Row) -> tuple[tuple[str, str], ...]:
    """Lines that make the dataset and its DataLoader with the settings of a configuration."""
    factory = row["factory"]
    make = "make_dataset" if factory == SHIPPED else str(factory).rpartition(":")[2]
    whose = f"the factory {factory}" if factory == SHIPPED else factory
    # torch refuses prefetch_factor where there is no loader process.
    known = [name for name in DATALOADER if row["num_workers"] or name != "prefetch_factor"]
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
    called = [f"{SHORT[name]} is {name}" for name in varied if name in SHORT]
    if called:
        yield f"In names of configurations, {listing(called)}."


def _measured_beside_inferred(points: Sequence[Row], names: Mapping[str, str]) -> Iterator[str]:
    """State the measured rate over the inferred one, which others publish."""
    over = "effective_over_inferred"
    several = sorted((row for row in points if row[over] is not None), key=itemgetter(over))
    if not several:
        return
    least, low, high = several[0], *(several[0][f"{over}_{end}"] for end in ("low", "high"))
    sure = "" if None in (low, high) else f" (95 % interval {ratio(low)} to {ratio(high)})"
    reach = f", the least, {ratio(several[-1][over])} at the most" if len(several) > 1 else ""
    yield (
        "Measured rate in step over the rate inferred from the slowest rank by itself, as others "
        f"publish it: {ratio(least[over])}{sure} with "
        f"{names[least['stage']]} at N = {least['workers']}{reach}. Below 1, ranks wait for each "
        "other; above 1, waiting ranks may leave cores or storage to the slowest."
    )


def _stragglers(points: Sequence[Row], names: Mapping[str, str]) -> Iterator[str]:
    for name, row in named(points, names):
        if "straggler" in flags_of(row):
            yield (
                f"{name} at N = {row['workers']}: rank {row['slowest_rank']} is slowest with "
                f"{number(row['slowest_per_s'])} patches/s, {percent(row['straggling'])} below "
                "the middle one."
            )


def names_of(points: Iterable[Row]) -> dict[str, str]:
    """Name every entry by the settings in which the entries differ."""
    rows = {row["stage"]: row for row in points}
    varied = varied_in(list(rows.values()))
    found = {stage: ", ".join(short(row, varied)) for stage, row in rows.items()}
    told = list(found.values())
    return {
        stage: name if name and told.count(name) == 1 else " ".join(filter(None, (stage, name)))
        for stage, name in found.items()
    }


def varied_in(points: Sequence[Row]) -> list[str]:
    """Settings in which configurations differ."""
    return [name for name in SETTINGS if len({str(row[name]) for row in points}) > 1]


def short(row: Mapping[str, Any], names: Iterable[str]) -> list[str]:
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
