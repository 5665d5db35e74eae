"""Checks that the stages of a suite run: libraries, weights, devices, Java."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence

from pydantic import ValidationError

from pyscale.doctor.containers import missing_engine
from pyscale.doctor.findings import Finding, problem, refused
from pyscale.doctor.subject import Entry, Subject
from pyscale.executors.containernode import prepared
from pyscale.images.engine import IMAGE_PYTHON, find_engine
from pyscale.images.lockfile import ImageFolder
from pyscale.interruption import killed_by, signal_name
from pyscale.runtimes.apptainer import AMD_VARIABLES
from pyscale.store.containererrors import why_no_container
from pyscale_stages.binds import OPTIONS, Bind
from pyscale_stages.libraries import IMAGE_AGAIN, how_to_install
from pyscale_stages.measure.stamp import SLURM_VARIABLES, THREAD_VARIABLES

TIME_LIMIT_S = 300.0
"""A cold network filesystem can take minutes to serve torch; what takes longer hangs."""


def distinct(entries: Sequence[Entry]) -> list[Entry]:
    """Entries that need different parts; the first of those that need the same."""
    kept: dict[str, Entry] = {}
    for entry in entries:
        deciding = {name: entry.params.get(name) for name in entry.definition.needs.deciding}
        kept.setdefault(json.dumps([entry.stage, entry.device, deciding]), entry)
    return list(kept.values())


def stages(subject: Subject) -> Iterator[Finding]:
    """Ask the interpreter that would run each stage what it can do for it."""
    for entry in distinct(subject.entries):
        if subject.runtime == "native":
            yield from asked(entry, [sys.executable])
        else:
            yield from _in_image(entry, subject)


def _in_image(entry: Entry, subject: Subject) -> list[Finding]:
    """Ask the interpreter in the entry's image, which sees what a task of it would see."""
    sif = ImageFolder(subject.images_folder).sif(subject.image_of(entry))
    if missing_engine() is not None or not sif.is_file():
        return []  # Which the checks of the container program and of the images say.
    engine = find_engine()
    stage = entry.definition
    around = stage.surroundings(stage.params.model_validate(entry.params))
    binds = [Bind(file, file.absolute()) for file in around.files if file.exists()]
    command = engine.command(
        "exec",
        *OPTIONS,
        *(option for bind in binds for option in bind.option()),
        str(sif),
        IMAGE_PYTHON,
    )
    order = {
        "passed": (*SLURM_VARIABLES, *THREAD_VARIABLES, *AMD_VARIABLES),
        "gpu": entry.device == "cuda",
        "scratch_prefix": "pyscale-doctor-",
    }
    with prepared(order, {"TMPDIR": "/tmp", **around.variables}) as environment:
        return asked(entry, command, environment=environment)


def asked(
    entry: Entry,
    interpreter: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    time_limit_s: float = TIME_LIMIT_S,
) -> list[Finding]:
    """Ask an interpreter what it can do for a stage.

    Returns: with one that says so where the interpreter died or hung.
    """
    request = entry.model_dump(mode="json", exclude={"name", "gpus"}) | {"entry": entry.name}
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
        findings, step = _read(error.stdout or b"")
        hanging = f"{entry.name} hung for {time_limit_s:.0f} s at this step: {step}"
        hung = problem(_check(entry), hanging, "try the same step by hand in this shell")
        return [*findings, hung]
    except OSError as error:
        absent = f"{interpreter[0]} cannot be started ({error.strerror})"
        return [problem(_check(entry), absent, "install pyscale where every node sees it")]
    findings, step = _read(done.stdout)
    if done.returncode != 0:
        in_image = interpreter[-1] == IMAGE_PYTHON
        findings.append(_death(entry, step, done.returncode, done.stderr, in_image=in_image))
    return findings


def _read(answers: bytes) -> tuple[list[Finding], str]:
    """Findings among the answers, and the last step that was begun."""
    findings, step = [], "start Python"
    for line in answers.decode(errors="replace").splitlines():
        try:
            told = json.loads(line)
            if "step" in told:
                step = told["step"]
            else:
                findings.append(Finding.model_validate(told))
        except (ValueError, ValidationError):
            continue  # Cut off in the middle of a line, as the process died.
    return findings, step


def _death(entry: Entry, step: str, returncode: int, stderr: bytes, *, in_image: bool) -> Finding:
    text = stderr.decode(errors="replace")
    not_started = why_no_container(text, returncode)
    if not_started is not None:
        return refused(_check(entry), not_started, f"{entry.name}: ")
    said = text.strip().splitlines()
    last = f" ({said[-1]})" if said else ""
    killer = killed_by(returncode, in_container=in_image)
    again = IMAGE_AGAIN if in_image else how_to_install(entry.definition.extra, again=True)
    how = "failed" if killer is None else f"died of {signal_name(killer)}"
    remedies: dict[int, str] = {
        signal.SIGILL: "install a build of the library for this processor",
        signal.SIGKILL: "give the job more memory: the kernel or the batch system killed it",
    }
    remedy = again if killer is None else remedies.get(killer, again)
    return problem(_check(entry), f"{entry.name} {how} at this step: {step}{last}", remedy)


def _check(entry: Entry) -> str:
    return f"stage.{entry.name}.works"
