"""A warm worker: it imports and loads once what its tasks need, and then does them one by one.

It reads one JSON object a line from stdin and answers each with one on stdout: `{"ready": true}`
once it can begin, and `{"returncode": N}` for each task, as the kernel tells it of a process. A
request names the task's `folder`, which takes its stdout and stderr and is where it works, its
`arguments` after `python -m pyscale_stages`, and `spawn_monotonic_s`, when it was asked for. The
worker ends when stdin does.
"""

from __future__ import annotations

import argparse
import atexit
import ctypes
import gc
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from pyscale_stages.arguments import read_params
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Origin, Stage, TaskSpec, WorkerRecord
from pyscale_stages.errors import BadInput, StageError
from pyscale_stages.measure import stamp
from pyscale_stages.measure.spans import SPAWN_VARIABLE, SpanRecorder
from pyscale_stages.measure.usage import peak_rss_bytes
from pyscale_stages.registry import load_stage
from pyscale_stages.runner import installed_versions, validated_params
from pyscale_stages.task import Task

Do = Callable[[Sequence[str], float, Origin], int]
"""Does the task of a command line, from a moment of the monotonic clock; its exit code."""
Request = dict[str, Any]

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_FORGET_PEAK = "5"
"""Written to clear_refs, it begins the high-water mark of resident memory anew."""


def serve(options: argparse.Namespace, main_monotonic_s: float, do: Do) -> int:
    """Load what the stage needs, say so in the file `--result`, and do tasks until stdin ends."""
    if options.result is None:
        raise BadInput("serve needs --result FILE.json, which tells what it has loaded")
    requests, answers = _channel()
    stage = load_stage(options.stage)
    worker = _warmed_up(stage, options, main_monotonic_s)
    write_atomically(options.result, worker.model_dump_json(indent=1) + "\n")
    # What is there now stays in memory that forks share, if no collection touches it.
    gc.collect()
    gc.freeze()
    libc = ctypes.CDLL(None, use_errno=True)
    # What a task leaves behind becomes a child of this process, which can then end it.
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _answer(answers, ready=True)
    for line in requests:
        request: Request = json.loads(line)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            if worker.why_unforked:
                returncode = _done_here(request, scratch, do)
            else:
                returncode = _forked(request, scratch, do, libc, (requests, answers))
        _answer(answers, returncode=returncode)
    return 0


def _channel() -> tuple[TextIO, TextIO]:
    """What requests are read from and answers written to; libraries get neither."""
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    # What a library prints would be read as an answer.
    os.dup2(2, 1)
    return requests, answers


def _answer(answers: TextIO, **record: Any) -> None:
    answers.write(json.dumps(record) + "\n")
    answers.flush()


def _warmed_up(stage: Stage, options: argparse.Namespace, main_monotonic_s: float) -> WorkerRecord:
    recorder = SpanRecorder(main_monotonic_s)
    recorder.add("import", main_monotonic_s, time.monotonic())
    spec = TaskSpec(
        stage=stage.name,
        inputs=(),
        params=read_params(options.params),
        seed=options.seed,
        threads=options.threads,
        device=options.device,
    )
    params = validated_params(stage, spec)
    error = ""
    try:
        stage.preload(Task(stage, spec, params, recorder))
    except (StageError, ImportError) as raised:
        # Each task will find the same, and say it in its record.
        error = str(raised)
    ready = time.monotonic()
    return WorkerRecord(
        stage=stage.name,
        params=spec.params,
        device=spec.device,
        threads=options.threads,
        pid=os.getpid(),
        start_utc=recorder.utc(recorder.start_monotonic_s),
        wall_s=ready - recorder.start_monotonic_s,
        spans=recorder.spans,
        peak_rss_bytes=peak_rss_bytes(),
        versions=installed_versions(stage.packages),
        why_unforked=stage.why_unforkable(params, spec.device),
        stamp=stamp.collect([]),
        error=error,
    )


def _forked(
    request: Request, scratch: str, do: Do, libc: ctypes.CDLL, channel: tuple[TextIO, TextIO]
) -> int:
    """Have a fork do a task; the kernel takes back all that it changed."""
    worker = os.getpid()
    # What lies in a buffer would be written by both processes.
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        _end_left_behind()
        return os.waitstatus_to_exitcode(status)
    begin = time.monotonic()
    code = 1
    try:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        # The death of a worker before the call above sends no signal.
        if os.getppid() != worker:
            os._exit(1)
        # What the worker registered is the worker's to clear up.
        atexit._clear()
        for stream in channel:
            os.close(stream.fileno())
        _become(request, scratch)
        code = _exit_code(lambda: do(request["arguments"], begin, "fork"))
        # `os._exit` leaves out what the task itself has registered.
        atexit._run_exitfuncs()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        # A child that returned would take the worker's next request.
        os._exit(code)


def _done_here(request: Request, scratch: str, do: Do) -> int:
    """Do a task in this process, and be as before when it is done."""
    begin = time.monotonic()
    with suppress(OSError):
        # Where the kernel refuses, the peak is that of all tasks so far.
        Path("/proc/self/clear_refs").write_text(_FORGET_PEAK, encoding="ascii")
    with _left_as_it_was():
        _become(request, scratch)
        code = _exit_code(lambda: do(request["arguments"], begin, "kept"))
    gc.collect()
    return code


@contextmanager
def _left_as_it_was() -> Iterator[None]:
    folder, variables = Path.cwd(), dict(os.environ)
    streams = [os.dup(1), os.dup(2)]
    try:
        yield
    finally:
        # What lies in a buffer belongs into the task's files.
        sys.stdout.flush()
        sys.stderr.flush()
        for number, kept in enumerate(streams, 1):
            os.dup2(kept, number)
            os.close(kept)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(variables)
        # The next use asks the environment again.
        tempfile.tempdir = None


def _become(request: Request, scratch: str) -> None:
    folder = Path(request["folder"])
    os.chdir(folder)
    for number, name in ((1, "stdout"), (2, "stderr")):
        file = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        os.dup2(file, number)
        os.close(file)
    os.environ[SPAWN_VARIABLE] = repr(request["spawn_monotonic_s"])
    os.environ["TMPDIR"] = tempfile.tempdir = scratch


def _exit_code(task: Callable[[], int]) -> int:
    """The exit code of a task, as the interpreter would make it of how the task ends."""
    try:
        return task()
    except SystemExit as end:
        if isinstance(end.code, int | None):
            return end.code or 0
        sys.stderr.write(f"{end.code}\n")
        return 1
    except BaseException:
        traceback.print_exc()
        return 1


def _end_left_behind() -> None:
    """Kill what a task has started and left, so that nothing of it disturbs the next."""
    with suppress(ChildProcessError):
        # `waitpid` raises where no child is left, which ends the loop.
        while True:
            os.waitpid(-1, os.WNOHANG)
            import psutil

            for child in psutil.Process().children():
                child.kill()
            # The children of what was killed come to this process, so it looks again.
            os.wait()
