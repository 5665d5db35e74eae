"""Say of each mutant of a fixed list whether the tests notice it: a net below large refactorings.

Every mutant of tests/mutants/mutants.toml is one small mistake. Each worker has a copy of the
checkout, in which it makes one mistake at a time, runs the tests that are named with it, and takes
it back. Exit code 1: one that is recorded as killed survives or applies nowhere any more, or its
tests fail without it. Usage: mutants.py [--only ID …] [--jobs 2] [--record].
"""

from __future__ import annotations

import argparse
import ast
import itertools
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import Queue
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIST = Path("tests", "mutants", "mutants.toml")
SOURCES = ("cli", "stages")
NOT_COPIED = (".*", "__pycache__", "build", "dist", "runs")
LIMIT_S = 120
"""Tests that take longer have noticed: the mutant waits for ever, or nearly."""
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow")
WHERE = "import pyscale, pyscale_stages; print(pyscale.__file__, pyscale_stages.__file__)"
OUTCOMES = KILLED, SURVIVED, LOST, NOT_GREEN = "killed", "survived", "does not apply", "not green"
"""Not green are tests that fail without the mutant too."""

Mutant = dict[str, Any]


def mutants(root: Path) -> list[Mutant]:
    """The list of a checkout."""
    listed: list[Mutant] = tomllib.loads((root / LIST).read_text(encoding="utf-8"))["mutant"]
    return listed


def places(root: Path, mutant: Mutant) -> list[tuple[Path, int]]:
    """File and line, from 0, of everything that a mutant applies to, which should be one.

    Code moves: what is not in the function that is named is sought in functions of the same name
    anywhere, and then in the whole source.
    """
    function, own = mutant["function"], root / mutant["file"]
    found = [(own, line) for line in lines_of(own, function, mutant)] if own.is_file() else []
    every = () if found else [file for part in SOURCES for file in (root / part).rglob("*.py")]
    for name in (function, None):
        found = found or [(file, at) for file in every for at in lines_of(file, name, mutant)]
    return found


def lines_of(file: Path, function: str | None, mutant: Mutant) -> Iterator[int]:
    """Lines at which the text of a mutant begins, in a function or in the whole file."""
    text, wanted = file.read_text(encoding="utf-8"), mutant["before"].split("\n")
    lines = [line.strip() for line in text.split("\n")]
    if wanted[0] not in lines:
        return
    spans = [(0, len(lines))] if function is None else spans_of(ast.parse(text), function)
    for start, end in spans:
        yield from (at for at in range(start, end) if lines[at : at + len(wanted)] == wanted)


def spans_of(node: ast.AST, function: str, above: str = "") -> Iterator[tuple[int, int]]:
    """First line and end of the functions of a qualified name, like `Sweep.frames_at`."""
    for child in ast.iter_child_nodes(node):
        name = above
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{above}.{child.name}".lstrip(".")
            if name == function:
                yield child.lineno - 1, child.end_lineno or child.lineno
        yield from spans_of(child, function, name)


def mutated(text: str, line: int, after: str) -> str:
    """The text with other words from a line on, which are indented as those before."""
    lines = text.split("\n")
    for at, words in enumerate(after.split("\n"), start=line):
        lines[at] = lines[at].removesuffix(lines[at].lstrip()) + words
    return "\n".join(lines)


class Worker:
    """A copy of the checkout, in which tests import the copy and not what is installed."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.checkout, self._log = folder / "checkout", folder / "log"
        shutil.copytree(root, self.checkout, ignore=shutil.ignore_patterns(*NOT_COPIED))
        if (shared := root.parent / "shared").exists():
            (folder / "shared").symlink_to(shared.resolve())
        paths = os.pathsep.join(str(self.checkout / part) for part in SOURCES)
        # Bytecode is kept: else hundreds of modules would be compiled anew for each mutant.
        self._env = os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": ""}
        self._times_s = itertools.count(1)
        imported = self._python("-c", WHERE)[1].split()
        if not all(Path(file).is_relative_to(self.checkout) for file in imported):
            sys.exit(f"error: mutants are made in {self.checkout}, but tests import {imported}")

    def failing(self, tests: Sequence[str]) -> set[str]:
        """Which of some files of tests fail without any mutant."""
        found = {name for name in tests if not (self.checkout / name).exists()}
        there = [name for name in tests if name not in found]
        code, said = self._python(*PYTEST, *there, limit_s=None) if there else (0, "")
        found |= set(re.findall(r"^(?:FAILED|ERROR) ([^:\s]+)", said, re.MULTILINE))
        # What has no name here, as an error in a conftest.py, is any file's.
        return found if code == 0 or found else set(tests)

    def outcome(self, mutant: Mutant) -> tuple[str, str]:
        """Make the mistake, run its tests, and take it back; return what comes of it, and why."""
        found = places(self.checkout, mutant)
        if len(found) != 1:
            return LOST, f"{len(found)} places"
        [(file, line)] = found
        text = file.read_text(encoding="utf-8")
        self._write(file, mutated(text, line, mutant["after"]))
        code, said = self._python(*PYTEST, "-x", *mutant["tests"])
        self._write(file, text)
        first = re.search(r"^(?:FAILED|ERROR) (\S+)", said, re.MULTILINE)
        last = said.strip().rpartition("\n")[2]
        return SURVIVED if code == 0 else KILLED, first[1] if first else last

    def _python(self, *words: str, limit_s: float | None = LIMIT_S) -> tuple[int | None, str]:
        """Run Python in the copy; return its exit code, or None beyond the limit, and its words."""
        with self._log.open("w+", encoding="utf-8", errors="replace") as log:
            process = subprocess.Popen(
                [sys.executable, *words],
                cwd=self.checkout,
                env=self._env,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            with suppress(subprocess.TimeoutExpired):
                process.wait(limit_s)
            code = process.returncode
            # What a test left running would slow down those of the next mutant.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            log.seek(0)
            return code, log.read()

    def _write(self, file: Path, text: str) -> None:
        file.write_text(text, encoding="utf-8")
        # Bytecode is known by time and size, and two mutants of one second may be of one size.
        os.utime(file, (time_s := next(self._times_s), time_s))


def outcomes(root: Path, chosen: Sequence[Mutant], jobs: int) -> Iterator[tuple[str, str]]:
    """What comes of each mutant, in their order; whose tests fail without it are not tried."""
    free: Queue[Worker] = Queue()

    def tried(mutant: Mutant, failing: set[str]) -> tuple[str, str]:
        worker, start_s = free.get(), time.monotonic()
        failed = failing & set(mutant["tests"])
        found, why = (NOT_GREEN, " ".join(failed)) if failed else worker.outcome(mutant)
        free.put(worker)
        print(f"{mutant['id']:14}{time.monotonic() - start_s:6.1f} s  {found}: {why}", flush=True)
        return found, why

    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(jobs) as pool:
        for number in range(jobs):
            free.put(Worker(root, Path(folder, str(number))))
        tests = sorted({name for mutant in chosen for name in mutant["tests"]})
        parts = pool.map(Worker.failing, list(free.queue), (tests[at::jobs] for at in range(jobs)))
        yield from pool.map(partial(tried, failing=set().union(*parts)), chosen)


def recorded(text: str, mutant: Mutant, found: str) -> str:
    """The list with what came of a mutant; why one survives is for people to say."""
    survives = mutant.get("survives", "not explained yet")
    outcome = {KILLED: "killed = true\n", SURVIVED: f'survives = "{survives}"\n'}.get(found)
    block = re.compile(rf'(id = "{mutant["id"]}"\n(?:(?!killed|survives|\n).*\n)*)(?:\w+ = .*\n)?')
    return text if outcome is None else block.sub(lambda match: match[1] + outcome, text)


def main(words: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Try the chosen mutants, tell of each and of each room, and hold them against the record."""
    parser = argparse.ArgumentParser(description=f"Try the mutants of {LIST}.")
    parser.add_argument("--only", nargs="+", metavar="ID", default=[""], help="or rooms; all")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time (2)")
    parser.add_argument("--record", action="store_true", help=f"write outcomes into {LIST}")
    asked, start_s = parser.parse_args(words), time.monotonic()
    chosen = [one for one in mutants(root) if one["id"].startswith(tuple(asked.only))]
    worse, rooms, text = [], Counter[tuple[str, str]](), (root / LIST).read_text(encoding="utf-8")
    for mutant, (found, why) in zip(chosen, outcomes(root, chosen, asked.jobs), strict=True):
        rooms[mutant["id"].rpartition("-")[0], found] += 1
        text = recorded(text, mutant, found)
        if found in {LOST, NOT_GREEN} or (found == SURVIVED and mutant.get("killed")):
            worse.append(f"{mutant['id']} {found} ({why}): {mutant['file']}, {mutant['function']}")
    if asked.record:
        (root / LIST).write_text(text, encoding="utf-8")
    print(f"\n{'room':14}" + "".join(f"{found:>16}" for found in OUTCOMES))
    for room in dict.fromkeys(room for room, _ in rooms):
        print(f"{room:14}" + "".join(f"{rooms[room, found]:16}" for found in OUTCOMES))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall_s, cpu_s = time.monotonic() - start_s, used.ru_utime + used.ru_stime
    print(f"{len(chosen)} mutants in {wall_s / 60:.1f} min, {cpu_s / 60:.1f} min of processors")
    print(*worse, sep="\n", file=sys.stderr)
    return 1 if worse and not asked.record else 0


if __name__ == "__main__":
    sys.exit(main())
