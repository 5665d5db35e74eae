"""The launcher: starts one task's process on the node, watches it, and records how it ended.

Run as `python -m pyscale.executors.launch PARENT FOLDER TOKEN [FOLDER TOKEN …]`: PARENT is the
process that it ends with, or 0 for its own parent, and the tasks are one, or those of the ranks of
a step. Nothing heavy is imported, so it knows the records it reads and writes by their keys alone.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from pyscale.errors import last_line
from pyscale.executors.node_prolog import do_once_on_this_node
from pyscale.interruption import end_with_parent, killed_by, signal_name, tell_kernel
from pyscale_stages.atomic import write_atomically
from pyscale_stages.measure.binding import bind_to, bound_to
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.measure.spans import SPAWN_VARIABLE
from pyscale_stages.ranks.rank_failure import tell_end

Order = dict[str, Any]
PR_SET_CHILD_SUBREAPER = 36
EXIT_NO_PROGRAM = 127
"""Exit code of a task whose program could not be started, as shells have it."""


def main(arguments: Sequence[str]) -> None:
    """Run the task of this rank of a step, or the only one."""
    parent, *named = arguments
    tasks = list(zip(named[::2], named[1::2], strict=True))
    # Whoever starts one may be a rank of a step itself.
    rank = int(os.environ["SLURM_PROCID"]) if len(tasks) > 1 else 0
    # Slurm's own process on a node ends its steps.
    end_with_parent(int(parent) or os.getppid())
    launch(*tasks[rank])


def launch(folder: str, token: str) -> int | None:
    """Run the task whose order lies in `folder`, return its exit code, and leave its records there.

    The order is that of the token, where another one may take its place before the job begins. None
    where there was nothing to run: the order is gone, or was begun before.
    """
    task = Path(folder)
    begin_utc = datetime.now(UTC)
    order = _standing(task, token)
    if order is None:
        return None
    with environment_of(order) as environment:
        returncode = _run(task, order, environment, begin_utc)
        end_orphans()
    if stands(task, order):
        write_exit(task, order, returncode)
    return returncode


def _standing(task: Path, token: str) -> Order | None:
    """The order of a task that is to be done, once its work on this node is.

    None where another one has taken its place, or it was begun before.
    """
    order = read(task / "order.json")
    if order is None or order["token"] != token or _was_begun(task, order):
        return None
    settle_in(order)
    if order["node_work"]:
        do_once_on_this_node(order["node_work"])
    # Looked at again: the trial may have been set aside while that work was waited for.
    return order if stands(task, order) else None


def _was_begun(task: Path, order: Order) -> bool:
    """Whether the order was begun before; if it did not end by itself, record why not."""
    before = read(task / "launch.json")
    if before is None or before["token"] != order["token"]:
        return False
    if not _is_explained(read(task / "exit.json"), order):
        message = (
            f"Slurm requeued this job after the task had begun on {before['node']}, as after "
            "preemption or the loss of a node: use a partition without preemption, or allow more "
            "retries"
        )
        cause = {"kind": "Requeued", "message": message, "exit_code": 1}
        write_exit(task, order, None, cause)
    return True


def _is_explained(ended: Order | None, order: Order) -> bool:
    """Whether an exit record is the order's, and tells more than that the process was killed."""
    if ended is None or ended["token"] != order["token"]:
        return False
    returncode = ended["returncode"]
    in_container = bool(order["container"])
    killed = returncode is None or killed_by(returncode, in_container=in_container) is not None
    return bool(ended["cause"]) or not killed


def stands(task: Path, order: Order) -> bool:
    """Whether the order is still that of its folder: its trial may have been set aside."""
    now = read(task / "order.json")
    return now is not None and now["token"] == order["token"]


def _run(task: Path, order: Order, environment: dict[str, str], begin_utc: datetime) -> int:
    spawn_utc = datetime.now(UTC)
    process = started(task, order, environment)
    if process is None:
        return EXIT_NO_PROGRAM
    signal.signal(signal.SIGTERM, lambda received, _frame: process.send_signal(received))
    _write(
        task / "launch.json",
        token=order["token"],
        begin_utc=begin_utc.isoformat(),
        pid=process.pid,
        node=node_name(),
        spawn_utc=spawn_utc.isoformat(),
        job_id=os.environ.get("SLURM_JOB_ID"),
        cpus=bound_to(),
    )
    with guarded(process.pid, order):
        return process.wait()


def started(
    folder: Path, order: Order, environment: dict[str, str]
) -> subprocess.Popen[bytes] | None:
    """Start the process of an order; None, and `stderr` says why, where that cannot be."""
    from pyscale_stages.binds import VARIABLE_PREFIX

    prefix = VARIABLE_PREFIX if order["container"] else ""
    with (folder / "stdout").open("wb") as stdout, (folder / "stderr").open("wb") as stderr:
        # Last of all: the task's own time counts from here.
        environment[prefix + SPAWN_VARIABLE] = repr(time.monotonic())
        try:
            return subprocess.Popen(
                order["argv"],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                preexec_fn=partial(end_with_parent, os.getpid()),  # noqa: PLW1509 - no other thread runs here
            )
        except OSError as error:
            remedy = "install it there at the same path"
            if error.errno == errno.E2BIG:
                remedy = "lower --workers or --set chunks_per_worker for fewer windows"
            stderr.write(
                f"{order['argv'][0]} cannot be started on {node_name()} "
                f"({error.strerror}): {remedy}\n".encode()
            )
            return None


@contextmanager
def environment_of(order: Order) -> Iterator[dict[str, str]]:
    """Yield the variables of an order's process; its scratch space goes with the block."""
    from pyscale.executors.containernode import prepared, scratch

    if order["container"]:
        with prepared(order["container"], order["env"]) as environment:
            yield environment
    elif prefix := order["scratch_prefix"]:
        with scratch(prefix) as folder:
            yield os.environ | {"TMPDIR": folder} | order["env"]
    else:
        yield os.environ | order["env"]


def read(path: Path) -> Order | None:
    """Read a record by its keys alone; None where it is not there."""
    try:
        record: Order = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return record


def write_exit(
    task: Path, order: Order, returncode: int | None, cause: dict[str, Any] | None = None
) -> None:
    """Record that the process of an order has ended."""
    # Before the record: once that is there, another attempt may have taken the folder.
    tell_other_ranks(task, order, returncode, cause)
    _write(
        task / "exit.json",
        token=order["token"],
        returncode=returncode,
        end_utc=datetime.now(UTC).isoformat(),
        cause=cause,
    )


def tell_other_ranks(
    task: Path, order: Order, returncode: int | None, cause: dict[str, Any] | None
) -> None:
    """Write how a task ended beside its meeting, if it has one and did not end well."""
    if order["meeting"] is not None and returncode != 0:
        sentence = cause["message"] if cause else _how(task, order, returncode)
        tell_end(Path(order["meeting"]), f"rank {order['rank']} ended ({sentence})")


def _how(task: Path, order: Order, returncode: int | None) -> str:
    process = f"its process on {node_name()}"
    if returncode is None:
        return f"{process} vanished without a message"
    killer = killed_by(returncode, in_container=bool(order["container"]))
    if killer is not None:
        return f"{process} was killed by {signal_name(killer)}"
    said = last_line(task / "stderr").removeprefix("error: ")
    return said or f"{process} ended with exit code {returncode} and no message"


def _write(path: Path, **record: Any) -> None:
    write_atomically(path, json.dumps(record) + "\n")


def settle_in(order: Order) -> None:
    """Lead the processes that the order starts, adopt what they leave behind, and pin them."""
    # The lines of shell that a job begins with made it on the first of its nodes alone.
    with suppress(OSError, KeyError):
        Path(os.environ["TMPDIR"]).mkdir(parents=True, exist_ok=True)
    # Whoever leads a session or a group of processes already has what this is for.
    with suppress(PermissionError):
        os.setsid()
    tell_kernel(PR_SET_CHILD_SUBREAPER, 1)
    if order["cpus"]:
        bind_to(order["cpus"])


@contextmanager
def guarded(pid: int, order: Order) -> Iterator[None]:
    """Have another process kill a container in the block, once this process is gone.

    The kernel forgets the wish of `end_with_parent` when a process takes other rights, and that
    is how a container begins.
    """
    if not order["container"]:
        yield
        return
    read_end, write_end = os.pipe()
    guard = os.fork()
    if not guard:
        _guard(pid, read_end)
    os.close(read_end)
    try:
        yield
    finally:
        # Before the pipe is closed: the guard would take that for the end of this process.
        os.kill(guard, signal.SIGKILL)
        os.waitpid(guard, 0)
        os.close(write_end)


def _guard(pid: int, read_end: int) -> NoReturn:
    # What this process holds open, others would wait for the end of.
    os.closerange(3, read_end)
    os.closerange(read_end + 1, os.sysconf("SC_OPEN_MAX"))
    # Only the parent holds the other end, so the read returns when that has gone.
    os.read(read_end, 1)
    import psutil

    with suppress(psutil.NoSuchProcess):
        program = psutil.Process(pid)
        for process in (*program.children(recursive=True), program):
            with suppress(psutil.NoSuchProcess):
                process.kill()
    # Not by sys.exit, which would clean up what is the parent's.
    os._exit(0)


def end_orphans() -> None:
    """Kill what a task left behind, like what mounts the image of a killed container."""
    with suppress(ChildProcessError):
        while True:
            # Raises where no child is left, which ends the loop.
            os.waitpid(-1, os.WNOHANG)
            # Seldom needed, and slow to import.
            import psutil

            for child in psutil.Process().children():
                child.kill()
            os.wait()


if __name__ == "__main__":
    main(sys.argv[1:])
