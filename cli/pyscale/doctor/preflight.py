"""Checks of a plan on this machine before its first trial, in under a second.

For a cluster the nodes are not looked at, but what every node shares with this machine, and Slurm
is asked whether it would take the jobs.
What planning refuses is not looked at again, nor are the images, which the run verifies itself;
no stage's library is imported: `pyscale doctor` does that.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from shutil import disk_usage

from pyscale.console import talk
from pyscale.doctor.cores import memory, thread_variables
from pyscale.doctor.data import names, readable
from pyscale.doctor.disks import FULL_DISK, nearest, page_cache, place
from pyscale.doctor.elsewhere import misread_by_slurm, out_of_nodes_sight, overriding
from pyscale.doctor.findings import Finding, problem, refused, warning
from pyscale.doctor.gpu import missing_device, torch_without_cuda
from pyscale.doctor.slurm import refusals
from pyscale.doctor.stages import distinct
from pyscale.doctor.subject import Entry, Subject
from pyscale.errors import UserError
from pyscale.planning.plan import Plan, TrialInput
from pyscale.planning.suite import OWN_STEP
from pyscale_stages.command.params import CommandParams
from pyscale_stages.contract import Stage
from pyscale_stages.errors import ResourceExhausted, StageError
from pyscale_stages.libraries import how_to_install
from pyscale_stages.registry import load_stage
from pyscale_stages.wording import size_in_words

UNANSWERED = frozenset(["slurm.commands", "slurm.controller"])
"""Checks that fail where Slurm could not be asked."""
AMPLE = 8
"""Times the movie's size that the outputs of a whole run stay below."""


def before_run(plan: Plan, *, asks_slurm: bool = True) -> None:
    """Refuse a plan that cannot be carried out; say what it would do otherwise than meant."""
    say(preflight(plan, asks_slurm=asks_slurm))


def say(findings: Iterable[Finding]) -> None:
    """Refuse for the first problem; else say what there is to warn of."""
    findings = list(findings)
    refuse(findings)
    for finding in findings:
        talk(f"warning: {finding.sentence}: {finding.remedy}")


def of_dry_run(plan: Plan) -> list[Finding]:
    """What a run of a plan would say before its first trial; a Slurm that is silent is a warning.

    A plan may be looked at where no Slurm is.
    """
    return [
        found.model_copy(update={"status": "warning"}) if found.check in UNANSWERED else found
        for found in preflight(plan)
    ]


def refuse(findings: Iterable[Finding]) -> None:
    """Raise the first problem."""
    for finding in findings:
        if finding.status == "problem":
            sentence = f"{finding.sentence}: {finding.remedy}"
            raise ResourceExhausted(sentence) if finding.check == FULL_DISK else UserError(sentence)


def preflight(plan: Plan, *, asks_slurm: bool = True) -> list[Finding]:
    """Problems and warnings of a plan, without importing any stage's library."""
    subject = Subject.of_plan(plan)
    if plan.site is None and plan.queue is None:
        looks = [*_here(subject, plan.movie)]
    else:
        # What the nodes of a cluster see as this machine does.
        looks = [
            *_parts(subject, here=False),
            *_surroundings(subject, plan.movie),
            *out_of_nodes_sight(subject.runs_folder, plan.movie, _of_steps(subject)),
        ]
    if plan.site is not None:
        # What jobs inherit.
        looks += [*misread_by_slurm(subject.runs_folder), *overriding(os.environ)]
        looks += refusals(plan, plan.site) if asks_slurm else ()
    looks += _first_frame(plan)
    found = (finding for finding in looks if finding.status in {"problem", "warning"})
    return list({(finding.check, finding.sentence): finding for finding in found}.values())


def _here(subject: Subject, movie: Path | None) -> Iterator[Finding]:
    """Look at this machine, where the tasks will run."""
    asked = sorted({subject.device, *(entry.device for entry in subject.entries)})
    missing = [found for device in asked if (found := missing_device(device))]
    yield from missing
    if not missing:
        yield from torch_without_cuda(subject)
    yield from _parts(subject, here=True)
    yield from _surroundings(subject, movie)
    yield from memory(subject)
    if movie is not None and subject.cache == "cold":
        yield page_cache("runs", subject.runs_folder, subject.cache)
        yield page_cache("data", movie.parent, subject.cache)
    yield from place(subject)


def _parts(subject: Subject, *, here: bool) -> Iterator[Finding]:
    """Look for what the stages need in this environment; an image has its own."""
    for entry in distinct(subject.entries):
        if subject.runtime == "native" or entry.definition.runs_outside:
            yield from _native(entry, here=here)


def _of_steps(subject: Subject) -> list[Path]:
    """Folders in which own steps run, and files that they name elsewhere."""
    found = []
    for entry in subject.entries:
        if entry.stage == OWN_STEP:
            params = CommandParams.model_validate(entry.params)
            named = (params.folder / word for text in params.command for word in text.split())
            own = (path for path in named if path.is_file())
            found += [params.folder, *(f for f in own if not f.is_relative_to(params.folder))]
    return list(dict.fromkeys(found))


def _native(entry: Entry, *, here: bool) -> Iterator[Finding]:
    stage = entry.definition
    absent = [name for name in top_level(stage, entry.params) if find_spec(name) is None]
    if absent:
        yield problem(
            f"stage.{entry.name}.libraries",
            f"{entry.name} needs {' and '.join(absent)}, which "
            f"{'is' if len(absent) == 1 else 'are'} not installed here",
            how_to_install(stage.libraries(entry.params)[1], absent),
        )
        return
    try:
        stage.needs.look(stage.params.model_validate(entry.params), entry.device, here)
    except StageError as error:
        yield refused(f"stage.{entry.name}.works", error, f"{entry.name}: ")


def _first_frame(plan: Plan) -> Iterator[Finding]:
    """Read the first frame of the movie, where stages of pyscale read it."""
    path = plan.movie
    if path is None or not path.exists() or plan.suite.data not in {"movie", "labels"}:
        return
    readers = {
        trial.entry: trial
        for trial in plan.trials
        if not load_stage(trial.stage).runs_outside
        and any(_reads_movie(plan, item) for item in trial.inputs)
    }
    asked = {entry: trial.params.get("channel") for entry, trial in readers.items()}
    channels = {entry: channel for entry, channel in asked.items() if isinstance(channel, int)}
    if readers:
        yield from readable(path, plan.axes, channels)


def _reads_movie(plan: Plan, item: TrialInput) -> bool:
    """Whether an input has the channels of the movie: itself, or its frames after registration."""
    if item.from_trial is None:
        return item.path == plan.movie
    return plan.trial(item.from_trial).stage == "register_denoise"


def top_level(stage: Stage, params: Mapping[str, object]) -> tuple[str, ...]:
    """Packages that a stage imports with given parameters."""
    return tuple(dict.fromkeys(name.partition(".")[0] for name in stage.libraries(params)[0]))


def _surroundings(subject: Subject, movie: Path | None) -> Iterator[Finding]:
    # Outputs are as large as a movie, and there are but times of patches that are loaded.
    if movie is not None and not subject.reads_slides:
        yield from room(subject.runs_folder, size_bytes(movie))
    yield from thread_variables(os.environ, subject)
    if movie is not None:
        yield names(movie)


def room(runs_folder: Path, movie_bytes: int) -> Iterator[Finding]:
    """Compare the free space of the runs' disk with the movie, which outputs are as large as."""
    free = free_bytes(runs_folder)
    there, one = size_in_words(free), size_in_words(movie_bytes)
    remedy = "free space there, or set runs_folder to another disk"
    if free < movie_bytes:
        full = (
            f"the disk of {runs_folder} is too full: it has {there} left, and each stage's output "
            f"is about {one}"
        )
        yield problem(FULL_DISK, full, remedy)
    elif free < AMPLE * movie_bytes:
        little = (
            f"the disk of {runs_folder} has {there} left, and each stage's output is "
            f"about as large as the movie ({one})"
        )
        yield warning(FULL_DISK, little, remedy)


def free_bytes(folder: Path) -> int:
    """Room on the disk of a folder that need not be there yet."""
    return disk_usage(nearest(folder.absolute())).free


def size_bytes(movie: Path) -> int:
    """Size of a movie, or of all files in its folder."""
    files = movie.iterdir() if movie.is_dir() else (movie,)
    return sum(file.stat().st_size for file in files if file.is_file())
