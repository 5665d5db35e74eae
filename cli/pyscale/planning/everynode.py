"""`pyscale run --every-node`: one worker on each node of a partition, all at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyscale.console import talk
from pyscale.errors import UserError
from pyscale.planning.plan import Plan
from pyscale.planning.sites import Site
from pyscale.planning.suite import Suite
from pyscale.planning.traits import shares_windows
from pyscale.report.wording import listing
from pyscale.sbatch.options import asked_at
from pyscale.settings import Settings
from pyscale.slurm.commands import default_partition, nodes_of
from pyscale_stages.registry import load_stage

CHOOSE_NODES = ("--nodelist", "--nodefile", "--exclude")
"""Options of a site that would say otherwise on which nodes the workers run."""


def nodes_for(
    suite: Suite, only: Sequence[str], settings: Settings, site: Site | None
) -> tuple[str, ...]:
    """Names of the nodes that a run measures; none where not every node is asked for."""
    if not settings.every_node:
        return ()
    if site is None:
        raise UserError(
            "--every-node measures the nodes of a cluster: add --executor slurm, and --site"
        )
    if settings.layout == "array":
        raise UserError(
            "--every-node measures all nodes at once in one job: leave --layout array out"
        )
    for option in site.options:
        if option.partition("=")[0] in CHOOSE_NODES:
            raise UserError(
                f"the site {site.name} has the option {option}, but --every-node chooses the "
                "nodes itself: leave one of the two out"
            )
    entries = [
        entry
        for entry, step in suite.stages.items()
        if not only or entry in only or step.family in only
    ]
    if not entries:
        return ()  # A misspelt name, as the planning will say.
    shared = suite.entries_that(shares_windows)
    others = [entry for entry in entries if entry in shared]
    if others:
        raise UserError(
            "--every-node measures only the nodes themselves, or work of ranks on them, so not "
            f"{listing(others)} of the suite {suite.name}: run the suite system, loader or "
            "reconstruct, or leave --every-node out"
        )
    partition = _partition_of(suite, entries, settings, site)
    nodes = nodes_of(partition)
    able = tuple(node.name for node in nodes if node.able)
    for node in nodes:
        if not node.able:
            talk(f"{node.name} of the partition {partition} {node.condition} and is left out")
    if not able:
        raise UserError(
            f"no node of the partition {partition} takes jobs: name another partition in the "
            "site's file; `sinfo -R` shows why nodes are out"
        )
    return able


def on_every_node(plan: Plan, nodes: tuple[str, ...]) -> Plan:
    """The plan with the workers of each trial on nodes, one each, started at once."""
    if not nodes:
        return plan
    spread = {"layout": "gang", "nodes": nodes}
    once = plan.suite.measured_once
    trials = (
        trial if trial.entry in once else trial.model_copy(update=spread) for trial in plan.trials
    )
    return plan.model_copy(update={"trials": tuple(trials)})


def _partition_of(suite: Suite, entries: Iterable[str], settings: Settings, site: Site) -> str:
    """The one partition that the jobs of all entries go to."""
    found: dict[str, list[str]] = {}
    for entry in entries:
        stage = load_stage(suite.stage_name(entry))
        device = suite.device_of(entry, settings.device)
        named = asked_at(site, stage.name, device).partition or default_partition()
        found.setdefault(named, []).append(entry)
    several = next((name for name in found if "," in name), None)
    if several is not None:
        raise UserError(
            f"the site {site.name} names several partitions ({several}), but --every-node needs "
            "one: name one in its file"
        )
    if len(found) > 1:
        parts = "; ".join(f"{name} for {listing(names)}" for name, names in found.items())
        first = next(iter(found.values()))
        raise UserError(
            f"the jobs go to several partitions of the site {site.name} ({parts}), whose nodes "
            "differ: measure one partition at a time, e.g. "
            f"{' '.join(f'--only {entry}' for entry in first)}"
        )
    (partition,) = found
    return partition
