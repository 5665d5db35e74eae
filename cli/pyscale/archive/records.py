"""The files of a run that are its records, read safely while it may be under way."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from pyscale.console import talk
from pyscale.errors import UserError
from pyscale.images.lockfile import LOCK_NAME
from pyscale.processes import WORKERS_FOLDER
from pyscale.store.folder import PLAN_FILE, RunFolder
from pyscale.store.provenance import PROVENANCE_FILE, read_provenance
from pyscale.store.records import (
    CACHE_FILE,
    EXIT_FILE,
    LAUNCH_FILE,
    NODE_FILE,
    ORDER_FILE,
    PARAMS_FILE,
    RESULT_FILE,
    SPEC_FILE,
    SURROUNDINGS_FILE,
    WITHDRAWN_FILE,
    WORKER_FILE,
)

_RECORDS = frozenset(
    [
        SPEC_FILE,
        PARAMS_FILE,
        ORDER_FILE,
        WITHDRAWN_FILE,
        LAUNCH_FILE,
        EXIT_FILE,
        RESULT_FILE,
        CACHE_FILE,
        SURROUNDINGS_FILE,
        WORKER_FILE,
        "stdout",
        "stderr",
    ]
)
_NODE_PREFIX = NODE_FILE.partition("{")[0]
_OUTPUT = "out"


def record_files(run: RunFolder) -> Iterator[str]:
    """Names of the records of a run below its folder, in order; never its outputs.

    What pyscale did not write is left out. So is a link, and that is said: it could lead to any
    file of this machine.
    """
    yield from (PLAN_FILE, PROVENANCE_FILE, run.journal_file.name)
    tasks = run.path / "tasks"
    trials = {trial.id for trial in run.plan.trials}
    for folder, subfolders, files in os.walk(tasks):
        inside = Path(folder)
        for name in sorted({*subfolders, *files}):
            if (inside / name).is_symlink():
                talk(f"{inside / name} is a link and is left out of the archive")
        subfolders[:] = sorted(
            name
            for name in subfolders
            # An earlier attempt is called as its trial is, with more after a dot.
            if (name.partition(".")[0] in trials if inside == tasks else name != _OUTPUT)
        )
        for name in sorted(files):
            path = inside / name
            if _is_record(name) and path.is_file() and not path.is_symlink():
                # `tasks` may itself be a link to a larger disk.
                yield (Path("tasks") / path.relative_to(tasks)).as_posix()
    for path in sorted((run.path / WORKERS_FOLDER).glob("*/*")):
        if _is_record(path.name) and path.is_file() and not path.is_symlink():
            yield path.relative_to(run.path).as_posix()


def _is_record(name: str) -> bool:
    node = name.startswith(_NODE_PREFIX) and name.endswith(".json")
    return name in _RECORDS or node or name.endswith(".jobs.json")


def images_lock(run: Path) -> Path | None:
    """Return `images.lock` of the folder that the images of a run lie in, where they do."""
    containers = read_provenance(run).containers
    if containers is None or not containers.images:
        return None
    file = containers.images[0].path.parent / LOCK_NAME
    return file if file.is_file() else None


def read_bytes(file: Path) -> bytes | None:
    """Content of a record; None where a run under way has just put its folder aside."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise
        raise UserError(
            f"{file} cannot be read ({error.strerror}), so the archive would be incomplete: make "
            "it readable, and archive the run again"
        ) from error
