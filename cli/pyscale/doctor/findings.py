"""A finding: its sentence, its status and its remedy; and an examination laid out for people."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Literal

from pydantic import Field
from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from pyscale_stages.contract import Record
from pyscale_stages.wording import plural

Status = Literal["ok", "warning", "problem", "not applicable"]
RANK: dict[Status, int] = {"ok": 0, "not applicable": 1, "warning": 2, "problem": 3}
GROUPS = {
    "stage": "Stages",
    "gpu": "GPU",
    "cpu": "Cores and threads",
    "memory": "Memory",
    "disk": "Disks",
    "system": "System",
    "container": "Containers",
    "image": "Images",
    "data": "Data",
    "slurm": "Slurm",
}
"""Titles by the first part of a check's name, in the order in which they are shown."""


class Finding(Record):
    """What one check found."""

    check: str = Field(
        pattern=r"^[a-z]+\.", description="Stable name of the check, like cpu.usable"
    )
    status: Status
    sentence: str = Field(description="What is")
    remedy: str = Field("", description="What to do; a command where there is one")
    source: str = Field("", description="Where the fact is written, where it needs that")

    @property
    def group(self) -> str:
        """Title of the group that the check belongs to."""
        return GROUPS[self.check.partition(".")[0]]


def ok(check: str, sentence: str) -> Finding:
    """All is well."""
    return Finding(check=check, status="ok", sentence=sentence)


def warning(check: str, sentence: str, remedy: str) -> Finding:
    """It works, but slower or otherwise than one would think."""
    return Finding(check=check, status="warning", sentence=sentence, remedy=remedy)


def judged(check: str, sentence: str, *doubts: tuple[bool, str, str]) -> Finding:
    """Say what is, with the first doubt that holds: whether it does, why, and what to do."""
    for holds, why, remedy in doubts:
        if holds:
            return warning(check, sentence + why, remedy)
    return ok(check, sentence)


def problem(check: str, sentence: str, remedy: str) -> Finding:
    """A run would fail, or measure what was not meant."""
    return Finding(check=check, status="problem", sentence=sentence, remedy=remedy)


def refused(check: str, error: object, of: str = "") -> Finding:
    """A problem in the words of an error: what is wrong, then what to do."""
    sentence, remedy = _parted(str(error))
    return problem(check, of + sentence, remedy)


def _parted(text: str) -> tuple[str, str]:
    """What stands before and after the last colon that is in no quotation and no brackets."""
    bare = text
    # From the inside out.
    while (hidden := _QUOTED.sub(lambda found: "_" * len(found[0]), bare)) != bare:
        bare = hidden
    place = bare.rfind(": ")
    return (text, "") if place < 0 else (text[:place], text[place + 2 :])


def beside_the_point(check: str, sentence: str, remedy: str = "") -> Finding:
    """The suite does not need it; the remedy says how to have it all the same."""
    return Finding(check=check, status="not applicable", sentence=sentence, remedy=remedy)


def verdict(findings: Iterable[Finding]) -> str:
    """Say in one line how it stands."""
    counts = Counter(finding.status for finding in findings)
    problems, warnings = counts["problem"], plural(counts["warning"], "warning")
    if problems:
        return f"{plural(problems, 'problem')} and {warnings}"
    return f"no problem, {warnings}" if counts["warning"] else "no problem found"


_SIGNS: dict[Status, tuple[str, str]] = {
    "ok": ("✓ ok", "green"),
    "warning": ("! warning", "yellow"),
    "problem": ("✗ problem", "bold red"),
    "not applicable": ("- n/a", "dim"),
}
_QUOTED = re.compile(r"\([^()]*\)|\"[^\"]*\"|`[^`]*`|(?<!\w)'[^']*'(?!\w)")


def findings_table(findings: Sequence[Finding], title: str) -> RenderableType:
    """Lay findings out by group, each with what to do below what is."""
    order = list(GROUPS.values())
    by_group = sorted(findings, key=lambda finding: order.index(finding.group))
    table = _table(title)
    for group, of_group in groupby(by_group, key=lambda finding: finding.group):
        for place, finding in enumerate(of_group):
            table.add_row(
                Text(group if place == 0 else "", "bold"),
                Text(*_SIGNS[finding.status]),
                _said(finding),
            )
        table.add_section()
    return table


def verdict_line(findings: Sequence[Finding]) -> Text:
    """Say in the last line how it stands."""
    statuses: list[Status] = ["ok", *(finding.status for finding in findings)]
    worst = max(statuses, key=RANK.__getitem__)
    # What the suite does not need leaves all well.
    _, style = _SIGNS["ok" if worst == "not applicable" else worst]
    return Text.assemble(("Verdict: ", "bold"), (verdict(findings), style))


def _table(title: str) -> Table:
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, show_header=False, padding=(0, 1)
    )
    table.add_column(overflow="fold")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", ratio=1)
    return table


def _said(finding: Finding) -> Text:
    text = Text(finding.sentence, "dim" if finding.status == "not applicable" else "")
    if finding.remedy and finding.status != "ok":
        text.append(f"\n→ {finding.remedy}", "" if finding.status == "not applicable" else "bold")
    if finding.source:
        text.append(f"\n({finding.source})", "dim")
    return text
