"""Checks that the stages of a suite run: images, libraries, weights, devices, Java."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from pyscale.doctor.examined import distinct, folder_of
from pyscale.errors import UserError
from pyscale.executors.containernode import prepared
from pyscale.findings import Finding, ok, problem, refused
from pyscale.images.catalog import catalog
from pyscale.images.engine import IMAGE_PYTHON, find_engine
from pyscale.images.lockfile import FoundImage, ImageFolder, look
from pyscale.interruption import killed_by, signal_name
from pyscale.planning.plan import Plan, Trial
from pyscale.runtimes.starting import AMD_VARIABLES
from pyscale.store.containererrors import SLOW_START, unpacked_its_image, why_no_container
from pyscale_stages.binds import OPTIONS, Bind
from pyscale_stages.errors import MissingPart
from pyscale_stages.libraries import IMAGE_AGAIN, how_to_install
from pyscale_stages.measure.stamp import SLURM_VARIABLES, THREAD_VARIABLES
from pyscale_stages.registry import load_stage

TIME_LIMIT_S = 300.0
"""A cold network filesystem can take minutes to serve torch; what takes longer hangs."""
WORKS = "stage.works"


def containers(plan: Plan) -> Iterator[Finding]:
    """Look for the container program and the images, where tasks run in them."""
    if plan.settings["runtime"] == "native":
        return
    try:
        engine = find_engine()
    except MissingPart as error:
        yield refused("container.engine", "", error)
    else:
        yield ok("container.engine", engine.program, engine.named)
    yield from images(plan)


def images(plan: Plan) -> Iterator[Finding]:
    """Compare what lies in the folder of images with its lock, by sizes; runs read all bytes."""
    folder = ImageFolder(folder_of(plan, "images_folder"))
    named = dict.fromkeys(trial.image for trial in plan.trials if trial.image in catalog())
    for name in filter(None, named):
        try:
            yield of_image(look(folder, name), unlocked=plan.settings["unlocked_images"])
        except UserError as error:
            yield refused("image.lock", "", error)
            return


def of_image(image: FoundImage, *, unlocked: bool) -> Finding:
    """Say how one image stands; `unlocked` is whether it may differ from its lock."""
    if image.state == "current":
        return ok("image.file", image.name, "as its lock says, by its size")
    found = refused("image.file", image.name, image.sentence)
    runs = image.state == "out of date" or (unlocked and image.state in {"unlocked", "changed"})
    return found.model_copy(update={"status": "warning"}) if runs else found


def stages(plan: Plan) -> Iterator[Finding]:
    """Ask the interpreter that would run each stage what it can do for it."""
    for trial in distinct(plan):
        threads = plan.threads_of(trial)
        if trial.image is None:
            yield from asked(trial, threads, [str(trial.interpreter or sys.executable)])
        else:
            yield from _in_image(trial, threads, folder_of(plan, "images_folder"))


def _in_image(trial: Trial, threads: int, images: Path) -> list[Finding]:
    """Ask the interpreter in the trial's image, which sees what a task of it would see."""
    name = str(trial.image)
    sif = Path(name) if os.sep in name else ImageFolder(images).sif(name)
    try:
        engine = find_engine()
    except MissingPart:
        return []  # Which the check of the container program says.
    if not sif.is_file():
        return []  # Which the check of the images says.
    stage = load_stage(trial.stage)
    around = stage.surroundings(stage.params.model_validate(trial.params))
    binds = [Bind(file, file.absolute()) for file in around.files if file.exists()]
    mounted = (option for bind in binds for option in bind.option())
    command = engine.command("exec", *OPTIONS, *mounted, str(sif), IMAGE_PYTHON)
    order = {
        "passed": (*SLURM_VARIABLES, *THREAD_VARIABLES, *AMD_VARIABLES),
        "gpu": trial.device == "cuda",
        "scratch_prefix": "pyscale-doctor-",
    }
    with prepared(order, {"TMPDIR": "/tmp", **around.variables}) as environment:
        return asked(trial, threads, command, environment=environment)


def asked(
    trial: Trial,
    threads: int,
    interpreter: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    time_limit_s: float = TIME_LIMIT_S,
) -> list[Finding]:
    """Ask an interpreter what it can do for a stage.

    Returns: with one that says so where the interpreter died or hung.
    """
    request = trial.model_dump(mode="json", include={"entry", "stage", "params", "device"})
    request["threads"] = threads
    try:
        done = subprocess.run(
            [*interpreter, "-m", "pyscale_stages.trying", json.dumps(request)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=time_limit_s,
            check=False,
            env=None if environment is None else dict(environment),
        )
    except subprocess.TimeoutExpired as error:
        findings, step = read_answers(error.stdout or b"")
        hanging = f"it hung for {time_limit_s:.0f} s at this step: {step}"
        do = "try the same step by hand in this shell"
        return [*findings, problem(WORKS, trial.entry, hanging, do)]
    except OSError as error:
        absent = f"{interpreter[0]} cannot be started ({error.strerror})"
        return [problem(WORKS, trial.entry, absent, "install pyscale where every node sees it")]
    findings, step = read_answers(done.stdout)
    in_image = interpreter[-1] == IMAGE_PYTHON
    if in_image and unpacked_its_image(done.stderr.decode(errors="replace")):
        slow = refused("container.mount", trial.image, SLOW_START)
        findings.append(slow.model_copy(update={"status": "warning"}))
    if done.returncode != 0:
        findings.append(_death(trial, step, done.returncode, done.stderr, in_image=in_image))
    return findings


def read_answers(answers: bytes) -> tuple[list[Finding], str]:
    """Findings among the answers, and the last step that was begun."""
    findings, step = [], "start Python"
    for line in answers.decode(errors="replace").splitlines():
        try:
            told = json.loads(line)
            if "step" in told:
                step = told["step"]
                continue
            found = Finding.model_validate(told)
        except (ValueError, ValidationError):
            continue  # Cut off in the middle of a line, as the process died.
        if found.status == "problem" and not found.do:
            # The words of an error.
            found = refused(found.code, found.where, found.what)
        findings.append(found)
    return findings, step


def _death(trial: Trial, step: str, returncode: int, stderr: bytes, *, in_image: bool) -> Finding:
    text = stderr.decode(errors="replace")
    not_started = why_no_container(text, returncode)
    if not_started is not None:
        return refused(WORKS, trial.entry, not_started)
    said = text.strip().splitlines()
    last = f" ({said[-1]})" if said else ""
    killer = killed_by(returncode, in_container=in_image)
    how = "it failed" if killer is None else f"it died of {signal_name(killer)}"
    install = how_to_install(load_stage(trial.stage).extra, again=True)
    do = IMAGE_AGAIN if in_image else install
    if killer == signal.SIGKILL:
        do = "give the job more memory, as the kernel or the batch system killed it"
    return problem(WORKS, trial.entry, f"{how} at this step: {step}{last}", do)
