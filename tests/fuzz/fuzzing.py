"""Reads damaged inputs until time is up; fails where anything but a sentence for users comes out.

Usage: python -m fuzz.fuzzing [--seconds N] [--seed N] [--target NAME] [--cases N] [--input PATH]
"""

import argparse
import faulthandler
import io
import resource
import secrets
import shutil
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from itertools import count
from pathlib import Path
from random import Random

from fuzz.targets import TARGETS, damaged
from pyscale.errors import UserError
from pyscale_stages.errors import as_stage_error

LONGEST_S = 30
"""Of one input, however damaged."""
MEMORY_BYTES = 16 << 30
KEPT = Path("build/fuzz")


class Hangs(BaseException):
    """An input takes longer than any may."""


def failure_of(target, path):
    """Read an input; return what comes out where it is not a sentence for users."""
    try:
        with _bounded(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            target.read(path)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # what polars calls a panic is no Exception
        said = isinstance(error, UserError) or as_stage_error(error) is not None
        return None if said else error
    return None


@contextmanager
def _bounded():
    """End what takes too long; where it does not even hear a signal, end this program."""

    def hang(number, frame):
        raise Hangs(f"takes longer than {LONGEST_S} s")

    handler = signal.signal(signal.SIGALRM, hang)
    # Whoever runs this may have a timer of their own.
    left_s, _ = signal.setitimer(signal.ITIMER_REAL, LONGEST_S)
    faulthandler.dump_traceback_later(2 * LONGEST_S, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, left_s)
        signal.signal(signal.SIGALRM, handler)


def fuzz(names, seed, seconds, cases):
    """Read damaged inputs of each target in turn; return how many kinds of failures there are.

    It goes on until time is up, or where a number of cases is asked for until all are read.
    """
    shutil.rmtree(KEPT, ignore_errors=True)
    for name in names:
        (KEPT / "whole" / name).mkdir(parents=True)
        TARGETS[name].make(KEPT / "whole" / name)
        # Nothing could be damaged in what is not whole.
        for whole in sorted((KEPT / "whole" / name).iterdir()):
            TARGETS[name].read(whole)
    end, done, seen = time.monotonic() + seconds, Counter[str](), Counter[str]()
    for case in count() if cases is None else range(cases):
        if cases is None and time.monotonic() > end:
            break
        for name in names:
            folder = KEPT / f"{name}-{case}"
            folder.mkdir()
            random = Random(f"{seed} {name} {case}")
            path = damaged(TARGETS[name], KEPT / "whole" / name, folder, random)
            error = failure_of(TARGETS[name], path)
            done[name] += 1
            if error is None:
                shutil.rmtree(folder)
                continue
            kind = _kind(error)
            seen[kind] += 1
            if seen[kind] == 1:
                _say(f"\n{kind}: {str(error)[:200]}\n  again: make fuzz TARGET={name} INPUT={path}")
    _say(f"read {dict(done)}: {sum(seen.values())} failures of {len(seen)} kinds")
    return len(seen)


def _kind(error):
    """Say what came out and from which line of this project."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "site-packages" not in frame.filename]
    return f"{type(error).__name__} at {own[-1].filename}:{own[-1].lineno}"


def _say(text):
    sys.stderr.write(f"{text}\n")


def main():
    """Fuzz, or read one input again and show where it fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument("--target", choices=TARGETS, default=None)
    parser.add_argument("--cases", type=int, default=None, help="Inputs of each target")
    parser.add_argument("--input", type=Path, default=None, help="One that failed before")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    warnings.simplefilter("ignore")
    if options.input is not None:
        error = failure_of(TARGETS[options.target], options.input)
        _say(
            "it is read, or refused"
            if error is None
            else "".join(traceback.format_exception(error))
        )
        return int(error is not None)
    names = [options.target] if options.target else list(TARGETS)
    _say(f"seed {options.seed}, {options.seconds:g} s, {', '.join(names)}; failures stay in {KEPT}")
    return min(fuzz(names, options.seed, options.seconds, options.cases), 1)


if __name__ == "__main__":
    sys.exit(main())
