"""Rows of what loading patches trades: diversity against patches a second."""

from __future__ import annotations

from typing import Any

from pyscale.analysis.flags import flags_of
from pyscale.analysis.ranks.loader import LoaderFindings
from pyscale.report.ranks.loader import names_of, short, varied_in
from pyscale.report.results import Results
from pyscale.report.wording import number, percent

Row = dict[str, Any]
LABELLED = ("pool_size", "patches_per_slide", "patches_per_visit", "batch_size")
"""Settings that a mark is labelled by, where they differ: there is no room for all."""
ENDS = ("", "_low", "_high")


def pareto_rows(results: Results) -> list[Row]:
    """Every configuration whose rate and diversity are known, in the order of the table."""
    loader = results.of(LoaderFindings)
    if loader is None:
        return []
    every = loader.points.to_dicts()
    names = names_of(every)
    varied = varied_in(every)
    labelled = [name for name in LABELLED if name in varied]
    sizes = [name for name in ("patch_px", "mpp") if name in varied]
    return [
        {
            "curve": ", ".join((f"N = {row['workers']}", *short(row, sizes))),
            "configuration": names[row["stage"]],
            "line": _processes(row["num_workers"])
            + (f", {row['factory'].rpartition(':')[2]}" if "factory" in varied else ""),
            "label": "/".join(str(row[name]) for name in labelled),
            "effective_slides": row["effective_slides"],
            **{f"rate{end}": row[f"patches_per_s{end}"] for end in ENDS},
            "consumed": row["consumed_per_s"],
            "front": row["on_front"],
            "rated": f"{number(row['patches_per_s'])} patches/s",
            "sure": _sure(row),
            "diverse": f"{number(row['effective_slides'])} effective slides",
            "on_front": _yes(row["on_front"]),
            "kept": f"{_yes(row['keeps_diversity'])}, of {percent(loader.keep)}",
            "doubts": ", ".join(flags_of(row)) or "none",
        }
        for row in every
        if row["on_front"] is not None
    ]


def labels_mean(results: Results) -> str:
    """Say what the numbers beside marks are; empty where nothing of it differs."""
    loader = results.of(LoaderFindings)
    if loader is None:
        return ""
    varied = varied_in(loader.points.to_dicts())
    labelled = [name for name in LABELLED if name in varied]
    return f"Numbers beside the front: {'/'.join(labelled)}." if labelled else ""


def lines_of(rows: list[Row]) -> list[str]:
    """Numbers of loader processes, in order; each is told by a colour and a mark."""
    return sorted({row["line"] for row in rows}, key=lambda line: (int(line.split()[0]), line))


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def _processes(count: int) -> str:
    return f"{count} loader process{'es' * (count != 1)}"


def _sure(row: Row) -> str:
    if row["patches_per_s_low"] is None:
        return "none"
    low, high = (number(row[f"patches_per_s_{end}"]) for end in ("low", "high"))
    return f"{low} to {high} patches/s"
