"""The golden file of refusals: compared, and renewed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from refusals import RENEW, orphans, read, write

TESTS = Path(__file__).parent
CONFTEST = """
from pathlib import Path
from refusals import Words

def pytest_configure(config):
    for golden in ("refusals", "said"):
        config.pluginmanager.register(Words(config, Path(__file__).parent, golden))
"""
TEST = """
import pytest
from refusals import assert_refused, assert_said, refused

@pytest.mark.parametrize("given", [1, 2])
def test_odd(tmp_path, given):
    with refused(ValueError):
        raise ValueError(f"odd {given}\\nin {tmp_path}/a")

class TestTwo:
    def test_both(self):
        for word in ("one", "two"):
            with refused(LookupError):
                raise KeyError(word)

def test_none():
    assert_said()
    assert_said("one", "two")
"""
STORED = {
    "test_a.py::test_odd[1]": ["ValueError: odd 1 in <TMP>/a"],
    "test_a.py::test_odd[2]": ["ValueError: odd 2 in <TMP>/a"],
    "test_a.py::TestTwo::test_both": ["KeyError: 'one'", "KeyError: 'two'"],
}

SAID = {"test_a.py::test_none": ["(nothing)", "one", "two"]}


@pytest.fixture
def small(tmp_path):
    """Run a small folder of tests; say how many passed and failed, and what is stored then."""
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_a.py").write_text(TEST)

    def run(*words, renew=False):
        command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, f"--rootdir={tmp_path}"]
        variables = {"PYTHONPATH": str(TESTS), RENEW: "1" if renew else ""}
        ended = subprocess.run(
            [*command, "-p", "no:cacheprovider", *(words or [str(tmp_path)])],
            cwd=tmp_path,
            env=os.environ | variables,
            capture_output=True,
            text=True,
            check=False,
        )
        return ended.stdout

    return run


@pytest.mark.slow
def test_words_that_changed_are_shown_with_the_line_that_renews_them(small, tmp_path):
    file = tmp_path / "golden" / "refusals.txt"
    both = "test_a.py::TestTwo::test_both"
    write(file.with_name("said.txt"), SAID)
    write(file, STORED | {both: ["KeyError: 'three'", *STORED[both]]})
    shown = small()
    assert "1 failed, 3 passed" in shown
    assert "KeyError: 'three'" in shown
    assert f"{RENEW}=1 .venv/bin/pytest 'test_a.py::TestTwo::test_both'" in shown
    write(file, STORED | {"test_a.py::test_none": ["ValueError: none"]})
    assert "what is no longer said" in small()
    write(file, {})
    assert "nothing is stored" in small()


@pytest.mark.slow
def test_a_renewal_stores_what_tests_say_and_then_they_pass(small, tmp_path):
    file = tmp_path / "golden" / "refusals.txt"
    gone = ("test_a.py::test_odd[3]", "test_b.py::test_odd[1]", "test_a.py::test_gone")
    write(file, {test: ["ValueError: old"] for test in (*gone, "test_a.py::test_odd[1]")})
    # A test alone leaves what other tests of its function have.
    small("test_a.py::test_odd[1]", renew=True)
    one = "test_a.py::test_odd[1]"
    assert read(file) == {one: STORED[one], gone[0]: ["ValueError: old"]}
    assert "4 passed" in small(str(tmp_path), "-n", "2", renew=True)
    assert read(file) == STORED
    assert read(file.with_name("said.txt")) == SAID
    assert "4 passed" in small(str(tmp_path))


@pytest.mark.parametrize("golden", ["refusals", "said"])
def test_stored_words_belong_to_tests_that_exist(golden):
    """Renew the file by running all tests where this fails, as by `make golden`."""
    stored = read(TESTS / "golden" / f"{golden}.txt")
    assert stored
    assert orphans(stored, TESTS) == []


def test_words_of_a_file_or_a_function_that_is_gone_are_found(tmp_path):
    (tmp_path / "test_a.py").write_text(TEST)
    gone = ["test_a.py::test_off[1]", "test_b.py::test_odd[1]"]
    assert orphans([*STORED, *gone], tmp_path) == gone
