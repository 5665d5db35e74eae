"""A Methods paragraph to paste, with the BibTeX of what it cites."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from pyscale.analysis.intervals import repeats_needed
from pyscale.report.context import ReportContext
from pyscale.report.dictionary import labels
from pyscale.report.results import Results
from pyscale.report.templating import templates
from pyscale.resources import shipped
from pyscale.wording import ABSENT, grouped
from pyscale_stages.atomic import write_atomically
from pyscale_stages.wording import plural

TEXT, BIBLIOGRAPHY = "methods.md", "methods.bib"
CHALLENGE = ("ctc_det", "ctc_tra", "ctc_lnk", "ctc_seg")
"""Measures of the Cell Tracking Challenge."""


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
    works, frames = context.works, context.facts.get("Input", {}).get("frames")
    measured = {name for one in table["quality"].drop_nulls() for name in json.loads(one)}
    # Trials of one configuration that found several states have them joined.
    states = {state for one in table["cache_state"].drop_nulls() for state in one.split("+")}
    environment = templates()
    environment.filters["cite"] = _cite
    text = environment.get_template("methods.j2").render(
        context=context,
        sources=[*dict.fromkeys(work.data for work in works.values() if work.data != ABSENT)],
        cited_data={work.data for work in works.values() if work.source},
        frames=plural(frames, "frame") if frames else None,
        tifffile=sorted({one.packages.get("tifffile", "") for one in works.values()} - {""}),
        design=_design(table),
        trials=sorted({min(table["repeats"]), max(table["repeats"])}),
        states=sorted({labels("cited_states").get(one, one) for one in states}),
        ran=[
            (names, works[names[0]])
            for names in grouped(((w.how, w.cites), entry) for entry, w in works.items()).values()
        ],
        challenge=[name.removeprefix("ctc_").upper() for name in CHALLENGE if name in measured],
        needed=repeats_needed(),
    )
    return " ".join(text.split())


def _design(table: pl.DataFrame) -> dict[tuple[int, ...], list[str]]:
    """Stages by all N at which they were timed."""
    counts = table.group_by("stage", maintain_order=True).agg(pl.col("workers").unique().sort())
    return grouped((tuple(of_each), stage) for stage, of_each in counts.iter_rows())


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
