"""The plot of loading patches: diversity against patches a second, and what is on the front."""

from __future__ import annotations

from pyscale.analysis.flags import flags_of
from pyscale.analysis.ranks.loader import LoaderFindings
from pyscale.report.plots.plot import (
    NO_BARS,
    Along,
    Plot,
    Row,
    Value,
    ends_of,
    sure,
    told_by,
)
from pyscale.report.ranks.loader import names_of, short, varied_in
from pyscale.report.results import Results
from pyscale.report.wording import number, percent

LABELLED = ("pool_size", "patches_per_slide", "patches_per_visit", "batch_size")
"""Settings that a mark is labelled by, where they differ: there is no room for all."""


def pareto(results: Results) -> Plot:
    """Every configuration of a loader by its diversity and by what it delivers."""
    rows = _rows(results)
    meaning = [told for told in [_labels_mean(results)] if told]
    # Several panels of the page are too narrow for labels.
    is_labelled = len({row["curve"] for row in rows}) == 1
    has_level = any(row["consumed"] is not None for row in rows)
    return Plot(
        id="loaderpareto",
        title="Diversity against speed",
        dataset="loader_points",
        rows=rows,
        along=Along(
            column="effective_slides", title="Effective slides of all ranks", kind="linear"
        ),
        value=Value(column="rate", title="Patches/s, all ranks in step", scale="linear"),
        series="line",
        known=_lines(rows),
        seen={
            "configuration": "Configuration",
            "line": "By",
            "curve": "Ranks",
            "rated": "Measured",
            "sure": "95 % interval",
            "diverse": "Diversity",
            "on_front": "On the front",
            "kept": "Keeps the diversity",
            "doubts": "Doubts",
        },
        sentences=[
            "Marks: medians over trials of the rate that all ranks reach in step. Stepped line: "
            "the front, beside which nothing that was measured is both faster and more diverse.",
            "Effective slides: as many of equal share would make 1,000 patches of a rank as "
            "diverse.",
            f"Bars: 95 % intervals of the median by order statistics; {NO_BARS}",
            *(["Dashed: what training takes, of all ranks."] if has_level else []),
            *(meaning if is_labelled else []),
        ],
        printed=[*([] if is_labelled else meaning), *results.context.timed],
        told=told_by(
            [row for row in rows if row["front"]],
            "curve",
            lambda row: (
                f"on the front {row['configuration']} with {row['rated']} and {row['diverse']}"
            ),
        ),
        absent="diversity against speed: it needs a run of the stage loader whose patches say "
        "from which slide they are",
        level="consumed",
        front="front",
    )


def _rows(results: Results) -> list[Row]:
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
            **ends_of("rate", row, "patches_per_s"),
            "consumed": row["consumed_per_s"],
            "front": row["on_front"],
            "rated": f"{number(row['patches_per_s'])} patches/s",
            "sure": sure(row, "patches_per_s", number, "patches/s"),
            "diverse": f"{number(row['effective_slides'])} effective slides",
            "on_front": _yes(row["on_front"]),
            "kept": f"{_yes(row['keeps_diversity'])}, of {percent(loader.keep)}",
            "doubts": ", ".join(flags_of(row)) or "none",
        }
        for row in every
        if row["on_front"] is not None
    ]


def _labels_mean(results: Results) -> str:
    """Say what the numbers beside marks are; empty where nothing of it differs."""
    loader = results.of(LoaderFindings)
    if loader is None:
        return ""
    varied = varied_in(loader.points.to_dicts())
    labelled = [name for name in LABELLED if name in varied]
    return f"Numbers beside the front: {'/'.join(labelled)}." if labelled else ""


def _lines(rows: list[Row]) -> list[str]:
    """Numbers of loader processes, in order; each is told by a colour and a mark."""
    return sorted({row["line"] for row in rows}, key=lambda line: (int(line.split()[0]), line))


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def _processes(count: int) -> str:
    return f"{count} loader process{'es' * (count != 1)}"
