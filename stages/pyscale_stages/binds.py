"""What a container sees of this machine: each file and folder at its own path."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

VARIABLE_PREFIX, OPTION_PREFIX = "APPTAINERENV_", "APPTAINER_"
"""What names of variables begin with that reach the inside, or set an option of Apptainer."""
ISOLATED = ("--containall", "--cleanenv", "--no-home")
"""Options that hide this machine and this user from what runs inside."""
HOME = "/tmp"
"""The home folder inside: the scratch folder, as programs keep caches and settings there."""
# Variables reach the inside as they are: with eval a dollar sign in a path is a command.
OPTIONS = (*ISOLATED, "--no-eval", "--home", HOME)


@dataclass(frozen=True)
class Bind:
    """One file or folder that is seen inside."""

    source: Path
    seen_at: Path
    """The path by which it was named, so that records name true paths."""
    writable: bool = False

    def option(self) -> list[str]:
        """Option of the container program; any character may stand in a path."""
        fields = ["type=bind", f"source={self.source}", f"destination={self.seen_at}"]
        text = io.StringIO()
        # The program reads a line of CSV: quotes keep commas and blanks in their field.
        csv.writer(text, lineterminator="").writerow(fields + ([] if self.writable else ["ro"]))
        return ["--mount", text.getvalue()]


def task_binds(output: Path, inputs: Iterable[Path], written: Iterable[Path] = ()) -> list[Bind]:
    """Binds of a task: its inputs, which cannot be written, and the folders that can.

    `output`: the task's own folder. `inputs`: what is not there is left out: the stage says so in
    its own words. `written`: further folders that the task writes into. A stage makes there what it
    reads, so links in them are not followed. Returns: each path once, outer folders before what
    lies in them.
    """
    found = {output.absolute(): Bind(output, output.absolute(), writable=True)}
    for path in written:
        if path.exists():
            found.setdefault(path.absolute(), Bind(path.absolute(), path.absolute(), writable=True))
    for path in inputs:
        if path.exists():
            for bind in (Bind(path.absolute(), path.absolute()), *_behind_links(path.absolute())):
                # A folder that is written into stays so where it is an input, too.
                found.setdefault(bind.seen_at, bind)
    return sorted(found.values(), key=lambda bind: len(bind.seen_at.parts))


def _behind_links(folder: Path) -> Iterator[Bind]:
    """What the symbolic links below a folder lead to, where a container follows them."""
    # There a relative link leads to what its text says of the folder's own path.
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            link = Path(place, name)
            if link.is_symlink() and link.exists():
                text = os.path.normpath(link.parent / link.readlink())
                if not Path(text).is_relative_to(folder):
                    yield Bind(link.resolve(), Path(text))
