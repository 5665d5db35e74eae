"""Answers of Slurm's own commands as plain records, and requests while its controller is away."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pyscale.errors import UserError
from pyscale.processes import ran

TIME_LIMIT_S = 60.0
"""A busy controller can take many seconds; what takes longer is down."""


@dataclass(frozen=True)
class Answer:
    """What a command of Slurm answered."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """What it complained of, without the name of the program."""
        return words_of(self.err or self.out) or f"exit code {self.code}"


def words_of(said: str) -> str:
    """All lines that a program complained in, in one, without the name of the program.

    What a site's own plugin says comes first, and Slurm's general line last.
    """
    # After an unknown option comes a hint at the program's help.
    lines = [line for line in said.splitlines() if not line.startswith("Try ")]
    bare = (re.sub(r"^\w+( error)?: ((error|fatal): )?", "", line.strip()) for line in lines)
    return "; ".join(dict.fromkeys(line for line in bare if line))


def slurm_is_here() -> bool:
    """Whether Slurm's commands are on PATH."""
    return shutil.which("sinfo") is not None


def ask(
    program: str,
    *arguments: str,
    time_limit_s: float = TIME_LIMIT_S,
    variables: Mapping[str, str] | None = None,
) -> Answer:
    """Run a command of Slurm; one that is absent or hangs answers with a complaint.

    What a user has set for calls by hand, like SQUEUE_STATES, is left out: it changes answers. What
    they set for sbatch is asked for.
    """
    configuration = os.environ.get("SLURM_CONF")
    if configuration and not Path(configuration).is_file():
        # Every command would look for it for a minute.
        absent = f"SLURM_CONF names {configuration}, which does not exist: unset SLURM_CONF"
        return Answer(1, "", absent)
    by_hand = f"{program.upper()}_"
    env = {
        key: value
        for key, value in os.environ.items()
        if program == "sbatch" or not key.startswith(by_hand)
    } | dict(variables or {})
    try:
        done = ran([program, *arguments], timeout=time_limit_s, env=env)
    except FileNotFoundError:
        return Answer(127, "", f"{program} is not on PATH")
    except subprocess.TimeoutExpired:
        return Answer(124, "", f"{program} does not answer within {time_limit_s:g} s")
    return Answer(done.returncode, done.stdout, done.stderr)


def sinfo(fields: str, *options: str) -> Answer:
    """Ask for fields of partitions or nodes."""
    return ask("sinfo", "--noheader", *options, f"--format={fields}")


def default_partition() -> str:
    """Partition of jobs that name none; UserError where Slurm does not tell."""
    answer = sinfo("%P")
    marked = [name for name in answer.out.split() if name.endswith("*")]
    if answer.code != 0 or not marked:
        why = answer.complaint if answer.code != 0 else "none is marked"
        raise UserError(f"unknown default partition of Slurm ({why}): name one in the site's file")
    return marked[0].removesuffix("*")


def minutes_of(limit: str) -> float:
    """Read a limit of time as Slurm writes it: infinite, or [days-][hours:]minutes:seconds."""
    days, _, clock = limit.rpartition("-")
    parts = clock.split(":")
    if not all(part.isdigit() for part in parts):
        return math.inf
    seconds = 0
    for part in parts:
        seconds = 60 * seconds + int(part)
    return 24 * 60 * int(days or 0) + seconds / 60


def longest_min(partition: str | None, qos: str | None) -> float:
    """Minutes that a job of a partition and a QOS may ask for; infinite without a limit.

    A job for several partitions needs one of their times alone.
    """
    try:
        answer = sinfo("%l", f"--partition={partition or default_partition()}")
    except UserError:
        return math.inf
    limits = [answer.out.split()]
    if qos is not None:
        told = ("show", "qos", qos, "format=maxwall,flags")
        # No limit where there are no accounts, or they do not answer.
        answer = ask("sacctmgr", "--noheader", "--parsable2", *told)
        longest, _, flags = (answer.out if answer.code == 0 else "").partition("|")
        if "PartitionTimeLimit" in flags:
            limits.clear()  # Jobs of this QOS may exceed what the partition allows.
        limits.append(longest.split())
    return min((max(map(minutes_of, each), default=math.inf) for each in limits), default=math.inf)


PAUSES_S = (2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 60.0)
"""Between requests while the controller is away; one that restarts is back long before the end."""
# Whole phrases of Slurm: a site's own refusal may say "try again" or "timed out" too.
_AWAY = re.compile(
    "unable to contact slurm controller"
    "|controller (is )?in standby mode"
    "|socket timed out on send/recv operation"
    "|zero bytes were transmitted or received"
    r"|(job submission failed|create step for job \d+): connection refused",
    re.IGNORECASE,
)
T = TypeVar("T")


def is_away(said: str) -> bool:
    """Whether sbatch or srun says that the controller is away, and not that it refuses."""
    return _AWAY.search(said) is not None


class ControllerAwayError(Exception):
    """The controller did not answer sbatch, and may have taken the job all the same."""


def wait(pause_s: float) -> None:
    """Wait between two requests; a signal is heard meanwhile."""
    threading.Event().wait(pause_s)


def persist(
    attempt: Callable[[], T],
    *,
    again: Callable[[], object],
    tell: Callable[[str], object],
    remedy: str,
) -> T:
    """What an attempt returns that is made again while the controller is away, for some minutes.

    `tell` hears once what Slurm said; `again` comes before each further attempt. The UserError at
    the end of the patience names a remedy.
    """
    limit = f"{sum(PAUSES_S) // 60:g} min"
    for pause_s in PAUSES_S:
        try:
            return attempt()
        except ControllerAwayError as away:
            if pause_s == PAUSES_S[0]:
                tell(f"{away}; it is asked again for up to {limit}")
        wait(pause_s)
        again()
    try:
        return attempt()
    except ControllerAwayError as away:
        raise UserError(f"Slurm took no job in {limit} ({away}): {remedy}") from away
