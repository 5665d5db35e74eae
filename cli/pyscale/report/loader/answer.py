"""Answers on loading, tied to the CSV: whether storage feeds the GPU, and the best settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.loader.advice import COMPARABLE
from pyscale.report.loader.words import DATALOADER, DATASET, names_of, settings_of, varied_in
from pyscale.report.machine.told import named
from pyscale.report.ofranks import Row, ranks
from pyscale.report.page.values import LOADER, Cell, cell_text
from pyscale.report.wording import percent
from pyscale_stages.loader.params import SHIPPED

if TYPE_CHECKING:
    from pyscale.analysis.loader.advice import LoaderAdvice
    from pyscale.analysis.loader.findings import LoaderFindings

HEADS = {"yes": "Yes", "no": "No", "not sure": "Uncertain"}
NOT_TOLD = "Unknown"
NOT_TIMED = f"{NOT_TOLD}: no timed configuration."
_EFFECTIVE = " effective slides"
HOW_TO_TELL = (
    "Set `consumes_per_s = …` (patches per second and rank that training takes) or `consumer = "
    "true` (measured with a small model) under `[stages.loader]` in `pyscale.toml`"
)


@dataclass(frozen=True)
class Said:
    """One answer: its head, and the rest of the sentence."""

    head: Cell
    rest: Cell

    @property
    def text(self) -> str:
        """The whole of it as one sentence."""
        return cell_text((*self.head, *self.rest))


def feeds(findings: LoaderFindings) -> Said | None:
    """State whether storage feeds training; None where nothing was timed."""
    row = findings.chosen
    if row is None:
        return None
    if row["feeds"] is None:
        return Said((NOT_TOLD,), (": ", *_delivered(row), f". {HOW_TO_TELL}."))
    consumer = f" ({row['consumer']})" if row["consumer"] else ""
    consumed = LOADER.cell(row, "consumed_per_s")
    return Said(
        (HEADS[row["feeds"]],),
        (
            *(": ", *_delivered(row), " against ", *consumed, f" consumed{consumer}"),
            *_why_not_sure(row),
            *_other(findings, row),
            ".",
        ),
    )


def settings(findings: LoaderFindings, advice: LoaderAdvice) -> Said:
    """Name the fastest configuration that keeps the stated share of diversity."""
    rows = findings.points.to_dicts()
    names = names_of(rows)
    row = _row(rows, advice.stage, advice.workers)
    head = (", ".join(settings_of(row, varied_in(rows))) or names[advice.stage],)
    slides = LOADER.cell(row, "effective_slides")
    if _is_alone(rows, row):
        only = f": the only timed one {_where(rows, row)} ("
        return Said(head, (only, *slides, _EFFECTIVE, ")."))
    return Said(
        head,
        (
            f": the fastest {_where(rows, row)} that keeps {percent(findings.keep)} of the "
            "diversity (",
            *slides,
            f"{_EFFECTIVE}, {percent(advice.keeps)} of the maximum)"
            f"{_as_fast([names[stage] for stage in advice.as_fast], row)}.",
        ),
    )


def given_up(findings: LoaderFindings, advice: LoaderAdvice) -> Said:
    """State the speed that keeping the diversity costs."""
    rows = findings.points.to_dicts()
    if advice.fastest_stage == advice.stage:
        row = _row(rows, advice.stage, advice.workers)
        told = "no other was timed" if _is_alone(rows, row) else "no measured one is faster"
        return Said(("No speed",), (f": {told} {_where(rows, row)}.",))
    fastest = _row(rows, advice.fastest_stage, advice.workers)
    return Said(
        (percent(advice.given_up),),
        (
            f" of the speed: {names_of(rows)[advice.fastest_stage]} delivers ",
            *LOADER.cell(fastest, "patches_per_s"),
            " patches/s with ",
            *LOADER.cell(fastest, "effective_slides"),
            " effective slides.",
        ),
    )


def to_paste(row: Row) -> list[tuple[str, str]]:
    """Lines that make the dataset and its DataLoader with the settings of a configuration."""
    factory = row["factory"]
    make = "make_dataset" if factory in SHIPPED else str(factory).rpartition(":")[2]
    whose = f"the factory {factory}" if factory in SHIPPED else factory
    # torch refuses prefetch_factor where there is no loader process.
    known = [name for name in DATALOADER if row["num_workers"] or name != "prefetch_factor"]
    data = ", ".join(settings_of(row, DATASET))
    return [
        (f"Dataset of each rank, by {whose}", f"dataset = {make}(slide_paths, {data})"),
        ("Loader of each rank", f"DataLoader(dataset, {', '.join(settings_of(row, known))})"),
    ]


def _delivered(row: Row) -> Cell:
    rate, *interval = LOADER.interval_cell(row, "patches_per_s")
    in_step = " in step" if row["workers"] > 1 else ""
    return (
        *(rate, " patches/s", *(interval or [" [no 95 % interval]"])),
        f" measured{in_step} on {ranks(row['workers'])}",
    )


def _why_not_sure(row: Row) -> Cell:
    if row["feeds"] != "not sure":
        return ("",)
    if row["patches_per_s_low"] is None:
        gives = "1 trial gives" if row["repeats"] == 1 else f"{row['repeats']} trials give"
        return (f"; {gives} no interval, {repeats_needed()} are needed",)
    return ("; the consumption is inside the interval",)


def _other(findings: LoaderFindings, row: Row) -> Cell:
    """Name a configuration at this N that feeds where the chosen one does not."""
    rows = findings.points.to_dicts()
    able = [one for one in rows if one["workers"] == row["workers"] and one["feeds"] == "yes"]
    if row["feeds"] == "yes" or not able:
        return ("",)
    best = max(able, key=lambda one: float(one["patches_per_s"]))
    rate = LOADER.cell(best, "patches_per_s")
    return ("; ", names_of(rows)[best["stage"]], " would feed it with ", *rate, " patches/s")


def _peers(rows: Sequence[Row], row: Row) -> list[Row]:
    """Configurations that were timed on as many ranks, with patches of the same size."""
    timed = [one for one in rows if one["patches_per_s"] is not None]
    return [one for one in timed if all(one[name] == row[name] for name in COMPARABLE)]


def _is_alone(rows: Sequence[Row], row: Row) -> bool:
    return len(_peers(rows, row)) == 1


def _where(rows: Sequence[Row], row: Row) -> str:
    """Name the configurations among which one is the fastest."""
    sizes = {"patch_px", "mpp"} & set(varied_in(rows))
    return f"on {ranks(row['workers'])}{' with patches of its size' if sizes else ''}"


def _as_fast(others: Sequence[str], row: Row) -> str:
    if not others:
        return ""
    if row["patches_per_s_low"] is not None:
        return f"; {named(others)} may be as fast"
    proves = "1 trial does" if row["repeats"] == 1 else f"{row['repeats']} trials do"
    return f"; {proves} not distinguish it from {named(others)}"


def _row(rows: Sequence[Row], stage: str, workers: int) -> Row:
    return next(row for row in rows if (row["stage"], row["workers"]) == (stage, workers))
