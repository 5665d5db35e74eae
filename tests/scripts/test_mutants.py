"""Mutants: the list fits the source as it stands, and its runner notices what tests do not."""

import ast
import re
from collections import Counter

import pytest

import mutants
from mutants import LIST, ROOT, mutated, places

LISTED = mutants.mutants(ROOT)


@pytest.mark.parametrize("mutant", LISTED, ids=lambda mutant: mutant["id"])
def test_each_mutant_applies_once(mutant):
    found = places(ROOT, mutant)
    assert len(found) == 1, (
        f"{mutant['id']} applies {len(found)} times to {mutant['file']}, {mutant['function']}: "
        f"move the mutant along in {LIST}, or take it out and say in the commit why"
    )
    [(file, line)] = found
    text = file.read_text(encoding="utf-8")
    changed = mutated(text, line, mutant["after"])
    assert changed != text
    ast.parse(changed)
    gone = [name for name in mutant["tests"] if not (ROOT / name).is_file()]
    assert gone == [], f"{mutant['id']}: name the tests that took their place in {LIST}"


def test_every_mutant_has_a_name_of_its_own_and_no_two_outcomes():
    assert Counter(mutant["id"] for mutant in LISTED).most_common(1)[0][1] == 1
    assert [one["id"] for one in LISTED if {"killed", "survives"} <= one.keys()] == []


SOURCE = '''"""Doubles."""


class Doubling:
    def doubled(self, number):
        if number < 0:
            return 0
        return 2 * number
'''
TESTS = """from pyscale.doubling import Doubling


def test_doubled():
    assert Doubling().doubled(3) == 6
"""
MUTANTS = """[[mutant]]
id = "double-01"
file = "cli/pyscale/doubling.py"
function = "Doubling.doubled"
before = 'return 2 * number'
after = 'return 3 * number'
tests = ["tests/test_doubling.py"]
killed = true

[[mutant]]
id = "double-02"
file = "cli/pyscale/doubling.py"
function = "Doubling.doubled"
before = '''
if number < 0:
return 0'''
after = '''
if number < 0:
return 1'''
tests = ["tests/test_doubling.py"]
killed = true

[[mutant]]
id = "gone-01"
file = "cli/pyscale/doubling.py"
function = "Doubling.halved"
before = 'return number / 2'
after = 'return number / 3'
tests = ["tests/test_doubling.py"]
killed = true
"""


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout of one module, one test, and three mutants that are recorded as killed."""
    # Plugins take seconds to load, and none is needed.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    root = tmp_path / "checkout"
    for path, text in {
        "cli/pyscale/__init__.py": "",
        "cli/pyscale/doubling.py": SOURCE,
        "stages/pyscale_stages/__init__.py": "",
        "tests/test_doubling.py": TESTS,
        LIST: MUTANTS,
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


@pytest.mark.slow
def test_a_survivor_and_one_that_applies_nowhere_fail_the_run(checkout, capsys):
    assert mutants.main(["--jobs", "1"], checkout) == 1
    told = capsys.readouterr()
    assert "double-01" in told.out
    assert "double-01" not in told.err
    assert "double-02 survived" in told.err
    assert "gone-01 does not apply (0 places)" in told.err
    assert re.search(r"double +1 +1 +0 +0\ngone +0 +0 +1 +0\n", told.out)
    # What is tried, is tried in copies.
    assert (checkout / "cli/pyscale/doubling.py").read_text() == SOURCE


@pytest.mark.slow
def test_a_survivor_that_is_recorded_fails_no_run(checkout):
    names = ["--only", "double-01", "double-02", "--jobs", "1"]
    assert mutants.main([*names, "--record"], checkout) == 0
    killed, survivor, lost = mutants.mutants(checkout)
    assert killed["killed"]
    assert (survivor["survives"], "killed" in survivor) == ("not explained yet", False)
    assert lost["killed"]
    assert mutants.main(names, checkout) == 0


@pytest.mark.slow
def test_nothing_is_said_of_mutants_whose_tests_fail_without_them(checkout, capsys):
    (checkout / "tests/test_doubling.py").write_text(TESTS.replace("6", "7"), encoding="utf-8")
    assert mutants.main(["--only", "double-01", "--jobs", "2"], checkout) == 1
    assert "double-01 not green (tests/test_doubling.py)" in capsys.readouterr().err


def test_a_mutant_goes_along_with_a_function_that_moves(checkout):
    module, [mutant, *_] = checkout / "cli/pyscale/doubling.py", mutants.mutants(checkout)
    [(_, line)] = places(checkout, mutant)
    moved = checkout / "stages/pyscale_stages/twice.py"
    # In another function of the old file the same line is another one.
    moved.write_text(f"# Moved.\n{SOURCE}", encoding="utf-8")
    module.write_text("def other(number):\n    return 2 * number\n", encoding="utf-8")
    assert places(checkout, mutant) == [(moved, line + 1)]
    # A function of another name is found by the text, which two places do not tell apart.
    moved.write_text(SOURCE.replace("doubled", "twice"), encoding="utf-8")
    assert len(places(checkout, mutant)) == 2
    module.unlink()
    assert places(checkout, mutant) == [(moved, line)]
