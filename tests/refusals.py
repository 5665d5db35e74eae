"""Words that a user meets, which golden files hold: of refusals, and of what reports say.

A test says which kind of error it expects, by `refused(kind)`, or which exit code a command has, by
`assert_refused(answer)`; of a report it builds a case and hands on what is said of it, by
`assert_said(*sentences)`. The words stand in `golden/refusals.txt` and `golden/said.txt` below the
id of the test, a line each, in the order in which the test meets them. With
PYSCALE_TEST_RENEW_GOLDEN=1 the tests that end well store their words instead of comparing them; all
others keep theirs.
"""

import os
import platform
import re
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from pyscale_stages.measure.nodename import node_name

RENEW = "PYSCALE_TEST_RENEW_GOLDEN"
INDENT = "    "
_RUN = r"\b(?!20260317)\d{8}T\d{6}Z-[0-9a-z]{4}\b"
"""The id of a run that began now; those of made-up runs are always the same."""
_running = {}
"""The test that runs in this process, where one does, by the name of each golden file."""


@contextmanager
def refused(kind):
    """Demand that the block raises an error of a kind, with the stored words; yield the error."""
    with pytest.raises(kind) as caught:
        yield caught
    words = f"{type(caught.value).__name__}: {caught.value}"
    # The traceback holds this frame, and would hold itself and all that the block had open.
    del caught
    assert_held(words)


def assert_refused(answer, code=2):
    """Demand that a command ended with an exit code and the stored words on stderr."""
    assert answer.code == code, answer.err
    assert_held(f"exit {code}: {answer.err}")


def assert_held(words):
    """Demand that a refusal has the stored words, where neither of the others applies."""
    _running["refusals"].hears(words)


def assert_said(*sentences):
    """Demand that what is said of a case, which may be nothing, is what is stored."""
    for one in sentences or ("(nothing)",):
        _running["said"].hears(str(one))


def read(file):
    """Stored words of each test, by its id."""
    words, own = {}, []
    for line in file.read_text("utf-8").splitlines() if file.exists() else ():
        if line.startswith(INDENT):
            own.append(line.removeprefix(INDENT))
        else:
            own = words[line] = []
    return words


def write(file, words):
    lines = [
        line
        for test in sorted(words)
        if words[test]
        for line in (test, *(INDENT + each for each in words[test]))
    ]
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def orphans(words, folder):
    """Tests with stored words that are gone: their file, or the function in it."""
    return [test for test in words if not _exists(test, folder)]


def _exists(test, folder):
    file, _, name = test.partition("[")[0].partition("::")
    function = re.escape(name.rpartition("::")[2])
    path = folder / file
    return path.is_file() and re.search(rf"^ *def {function}\(", path.read_text("utf-8"), re.M)


class Words:
    """The plugin of pytest that knows the running test, and renews a golden file."""

    def __init__(self, config, folder, name):
        self.folder = folder
        self.name = name
        self.file = folder / "golden" / f"{name}.txt"
        self.stored = read(self.file)
        self.renews = bool(os.environ.get(RENEW))
        self.known = set()
        self.said = {}
        self._config = config

    def id_of(self, item):
        return f"{item.path.relative_to(self.folder)}::{item.nodeid.partition('::')[2]}"

    def pytest_collection_finish(self, session):
        self.known |= set(map(self.id_of, session.items))

    def pytest_deselected(self, items):
        self.known |= set(map(self.id_of, items))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        running = _running[self.name] = _Test(self, item)
        try:
            ended = yield
        finally:
            del _running[self.name]
        running.ends()
        return ended

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        """Take what a process of xdist has heard."""
        heard = getattr(node, "workeroutput", {}).get(self.name, {"said": {}, "known": ()})
        self.said |= heard["said"]
        self.known |= set(heard["known"])

    def pytest_sessionfinish(self, session):
        if not self.renews:
            return
        if hasattr(self._config, "workeroutput"):
            heard = {"said": self.said, "known": sorted(self.known)}
            self._config.workeroutput[self.name] = heard
            return
        write(self.file, self.renewed())

    def renewed(self):
        """Words to store: of what ran those that were said, of other tests those they had."""
        # Of files that were collected as a whole it is known which tests there are.
        of_parts = any("::" in argument for argument in self._config.args)
        whole = set() if of_parts else {test.partition("::")[0] for test in self.known}
        gone = set(orphans(self.stored, self.folder))
        gone |= {t for t in self.stored if t.partition("::")[0] in whole and t not in self.known}
        return {test: words for test, words in self.stored.items() if test not in gone} | self.said


class _Test:
    """A running test, and the words that it has met so far."""

    def __init__(self, words, item):
        self._words = words
        self._id = words.id_of(item)
        self._stored = words.stored.get(self._id, [])
        self._renewal = f"{RENEW}=1 .venv/bin/pytest '{item.nodeid}'"
        factory = item.config._tmp_path_factory
        self._places = {
            # Its folder is numbered, and has the name of the test or of a fixture.
            "TMP": re.escape(str(factory.getbasetemp())) + r"/[\w.-]*\d(?![\w-])",
            "PYTHON": re.escape(sys.prefix),
            "CHECKOUT": re.escape(str(words.folder.parent)),
            "HOME": re.escape(str(Path.home())) + r"(?![\w.-])",
            "ARCHITECTURE": rf"\b{platform.machine()}\b",
            # Of an image that was just built.
            "HASH": r"\b[0-9a-f]{12}(?=…)",
            "NODE": rf"(?:(?<=\bon )|(?<=, )){re.escape(node_name())}\b",
            # polars shortens what is long, like the folder of a test.
            "FILE": r"(?<=\(os error 2\): )\S+?(?: \(set POLARS_VERBOSE=1 [^)]*\))?(?=\):)",
            # Where a file ends depends on the build of the library that packed it.
            "NUMBER": r"(?:(?<=byte )|(?<=offset ))\d+",
            # Of a server of this test alone, and of this machine.
            "PORT": r"(?<=127\.0\.0\.1:)\d{4,}",
            "CORES": r"\d+ usable cores?\b",
            # So does what torch says of a device that is not there.
            "WHY": r"(?<=does not work here \()[^)]*",
        }
        self._runs = {}
        self._said = []

    def hears(self, words):
        """Compare words with those that are stored, or keep them to be stored."""
        for name, place in self._places.items():
            words = re.sub(place, f"<{name}>", words)
        words = re.sub(_RUN, self._number, words)
        words = re.sub(r"(.)\1{99,}", r"\1…", words)
        place, words = len(self._said), " ".join(words.split())
        self._said.append(words)
        if self._words.renews:
            return
        expected = self._stored[place] if place < len(self._stored) else "(nothing is stored)"
        if words != expected:
            pytest.fail(f"it says\n  {words}\ninstead of\n  {expected}\n{self._renews()}")

    def _number(self, run):
        return self._runs.setdefault(run[0], f"<RUN {len(self._runs) + 1}>")

    def ends(self):
        """Take the words over where the test renews them, or demand that none are left."""
        if self._words.renews:
            self._words.said[self._id] = self._said
        elif left := self._stored[len(self._said) :]:
            pytest.fail(f"what is no longer said: {left}\n{self._renews()}", pytrace=False)

    def _renews(self):
        return f"after a change that is meant: {self._renewal}"
