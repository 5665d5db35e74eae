"""From a plan and a site to the texts of a folder of batch scripts; writes nothing."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from importlib.metadata import version

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pyscale import DISTRIBUTION
from pyscale.plan import Plan, Trial
from pyscale.report.wording import listing
from pyscale.sbatch.jobs import Job
from pyscale.shipped import shipped
from pyscale.sites import Site
from pyscale.store.provenance import ImageFile

IMAGES_FILE = "images.sha256"
SUBMIT_FILE = "submit.sh"


def render(plan: Plan, site: Site, images: Sequence[ImageFile]) -> dict[str, str]:
    """Texts of all files of a folder of batch scripts, by their path in it.

    Each configuration of the plan runs once. The script that submits all comes last.
    """
    templates = Environment(
        loader=FileSystemLoader(shipped("sbatch_templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Bash counts with `${#`, which begins a comment otherwise.
        comment_start_string="<#",
        comment_end_string="#>",
    )
    templates.filters["quoted"] = shlex.quote
    templates.globals["version"] = version(DISTRIBUTION)
    templates.globals["site"] = site
    by_name = {image.name: image for image in images}
    jobs = [Job(plan, site, trial, by_name) for trial in configurations(plan)]
    texts: dict[str, str] = {}
    for job in jobs:
        texts |= job.texts(templates)
    if images:
        texts[IMAGES_FILE] = "".join(f"{image.sha256}  {image.path}\n" for image in images)
    data = "the movie" if plan.suite.unit == "frames" else f"the {plan.suite.unit}"
    needs = [data] if plan.movie else []
    needs += ["the folder to be measured"] if plan.place else []
    if images:
        needs = [site.container_program, "the images", *needs]
    else:
        needs.append("this Python environment")
    about = {
        "plan": plan,
        "jobs": jobs,
        "images": images,
        "needed": needs,
        "listing": listing,
    }
    texts["README.md"] = templates.get_template("README.md.j2").render(about)
    texts[SUBMIT_FILE] = templates.get_template("submit.sh.j2").render(about)
    return texts


def configurations(plan: Plan) -> list[Trial]:
    """One trial for each entry and N, in the order of the pipeline."""
    once = [trial for trial in plan.trials if trial.block == 1]
    return sorted(once, key=plan.place_in_pipeline)
