"""A run in the working folder, seen by a test while a process of pyscale carries it out."""

from pathlib import Path

import psutil
from watchfiles import watch

from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal


def only_run():
    (path,) = Path("runs").iterdir()
    return RunFolder(path)


def wait_for_event(kind, process, times=1):
    """Return when the journal of the only run tells of an event, the so-manieth time."""
    Path("runs").mkdir(exist_ok=True)
    for _ in watch("runs", rust_timeout=100, yield_on_timeout=True, step=5, watch_filter=None):
        ended = process.poll() is not None
        journals = list(Path("runs").glob("*/journal.jsonl"))
        told = [event.kind for event in Journal(journals[0]).read()] if journals else []
        if told.count(kind) >= times:
            return
        assert not ended, process.communicate()


def living(run):
    """Processes that still work for a run."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(str(run.path) in part for part in process.info["cmdline"] or [])
    ]
