"""Runs one task of a stage and writes its record."""

from __future__ import annotations

import time
import traceback
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import (
    Agreement,
    OutputFile,
    Stage,
    StageParams,
    TaskError,
    TaskResult,
    TaskSpec,
)
from pyscale_stages.errors import EXIT_FAILED, BadInput, MissingPart, as_stage_error
from pyscale_stages.framefiles import files_of
from pyscale_stages.hashing import sha256_of
from pyscale_stages.libraries import how_to_install
from pyscale_stages.measure import pagecache, stamp
from pyscale_stages.measure.binding import CAN_BIND, NOT_BOUND
from pyscale_stages.measure.spans import SpanRecorder
from pyscale_stages.measure.usage import UsageMeter
from pyscale_stages.measured import Warned
from pyscale_stages.record import Sample
from pyscale_stages.residency import InputCache, Residency
from pyscale_stages.task import Task
from pyscale_stages.wording import first_problem

CORE_PACKAGES = ("numpy", "polars", "pydantic", "tifffile")


def run_task(
    stage: Stage, spec: TaskSpec, recorder: SpanRecorder, result_file: Path | None
) -> TaskResult:
    """Do what `spec` says and record it, whatever happens: a failure is the result's `error`."""
    meter = UsageMeter(device=spec.device)
    task: Task | None = None
    agreement: Agreement | None = None
    error: TaskError | None = None
    inputs: list[Path] = []
    before: list[Residency] = []
    try:
        # Finding and opening each file is the cost of measuring: a folder may hold thousands.
        with recorder.unmeasured():
            inputs = _input_files(stage, spec)
            before = [pagecache.probe(path) for path in inputs]
        if spec.device not in stage.resources.devices:
            raise BadInput(
                f"{stage.name} does not compute on {spec.device}: use --device "
                f"{' or '.join(stage.resources.devices)}"
            )
        task = Task(stage, spec, validated_params(stage, spec), recorder)
        task.prepare_output()
        verb = {"run": stage.run, "merge": stage.merge, "check": stage.check}[spec.verb]
        if spec.verb == "merge":
            with recorder.span("merge"):
                verb(task)
        else:
            found = verb(task)
            agreement = found.judged_by(spec.tolerance) if found is not None else None
    except Exception as raised:  # every failure must reach the record
        error = _describe(raised, stage)
    # Hashing, stamping and writing the record are the cost of measuring, not of the stage.
    end = time.monotonic()

    used = meter.stop()
    outputs = tuple(_described(path, task.output) for path in task.written) if task else ()
    result = TaskResult(
        spec=spec,
        status="failed" if error else "done",
        start_utc=recorder.utc(recorder.start_monotonic_s),
        end_utc=recorder.utc(end),
        wall_s=end - recorder.start_monotonic_s,
        spans=recorder.spans,
        counters=used.model_copy(
            update={
                "cpu_s": max(0.0, used.cpu_s - recorder.unmeasured_cpu_s),
                "frames": task.frames if task else 0,
                "objects": task.objects if task else 0,
                "input_bytes": sum(residency.size_bytes for residency in before),
                "input_files": len(before),
                "output_bytes": sum(output.size_bytes for output in outputs),
                "gpu_own_peak_bytes": task.gpu_own_peak_bytes if task else None,
            }
        ),
        page_cache=tuple(
            InputCache(before=first, after=pagecache.probe(first.path)) for first in before
        ),
        outputs=outputs,
        quality=task.quality if task else {},
        agreement=agreement,
        determinism=stage.determinism,
        versions=installed_versions(stage.packages) | (task.versions if task else {}),
        stamp=stamp.collect([path for path in (*inputs, *stage.places(spec), spec.output) if path]),
        samples=_by_name(task.samples) if task else {},
        measured=tuple(task.measured) if task else (),
        warned=(
            *(task.warned if task else ()),
            *(Warned(code="gpu-not-sampled", text=sentence) for sentence in meter.warnings),
            *(() if CAN_BIND else (Warned(code="cores-not-bound", text=NOT_BOUND),)),
        ),
        error=error,
    )
    if result_file is not None:
        write_atomically(result_file, result.model_dump_json(indent=1) + "\n")
    return result


def _by_name(samples: Iterable[Sample]) -> dict[str, tuple[dict[str, Any], ...]]:
    found = defaultdict(list)
    for sample in samples:
        found[sample.kept_as].append(sample.model_dump(mode="json"))
    return {name: tuple(same) for name, same in found.items()}


def installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """Versions of the distributions that shape a stage's result."""
    return {package: _version(package) for package in (*CORE_PACKAGES, *packages)}


@cache
def _version(package: str) -> str:
    # All that a distribution says of itself is read for it: once, where a process does many tasks.
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _input_files(stage: Stage, spec: TaskSpec) -> list[Path]:
    """Every file that the inputs name, in order; a folder stands for its files (`files_of`).

    What lies in a folder whose storage is measured is no input, whoever's it is.
    """
    files: list[Path] = []
    places = stage.places(spec)
    for _, path in spec.inputs:
        if path in places:
            continue
        try:
            # A program of the user's own may read any file of a folder.
            reading = None if stage.runs_outside else spec.reading_of(path)
            files += files_of(path, reading) if path.exists() else []
        except OSError as error:
            raise BadInput(
                f"the input {path} cannot be read ({error.strerror}): name a file or folder that "
                "you may read"
            ) from error
    return files


def validated_params(stage: Stage, spec: TaskSpec) -> StageParams:
    """Parameters of a task, of the type that its stage names."""
    try:
        return stage.params.model_validate(spec.params)
    except ValidationError as error:
        raise BadInput(
            f"the parameters of {stage.name} are wrong: {first_problem(error, stage.params)}"
        ) from error


def _describe(raised: Exception, stage: Stage) -> TaskError:
    known = as_stage_error(raised)
    if known is None and isinstance(raised, ModuleNotFoundError):
        known = MissingPart(
            f"{stage.name} needs the library {raised.name!r}, which is not installed here: "
            f"{how_to_install(stage.extra, [raised.name or ''])}"
        )
    if known is not None:
        return TaskError(kind=type(known).__name__, message=str(known), exit_code=known.exit_code)
    # A defect, not the user's mistake: the whole story belongs in stderr.
    traceback.print_exception(raised)
    return TaskError(
        kind=type(raised).__name__,
        message=f"{stage.name} failed with {type(raised).__name__}: {raised}",
        exit_code=EXIT_FAILED,
    )


def _described(path: Path, folder: Path) -> OutputFile:
    return OutputFile(
        name=str(path.relative_to(folder)), size_bytes=path.stat().st_size, sha256=sha256_of(path)
    )
