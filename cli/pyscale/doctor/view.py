"""An examination for people: findings in groups, what differs between nodes, the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from pyscale.doctor.findings import GROUPS, Finding, Status, verdict
from pyscale.doctor.probe import Difference

_SIGNS: dict[Status, tuple[str, str]] = {
    "ok": ("✓ ok", "green"),
    "warning": ("! warning", "yellow"),
    "problem": ("✗ problem", "bold red"),
    "not applicable": ("- n/a", "dim"),
}
MOST_NAMES = 6


def findings_table(findings: Sequence[Finding], title: str) -> RenderableType:
    """Lay findings out by group, each with what to do below what is."""
    order = list(GROUPS.values())
    by_group = sorted(findings, key=lambda finding: order.index(finding.group))
    table = _table(title)
    for group, of_group in groupby(by_group, key=lambda finding: finding.group):
        for place, finding in enumerate(of_group):
            table.add_row(
                Text(group if place == 0 else "", "bold"), _sign(finding.status), _said(finding)
            )
        table.add_section()
    return table


def differences_table(differences: Sequence[Difference], n_answers: int) -> RenderableType:
    """Lay out what some nodes have otherwise than most."""
    table = _table(f"Differences between {n_answers} nodes")
    for difference in differences:
        said = _said(difference.finding)
        said.append(f"\nthe others: {difference.usual.sentence}", "dim")
        names = Text(node_names(difference.nodes), "bold")
        table.add_row(names, _sign(difference.finding.status), said)
    return table


def verdict_line(findings: Sequence[Finding], differences: Sequence[Difference]) -> Text:
    """Say in the last line how it stands."""
    everything = [*findings, *(difference.finding for difference in differences)]
    statuses: set[Status] = {finding.status for finding in everything}
    worst: Status = max(statuses - {"not applicable"}, key=_severity, default="ok")
    _, style = _SIGNS[worst]
    return Text.assemble(("Verdict: ", "bold"), (verdict(everything), style))


def node_names(nodes: Sequence[str]) -> str:
    """Name some nodes, and count the rest."""
    if len(nodes) <= MOST_NAMES:
        return ", ".join(nodes)
    return f"{', '.join(nodes[:MOST_NAMES])} and {len(nodes) - MOST_NAMES} more"


def _table(title: str) -> Table:
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, show_header=False, padding=(0, 1)
    )
    table.add_column(overflow="fold")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", ratio=1)
    return table


def _sign(status: Status) -> Text:
    return Text(*_SIGNS[status])


def _said(finding: Finding) -> Text:
    text = Text(finding.sentence, "dim" if finding.status == "not applicable" else "")
    if finding.remedy and finding.status != "ok":
        text.append(f"\n→ {finding.remedy}", "" if finding.status == "not applicable" else "bold")
    if finding.source:
        text.append(f"\n({finding.source})", "dim")
    return text


def _severity(status: Status) -> int:
    return ("not applicable", "ok", "warning", "problem").index(status)
