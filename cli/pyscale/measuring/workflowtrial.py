"""Runs a workflow once, in a fresh work directory, and tells the times of its rules or processes.

The command of a step: `python -m pyscale.measuring.workflowtrial ENGINE FILE KEY N INPUT OUTPUT
WORD…`. It is timed as a whole, so it imports little.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from pyscale.errors import UserError
from pyscale_stages.telling import metric
from pyscale_stages.wording import plural

if TYPE_CHECKING:
    from pyscale.traces.tasks import TracedTask

MOST_FILES = 20_000
"""Linking so many takes a second, and more are hardly a workflow."""
OF_NEXTFLOW, TRACE = "work", "pyscale-trace.txt"
"""Folder of Nextflow's tasks, and their trace."""
FIELDS = "task_id,hash,process,name,status,attempt,exit,realtime,start,complete"
SHOWN = 3
"""Lines of a workflow that failed; as many are repeated of a command."""
KEPT = 200
"""Lines among which these are found."""
CAUSES = {
    "snakemake": r"Error in rule ",
    "nextflow": r"Error executing process|Command error:|^ERROR ~",
}
"""Lines that say what failed."""
SURROUNDINGS = {
    "snakemake": r"\s|\[|RuleException|CalledProcessError|Shutting down|Exiting because"
    r"|Complete log|Elapsed time|WorkflowError|At least one job",
    "nextflow": r"\s*$|Work dir:|  /|Tip:| -- |Container:",
}
"""How lines begin that say nothing more of that."""


def main(arguments: Sequence[str]) -> int:
    """Run the workflow; return the exit code of its engine, or 2 where it cannot be run."""
    engine, file, key, n, _, output, *words = arguments
    work = Path(output).parent
    try:
        link_files(root_of(engine, Path(file)), work, but=Path(output).name)
        code = _run([*engine_line(engine, file, key, n, work), *words], engine, work)
        if code == 0:
            tell_times(traced(engine, work))
    except UserError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return code


def root_of(engine: str, file: Path) -> Path:
    """Folder that relative paths of a workflow begin in."""
    in_standard_place = engine == "snakemake" and file.parent.name == "workflow"
    return file.parent.parent if in_standard_place else file.parent


def link_files(root: Path, work: Path, *, but: str) -> None:
    """Show files of a workflow in its work directory by links, so that all it writes is new.

    Left out are hidden ones, what it writes (`but`), and folders around the work directory.
    """
    # Both by one name: a walk into the work directory would link what it links for ever.
    root, work = root.resolve(), work.resolve()
    count = 0
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        skipped = {but, OF_NEXTFLOW} if here == root else set()
        folders[:] = [
            name
            for name in folders
            if name[0] != "." and name not in skipped and not work.is_relative_to(here / name)
        ]
        place = work / here.relative_to(root)
        place.mkdir(parents=True, exist_ok=True)
        linked = [name for name in folders if (here / name).is_symlink()]
        for name in (*files, *linked):
            if name[0] == "." or name in skipped:
                continue
            count += 1
            if count > MOST_FILES:
                raise UserError(
                    f"{root} holds more than {MOST_FILES} files: keep the workflow in a folder of "
                    "its own, and name its data by {input}"
                )
            (place / name).symlink_to(here / name)


def engine_line(engine: str, file: str, key: str, n: str, work: Path) -> list[str]:
    """Command line of the engine, whose own options can follow."""
    if engine == "snakemake":
        # All of the work is done every time, whatever results are linked from the folder.
        own = [f"--{key}", n, "--forceall", "--nocolor"]
        return ["snakemake", "--snakefile", file, "--directory", ".", *own]
    config = work / "pyscale.config"
    config.write_text(
        f"trace.raw = true\ntrace.overwrite = true\ntrace.fields = '{FIELDS}'\n{key} = {n}\n",
        encoding="utf-8",
    )
    return [
        *("nextflow", "-c", str(config), "run", file, "-ansi-log", "false"),
        *("-work-dir", OF_NEXTFLOW, "-with-trace", TRACE),
    ]


def _run(line: Sequence[str], engine: str, work: Path) -> int:
    """Run the engine and repeat what it says; where it fails, what says why comes last."""
    said: deque[str] = deque(maxlen=KEPT)
    try:
        process = subprocess.Popen(
            line,
            cwd=work,
            # A question to the network is no part of the workflow.
            env={**os.environ, "NXF_DISABLE_CHECK_LATEST": "true"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise UserError(
            f"{engine} cannot be started ({error.strerror}): install it where the workflow runs"
        ) from None
    assert process.stdout is not None
    for words in process.stdout:
        sys.stderr.write(words)
        said.append(words.rstrip("\n"))
    code = process.wait()
    if code:
        sys.stderr.writelines(f"{words}\n" for words in why_failed(engine, said))
    # One that was killed has a negative one, which no process may end with.
    return code if code >= 0 else 128 - code


def why_failed(engine: str, said: Iterable[str]) -> list[str]:
    """Lines that say why a workflow failed; none where these are its last ones already."""
    lines = [*said]
    causes = [at for at, line in enumerate(lines) if re.search(CAUSES[engine], line)]
    if not causes:
        return []
    beside = re.compile(SURROUNDINGS[engine])
    # Snakemake repeats a job's own words before it names the rule, Nextflow after that.
    end = causes[0] + 1 if engine == "snakemake" else len(lines)
    return [line for line in lines[:end] if not beside.match(line)][-SHOWN:]


def traced(engine: str, work: Path) -> list[TracedTask]:
    """Tasks of a workflow that has run, from its engine's own records."""
    from pyscale.traces.nextflow import read_nextflow
    from pyscale.traces.snakemake import read_metadata
    from pyscale.traces.tasks import Asked
    from pyscale.traces.tracefile import read_text

    if engine == "snakemake":
        return read_metadata(work / ".snakemake" / "metadata")
    tasks = read_nextflow(work / TRACE, read_text(work / TRACE), Asked())
    cached = [task.name for task in tasks if task.flaw == "cached"]
    if cached:
        named = ", ".join(islice(cached, SHOWN))
        raise UserError(
            f"Nextflow took {plural(len(cached), 'task')} from its cache ({named}), so they were "
            "not measured: leave resume out of its configuration"
        )
    return tasks


def tell_times(tasks: Iterable[TracedTask]) -> None:
    """Tell for each rule or process how long it was running, and how long a job of it took."""
    by_stage: dict[str, list[TracedTask]] = defaultdict(list)
    for task in tasks:
        by_stage[task.stage].append(task)
    for stage, own in by_stage.items():
        dated = sorted(task.interval for task in own if task.interval is not None)
        if len(dated) == len(own):
            # The length of the union of their intervals: time in which two ran counts once.
            running_s, until = 0.0, dated[0][0]
            for start, end in dated:
                running_s += max((end - max(start, until)).total_seconds(), 0.0)
                until = max(until, end)
            means = "Time in which jobs of it ran"
            metric(stage, running_s, unit="s", better="lower", means=means)
        walls = [task.wall_s for task in own if task.wall_s is not None]
        if walls:
            mean_s = sum(walls) / len(walls)
            means = "Mean time of its jobs"
            metric(f"{stage}, one job", mean_s, unit="s", better="lower", means=means)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
