"""The plot of loading patches: diversity against patches a second, and what is on the front."""

from __future__ import annotations

from pyscale.analysis.flags import flags_of
from pyscale.analysis.ranks.loader import LoaderFindings
from pyscale.report.plots.plot import (
    OF_MEDIANS,
    Along,
    Plot,
    Value,
    each,
    ends_of,
    said,
    sure,
    told_by,
)
from pyscale.report.ranks.loader import names_of, short, varied_in
from pyscale.report.results import Results
from pyscale.wording import number, percent

LABELLED = ("pool_size", "patches_per_slide", "patches_per_visit", "batch_size")
"""Settings that a mark is labelled by, where they differ: there is no room for all."""


def pareto(results: Results) -> Plot:
    """Every configuration of a loader by its diversity and by what it delivers."""
    loader = results.of(LoaderFindings)
    every = loader.points.to_dicts() if loader else []
    names, varied = names_of(every), varied_in(every)
    labelled = [name for name in LABELLED if name in varied]
    sizes = [name for name in ("patch_px", "mpp") if name in varied]
    keep = percent(loader.keep) if loader else ""
    rows = [
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
            "kept": f"{_yes(row['keeps_diversity'])}, of {keep}",
            "doubts": ", ".join(flags_of(row)) or "none",
        }
        for row in every
        if row["on_front"] is not None
    ]
    meaning = bool(labelled) and f"Numbers beside the front: {'/'.join(labelled)}."
    # Several panels of the page are too narrow for labels.
    is_labelled = len(each(rows, "curve")) == 1
    return Plot(
        id="loaderpareto",
        title="Diversity against speed",
        dataset="loader_points",
        rows=rows,
        along=Along("effective_slides", "Effective slides of all ranks", "linear"),
        value=Value("rate", "Patches/s, all ranks in step", scale="linear"),
        series="line",
        # By the number of loader processes.
        known=sorted(each(rows, "line"), key=lambda line: (int(line.split()[0]), line)),
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
        sentences=said(
            "Marks: medians over trials of the rate that all ranks reach in step. Stepped line: "
            "the front, beside which nothing that was measured is both faster and more diverse.",
            "Effective slides: as many of equal share would make 1,000 patches of a rank as "
            "diverse.",
            OF_MEDIANS,
            any(row["consumed"] is not None for row in rows)
            and "Dashed: what training takes, of all ranks.",
            is_labelled and meaning,
        ),
        printed=[*said(not is_labelled and meaning), *results.context.timed],
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


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def _processes(count: int) -> str:
    return f"{count} loader process{'es' * (count != 1)}"
