"""The tests' own source: what they promise to say of it."""

from pathlib import Path

import pytest

from hollowtests import hollow_tests

TESTS = Path(__file__).parent
CANNOT_FAIL = [
    "for one in found(): assert one",
    "for one in found():\n        with pytest.raises(ValueError): one()",
    "for one in range(len(given)): assert one",
    "for one, other in zip((1, 2), found()): assert one == other",
    "for one in found().values():\n        for other in (1, 2): assert one == other",
    "names = found()\n    for name in names: assert name",
    "while found(): assert True",
    "if found(): assert True",
    "assert all(one for one in found())",
    "assert all(one for one in (1, 2) if one > given)",
    "assert not any(one for one in found())",
    "print(found())",
]
CAN_FAIL = [
    "assert found()",
    "assert any(one for one in found())",
    "assert found() and all(one for one in found())",
    "assert len(found()) == 2\n    for one in found(): assert one",
    "for one in some(found()): assert one",
    "for one in (1, 2): assert one",
    "for one, other in zip((1, 2), 'ab'): assert one == other",
    "for one in LITERAL: assert one",
    "names = [one for one in LITERAL]\n    for name in names: assert name",
    "if found(): assert True\n    else: assert found()",
    "assert all(one for one in some(found()))",
    "with refused(ValueError): found()",
    "with open('a'):\n        assert found()",
    "helper(found())",
]
MODULE = """
LITERAL = (1, 2)

def helper(found):
    assert found

def test_it(given):
    {}
"""


@pytest.mark.parametrize("body", CANNOT_FAIL)
def test_a_test_that_asserts_nothing_where_a_collection_is_empty_is_found(body):
    assert hollow_tests(MODULE.format(body)) == ["test_it"]


@pytest.mark.parametrize("body", CAN_FAIL)
def test_a_test_that_asserts_something_in_any_case_is_not(body):
    assert hollow_tests(MODULE.format(body)) == []


def test_every_test_asserts_something_whatever_is_empty():
    """Go through `some(...)` of `atleastone.py` where nothing else says that something is there."""
    hollow = [
        f"{path.relative_to(TESTS)}: {name}"
        for path in sorted(TESTS.rglob("test_*.py"))
        for name in hollow_tests(path.read_text(encoding="utf-8"))
    ]
    assert hollow == []
