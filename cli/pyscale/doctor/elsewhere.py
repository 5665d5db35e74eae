"""Checks on this machine of a run whose tasks are on other nodes."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from pyscale.doctor.findings import Finding, problem, warning
from pyscale_stages.measure.mounts import filesystem_of

IN_MEMORY = frozenset(["tmpfs", "ramfs"])
NOT_TAKEN_AS_THEY_ARE = "%\\"
"""Characters that stand for something else where Slurm reads the name of a log."""
NOT_OVERRIDING = frozenset(["SBATCH_DEBUG", "SBATCH_EXPORT", "SBATCH_EXPORT_FILE"])


def out_of_nodes_sight(runs_folder: Path, movie: Path | None) -> Iterator[Finding]:
    """Look whether something that every node must see lies where each machine has its own."""
    for name, what, path, otherwise in (
        (
            "runs",
            "the runs folder",
            runs_folder,
            "set PYSCALE_RUNS_FOLDER (runs_folder in pyscale.toml) to a folder that all nodes see",
        ),
        ("data", "the movie", movie, "put it where all nodes see it"),
        (
            "environment",
            "this Python environment",
            Path(sys.prefix),
            "install pyscale where all nodes see it",
        ),
    ):
        if path is None:
            continue
        existing = next(one for one in (path, *path.parents) if one.exists()).resolve()
        own = [Path(folder).resolve() for folder in ("/tmp", "/var/tmp", tempfile.gettempdir())]
        if filesystem_of(existing).fs_type in IN_MEMORY or any(
            existing.is_relative_to(folder) for folder in own
        ):
            yield warning(
                f"disk.shared.{name}",
                f"{what}, {path}, is in a folder that is usually local to each machine, but "
                "every node must see it",
                otherwise,
            )


def misread_by_slurm(runs_folder: Path) -> Iterator[Finding]:
    """Look for what Slurm would take apart in the path of the folder where jobs leave logs."""
    path = str(runs_folder.resolve())
    found = [character for character in NOT_TAKEN_AS_THEY_ARE if character in path]
    if found:
        yield problem(
            "slurm.logs",
            f"the path of the runs folder, {path}, holds a {' and a '.join(found)}, so Slurm "
            "would put the logs of jobs elsewhere",
            "set runs_folder to a path without them",
        )


def overriding(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Look for variables that sbatch obeys before what a script says."""
    found = sorted(
        f"{name}={value}"
        for name, value in environment.items()
        if name.startswith("SBATCH_") and name not in NOT_OVERRIDING
    )
    if found:
        yield problem(
            "slurm.environment",
            f"{', '.join(found)} in this environment would override the site's file",
            "set it in the site's file, and unset it here",
        )
