"""`pyscale run --emit`: plans as a run does, and writes a folder of batch scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pyscale import DISTRIBUTION
from pyscale.console import talk
from pyscale.errors import UserError, refused_by_disk
from pyscale.images.engine import PROGRAM
from pyscale.measuring.benchmark import plan_run
from pyscale.planning.plan import Plan
from pyscale.planning.runsettings import settings_for
from pyscale.planning.sites import Site, load_site
from pyscale.planning.suite import Suite, suite_names
from pyscale.planning.traits import measures_alone
from pyscale.runtimes.starting import frozen_images
from pyscale.sbatch.held import head_of_job
from pyscale.sbatch.jobs import Job, script_templates
from pyscale.settings import flag_of
from pyscale.starting import warn_of_plan
from pyscale.store.provenance import ImageFile
from pyscale.wording import listing

SUBMIT_FILE = "submit.sh"
MEASURING = ("repeats", "cache", "executor", "retries", "keep_outputs")
"""Flags that say how to measure, of which scripts know nothing."""
UNUSABLE = "--emit {}: the folder cannot be used ({{why}}); name another one"


def emit(
    suite: str | Suite | None,
    flags: dict[str, Any],
    only: Sequence[str],
    folder: Path,
    *,
    accept_terms: bool,
) -> None:
    """Write the batch scripts of a suite on a movie for a site."""
    if suite is None:
        raise UserError(f"name a suite to write scripts for: {', '.join(suite_names())}")
    given = [flag_of(name) for name in MEASURING if flags.get(name) is not None]
    if given:
        raise UserError(
            "--emit writes scripts that run once and measure nothing: leave out "
            f"{' and '.join(given)}"
        )
    refuse_full(folder)
    settings = settings_for(suite, flags)
    site = load_site(settings.site)
    if settings.workers is None:
        raise UserError(
            "--emit needs --workers, e.g. 1,4: the number of workers cannot come from the "
            "cores of this machine"
        )
    plan = plan_run(suite, settings, only, accept_terms=accept_terms, scripts_for=site)
    warn_of_plan(plan, site)
    texts = render(plan, site, frozen_images(plan))
    write_scripts(folder, texts)
    talk(f"scripts for the site {site.name}; see {folder / 'README.md'}, and submit all with:")
    print(folder / SUBMIT_FILE)  # noqa: T201 - the command's answer


def refuse_full(folder: Path) -> None:
    """Raise where a folder of scripts is there and holds something, or is none."""
    with refused_by_disk(UNUSABLE.format(folder)):
        if folder.exists() and any(folder.iterdir()):
            raise UserError(
                f"--emit {folder}: the folder is not empty; name a new one, or empty it"
            )


def write_scripts(folder: Path, texts: Mapping[str, str]) -> None:
    """Write texts by their path in a new or empty folder."""
    with refused_by_disk(UNUSABLE.format(folder)):
        for name, text in texts.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            if file.suffix == ".sh":
                file.chmod(0o755)


def render(plan: Plan, site: Site, images: Sequence[ImageFile]) -> dict[str, str]:
    """Texts of all files of a folder of scripts, by path: each configuration runs once."""
    templates = script_templates()
    templates.globals["version"] = version(DISTRIBUTION)
    templates.globals["site"] = site
    by_name = {image.name: image for image in images}
    once = [trial for trial in plan.trials if trial.block == 1]
    jobs = [Job(plan, site, trial, by_name) for trial in sorted(once, key=plan.place_in_pipeline)]
    texts: dict[str, str] = {}
    for job in jobs:
        texts |= job.texts(templates)
    data = "the movie" if plan.suite.unit == "frames" else f"the {plan.suite.unit}"
    needs = [data] if plan.movie else []
    needs += ["the folder to be measured"] if plan.place else []
    if images:
        texts["images.sha256"] = "".join(f"{image.sha256}  {image.path}\n" for image in images)
        needs = [PROGRAM, "the images", *needs]
    else:
        needs.append("this Python environment")
    about = {
        "plan": plan,
        "alone": sorted(plan.entries_that(measures_alone)),
        "ranks": sorted({job.trial.entry for job in jobs if job.trial.meets}),
        "jobs": jobs,
        "images": images,
        "needed": needs,
        "listing": listing,
    }
    texts["README.md"] = templates.get_template("README.md.j2").render(about)
    texts[SUBMIT_FILE] = templates.get_template("submit.sh.j2").render(about)
    if site.scheduler is not None:
        about["directives"] = head_of_job(plan, site)
        for name in ("all.sh", "workers.sh"):
            texts[name] = templates.get_template(f"{name}.j2").render(about)
    return texts
