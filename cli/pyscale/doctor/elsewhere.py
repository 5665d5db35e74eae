"""Checks for a run on a cluster: what nodes do not see, what overrides a job, what limits it."""

from __future__ import annotations

import getpass
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pyscale.doctor.disks import IN_MEMORY, nearest
from pyscale.doctor.findings import Finding, ok, problem, warning
from pyscale.slurm.commands import accounts, ask
from pyscale_stages.measure.mounts import filesystem_of

NOT_TAKEN_AS_THEY_ARE = "%\\"
"""Characters that stand for something else where Slurm reads the name of a log."""
NOT_OVERRIDING = frozenset(["SBATCH_DEBUG", "SBATCH_EXPORT", "SBATCH_EXPORT_FILE"])


def out_of_nodes_sight(
    runs_folder: Path, movie: Path | None, of_step: Sequence[Path] = ()
) -> Iterator[Finding]:
    """Look whether something that every node must see lies where each machine has its own.

    `of_step` are folders in which own steps run, and files that these name.
    """
    seen_by_all = "put it where all nodes see it"
    steps = (("step", "what the step runs", path, seen_by_all) for path in of_step)
    for name, what, path, otherwise in (
        (
            "runs",
            "the runs folder",
            runs_folder,
            "set PYSCALE_RUNS_FOLDER (runs_folder in pyscale.toml) to a folder that all nodes see",
        ),
        ("data", "the movie", movie, seen_by_all),
        (
            "environment",
            "this Python environment",
            Path(sys.prefix),
            "install pyscale where all nodes see it",
        ),
        *steps,
    ):
        if path is None:
            continue
        existing = nearest(path).resolve()
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


NO_ACCOUNTING = ("accounting_storage/none", "(null)")


LOWER_TIME = "lower hold_limit_hours in the site's file, or name another partition or qos there"


def account_of_user(account: str) -> Iterator[Finding]:
    """Look whether an account is one of this user's."""
    check, user = "slurm.account", getpass.getuser()
    if _configured("AccountingStorageType") in NO_ACCOUNTING:
        yield problem(
            check,
            f"the site's file names the account {account}, but this Slurm keeps no accounts",
            "leave account out of the site's file",
        )
        return
    known = sorted(set(accounts("show", "assoc", f"user={user}", "format=account").split()))
    if not known:
        return  # Where sacctmgr does not answer, --test-only has the last word.
    if account in known:
        yield ok(check, f"{user} may use the account {account}")
    else:
        yield problem(
            check,
            f"{user} may not use the account {account}; allowed: {', '.join(known)}",
            "name one of these in the site's file, or ask the staff",
        )


def _configured(option: str) -> str:
    """An option of Slurm's configuration; empty where Slurm does not tell."""
    for line in ask("scontrol", "show", "config").out.splitlines():
        name, _, value = line.partition("=")
        if name.strip() == option:
            return value.strip()
    return ""
