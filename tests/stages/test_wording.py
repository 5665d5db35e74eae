"""Sentences about a wrong key name it in full and suggest the nearest."""

from __future__ import annotations

import pytest
from pydantic import Field, ValidationError

from pyscale_stages.contract import Record
from pyscale_stages.wording import did_you_mean, first_problem, size_in_words
from refusals import assert_held, assert_said


class Inner(Record):
    width_px: int = 1


class Outer(Record):
    one: Inner | None = None
    many: dict[str, Inner] = Field(default_factory=dict)
    listed: tuple[Inner, ...] = ()
    needed: float


WRONG = {"widht_px": 3}


@pytest.mark.parametrize(
    "given",
    [{"ones": {}}, {"one": WRONG}, {"many": {"a": WRONG}}, {"listed": [WRONG]}, {}],
    ids=str,
)
def test_the_first_problem_is_one_clause(given):
    with pytest.raises(ValidationError) as refusal:
        Outer.model_validate(given | ({"needed": 1} if given else {}))
    assert_held(first_problem(refusal.value, Outer))


def test_where_no_word_is_near_all_are_named():
    assert did_you_mean("zebra", ["run", "merge"]) == "choose from merge, run"


def test_a_size_has_the_unit_that_suits_it():
    assert_said(*map(size_in_words, (0, 1, 1000, 1260, 13.1e9)))
