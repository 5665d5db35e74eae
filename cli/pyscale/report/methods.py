"""A Methods paragraph to paste, with the BibTeX of what it cites."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from pyscale.analysis.intervals import repeats_needed
from pyscale.report.context import ReportContext, Work
from pyscale.report.dictionary import CITED_STATES
from pyscale.report.results import Results
from pyscale.resources import shipped
from pyscale.wording import ABSENT, grouped, listing
from pyscale_stages.atomic import write_atomically
from pyscale_stages.wording import plural

MOST_NAMED = 4
"""More stages are counted."""
TEXT, BIBLIOGRAPHY = "methods.md", "methods.bib"
MEASURES = {
    ("ctc_det", "ctc_tra", "ctc_lnk"): ("matula2015", "maska2023"),
    ("ctc_seg",): ("maska2023",),
}
"""Measures of the Cell Tracking Challenge, and what to cite for them."""


def write_methods(folder: Path, results: Results) -> list[Path]:
    """Write the paragraph and its bibliography; neither for a table measured elsewhere."""
    if results.context.run_id is None or not sum(results.configurations["repeats"]):
        for name in (TEXT, BIBLIOGRAPHY):
            (folder / name).unlink(missing_ok=True)
        return []
    text = paragraph(results)
    write_atomically(folder / TEXT, f"{text}\n")
    write_atomically(folder / BIBLIOGRAPHY, bibliography(text, results.context))
    return [folder / TEXT, folder / BIBLIOGRAPHY]


def paragraph(results: Results) -> str:
    """State what was measured, on what and how, with citations as `[@key]`."""
    context = results.context
    # What has no timed trial was not measured.
    table = results.configurations.filter(pl.col("repeats") > 0)
    needed = repeats_needed()
    intervals = ", with 95 % intervals between order statistics"
    if max(table["repeats"]) < needed:
        intervals = f", without intervals (fewer than {needed} trials)"
    times = f"Times are medians over trials{intervals}"
    if max(table["repeats"]) == 1:
        times = "Times are those of one trial, without intervals"
    return " ".join(
        [
            f"Wall times were measured with pyscale {context.settings['pyscale']} [@pyscale] on "
            f"{listing(map(_node, context.hardware)) or 'hardware that was not recorded'}. "
            f"{_started(context)}",
            *_data(context),
            f"{_design(table)}, in {context.settings['order of trials']}{_cache(table)}.",
            *_algorithms(context.works),
            *_measures(table),
            *context.stand_ins,
            f"{times}; speedup is relative to the smallest N of each stage.",
        ]
    )


def _node(node: Mapping[str, str]) -> str:
    return (
        f"{node.get('processor', 'an unknown processor')} "
        f"({plural(node.get('cores', '?'), 'core')}, {node.get('memory', 'unknown')} of memory, "
        f"{node.get('GPUs', 'none').replace('none', 'no GPU')}, {node.get('kernel', 'Linux')})"
    )


def _design(table: pl.DataFrame) -> str:
    """State the N and the number of timed trials of each stage; equal ones together."""
    counts = {
        stage: tuple(sorted(set(own["workers"])))
        for (stage,), own in table.group_by("stage", maintain_order=True)
    }
    groups = grouped((of_each, stage) for stage, of_each in counts.items())
    named = listing(
        f"{_stages(names, len(counts))} at N = {listing(of_each)}"
        for of_each, names in groups.items()
    )
    least, most = min(table["repeats"]), max(table["repeats"])
    trials = plural(most, "trial") if least == most else f"{least} to {most} trials"
    return f"N workers at once were timed: {named}, in {trials} at each N"


def _stages(names: Sequence[object], of: int) -> str:
    if len(names) == of:
        return "each stage"
    return listing(names) if len(names) <= MOST_NAMED else f"{len(names)} of {of} stages"


def _cache(table: pl.DataFrame) -> str:
    # Trials of one configuration that found several states have them joined.
    states = "+".join(table["cache_state"].drop_nulls())
    known = sorted({CITED_STATES.get(one, one) for one in states.split("+") if one})
    return f"; page cache before each trial: {listing(known)}" if known else ""


def bibliography(text: str, context: ReportContext) -> str:
    """Entries of what a text cites, in its order."""
    known = entries((shipped("config") / "citations.bib").read_text())
    known["pyscale"] = (
        "@misc{pyscale,\n  author = {{The pyscale developers}},\n  title = {pyscale},\n"
        f"  version = {{{context.settings['pyscale']}}},\n}}"
    )
    for work in context.works.values():
        if work.source:
            known[work.data] = (
                f"@misc{{{work.data},\n  title = {{Dataset {work.data}}},\n"
                f"  note = {{{work.source}}},\n}}"
            )
    return "\n\n".join(known[key] for key in cited(text)) + "\n"


def entries(bibtex: str) -> dict[str, str]:
    """Entries of BibTeX by their keys; each ends with a brace at the start of a line."""
    found = re.findall(r"^(@\w+\{([^,]+),\n.*?^\})", bibtex, re.MULTILINE | re.DOTALL)
    return {key: entry for entry, key in found}


def cited(text: str) -> list[str]:
    """Keys that a text cites, each once."""
    groups = re.findall(r"\[(@[^\]]+)\]", text)
    return list(dict.fromkeys(key.lstrip("@") for one in groups for key in one.split("; ")))


def _cite(keys: Iterable[str]) -> str:
    marked = "; ".join(f"@{key}" for key in keys)
    return f" [{marked}]" if marked else ""


def _started(context: ReportContext) -> str:
    settings = context.settings
    executor = {
        "local": "on the machine itself",
        "slurm": "by Slurm through submitit",
        "job": "on one node of a cluster, in one job",
    }
    by = executor.get(settings["executor"], f"by {settings['executor']}")
    cites = _cite(["submitit"] if settings["executor"] == "slurm" else [])
    image = (
        f" in container images ({settings['runtime']}){_cite(['kurtzer2017'])}"
        if settings["runtime"] != "native"
        else ""
    )
    each = settings["cores and threads of each worker"]
    return f"Tasks were started {by}{cites}{image}; cores and threads of each worker: {each}."


def _data(context: ReportContext) -> Iterator[str]:
    sources = {work.data: work.source for work in context.works.values() if work.data != ABSENT}
    if sources:
        cites = _cite(name for name, source in sources.items() if source)
        frames = context.facts.get("Input", {}).get("frames")
        of = f" ({plural(frames, 'frame')})" if frames else ""
        yield f"The input was {listing(sources)}{of}{cites}."
    packages = [work.packages for work in context.works.values()]
    versions = sorted({each["tifffile"] for each in packages if "tifffile" in each})
    if versions:
        yield f"Movies were read and written by tifffile {listing(versions)}{_cite(['tifffile'])}."


def _algorithms(works: Mapping[str, Work]) -> Iterator[str]:
    ran = grouped(((work.how, work.cites), entry) for entry, work in works.items())
    for (how, cites), names in ran.items():
        who = listing(names) if len(names) < 5 else f"{names[0]} and {len(names) - 1} other points"
        packages = ", ".join(
            f"{name} {v}" for name, v in works[names[0]].packages.items() if name != "tifffile"
        )
        yield f"{who} ran {how}{f' ({packages})' if packages else ''}{_cite(cites)}."


def _measures(table: pl.DataFrame) -> Iterator[str]:
    measured = {name for quality in table["quality"].drop_nulls() for name in json.loads(quality)}
    for names, cites in MEASURES.items():
        found = [name for name in names if name in measured]
        if found:
            words = listing(name.removeprefix("ctc_").upper() for name in found)
            yield f"Results were judged by the Cell Tracking Challenge's {words}{_cite(cites)}."
