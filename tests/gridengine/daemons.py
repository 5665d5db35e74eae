"""A Grid Engine of one node on this machine, for as long as a block lasts."""

import os
import shutil
import socket
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

DEADLINE_S = 120.0

ROOT = Path("/var/lib/gridengine")
PIDS = Path("/run/gridengine")
QMASTER, EXECD = Path("/usr/sbin/sge_qmaster"), Path("/usr/sbin/sge_execd")
VARIABLES = {
    "SGE_ROOT": str(ROOT),
    "SGE_CELL": "default",
    "SGE_MASTER_PIDFILE": str(PIDS / "qmaster.pid"),
    "SGE_EXECD_PIDFILE": str(PIDS / "execd.pid"),
}
PARALLEL_ENVIRONMENT = r"""pe_name smp
slots 999
user_lists NONE
xuser_lists NONE
start_proc_args NONE
stop_proc_args NONE
allocation_rule $pe_slots
control_slaves FALSE
job_is_first_task TRUE
urgency_slots min
accounting_summary FALSE
qsort_args NONE
"""
AT_ONCE = {"schedule_interval": "0:0:1", "flush_submit_sec": "1", "flush_finish_sec": "1"}
QUEUE = {
    "qname": "all.q",
    "hostlist": "localhost",
    "slots": "8",
    "pe_list": "smp",
    "shell": "/bin/bash",
    "load_thresholds": "NONE",
}


def is_absent():
    """Whether there is none here that root could start."""
    return os.geteuid() != 0 or shutil.which("qsub") is None or not QMASTER.exists()


def say(*command, check=True):
    """Run a command of Grid Engine; return what it said."""
    return subprocess.run(
        [str(word) for word in command],
        env=os.environ | VARIABLES,
        check=check,
        capture_output=True,
        text=True,
    ).stdout


def wait_for(condition, what):
    """Ask until a condition holds: nothing tells when it does."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {DEADLINE_S:g} s: {what}"
        threading.Event().wait(0.2)


@contextmanager
def running(folder):
    """Start both daemons, with a queue of eight slots; end them, and all jobs, with the block."""
    common = ROOT / "default" / "common"
    (common / "host_aliases").write_text(f"localhost {socket.gethostname()}\n")
    (common / "act_qmaster").write_text("localhost\n")
    PIDS.mkdir(exist_ok=True)
    shutil.chown(PIDS, "sgeadmin")
    try:
        say(QMASTER)
        wait_for(lambda: say("qconf", "-sh", check=False), "the master answers")
        say("qconf", "-as", "localhost", check=False)
        # Root may submit; the execution daemon reads this at its start.
        wanted = say("qconf", "-sconf").replace("#global:\n", "")
        put(folder / "global", wanted, {"min_uid": "0", "min_gid": "0"})
        say("qconf", "-Mconf", folder / "global")
        put(folder / "scheduler", say("qconf", "-ssconf"), AT_ONCE)
        say("qconf", "-Msconf", folder / "scheduler")
        say(EXECD)
        (folder / "smp").write_text(PARALLEL_ENVIRONMENT)
        say("qconf", "-Ap", folder / "smp", check=False)
        put(folder / "queue", say("qconf", "-sq"), QUEUE)
        say("qconf", "-Aq", folder / "queue", check=False)
        wait_for(lambda: "lx-amd64" in say("qstat", "-f"), "the node answers")
        yield
    finally:
        say("qdel", "-f", "-u", "*", check=False)
        say("qconf", "-ke", "all", check=False)
        say("qconf", "-km", check=False)


def put(file, text, changes):
    """Write settings, a line each, with some changed."""
    lines = []
    for line in text.splitlines():
        name = line.partition(" ")[0]
        lines.append(f"{name} {changes[name]}" if name in changes else line)
    file.write_text("\n".join(lines) + "\n")
