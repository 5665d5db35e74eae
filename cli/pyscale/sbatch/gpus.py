"""Check that a site has the GPUs that a plan asks for."""

from __future__ import annotations

from collections.abc import Iterator

from pyscale.plan import Plan
from pyscale.report.wording import listing
from pyscale.sbatch.options import asked_at
from pyscale.sites import Site


def speaks_of_gpus(site: Site, stage_name: str) -> bool:
    """Whether a site's file has GPUs for jobs of a stage, or says what else those on cuda ask."""
    wanted = asked_at(site, stage_name, "cuda")
    return (
        bool(wanted.gpus)
        or wanted.gpu_type is not None
        or any(override.device == "cuda" for override in site.override)
    )


def warn_of_no_gpus(plan: Plan, site: Site) -> Iterator[str]:
    """Name what is to compute on cuda at a site whose file has no GPU for it."""
    entries = {
        plan.suite.stages[trial.entry].family or trial.entry: None
        for trial in plan.trials
        if trial.device == "cuda" and not speaks_of_gpus(site, trial.stage)
    }
    if entries:
        yield (
            f"{listing(entries)} {'computes' if len(entries) == 1 else 'compute'} on cuda, but the "
            f"file of the site {site.name} asks for no GPU, so jobs may find none: add an "
            '[[override]] of device = "cuda" with the partition that has GPUs, or use --device cpu'
        )
