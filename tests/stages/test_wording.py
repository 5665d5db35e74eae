"""Sentences about a wrong key name it in full and suggest the nearest."""

from __future__ import annotations

import pytest
from pydantic import Field, ValidationError

from pyscale_stages.contract import Record
from pyscale_stages.wording import did_you_mean, first_problem, size_in_words


class Inner(Record):
    width_px: int = 1


class Outer(Record):
    one: Inner | None = None
    many: dict[str, Inner] = Field(default_factory=dict)
    listed: tuple[Inner, ...] = ()
    needed: float


WRONG = {"widht_px": 3}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"ones": {}}, "unknown key 'ones'; did you mean 'one'?"),
        ({"one": WRONG}, "unknown key 'one.widht_px'; did you mean 'width_px'?"),
        ({"many": {"a": WRONG}}, "unknown key 'many.a.widht_px'; did you mean 'width_px'?"),
        ({"listed": [WRONG]}, "unknown key 'listed.0.widht_px'; did you mean 'width_px'?"),
        ({}, "key 'needed' is missing"),
    ],
)
def test_the_first_problem_is_one_clause(given, sentence):
    with pytest.raises(ValidationError) as refusal:
        Outer.model_validate(given | ({"needed": 1} if given else {}))
    assert first_problem(refusal.value, Outer) == sentence


def test_where_no_word_is_near_all_are_named():
    assert did_you_mean("zebra", ["run", "merge"]) == "choose from merge, run"


@pytest.mark.parametrize(
    ("n_bytes", "words"),
    [(0, "0 bytes"), (1, "1 byte"), (1000, "1 kB"), (1260, "1.26 kB"), (13.1e9, "13.1 GB")],
)
def test_a_size_has_the_unit_that_suits_it(n_bytes, words):
    assert size_in_words(n_bytes) == words
