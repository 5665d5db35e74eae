"""Expected results are read, and refused in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pyscale.data.registry import load_registry
from pyscale.errors import UserError
from pyscale.plan import Plan
from pyscale.shipped import shipped
from pyscale.suite import load_suite, suite_names
from pyscale.validation.expected import (
    expected_file,
    load_expected,
    read_expected,
    refuse_other_work,
)


@pytest.fixture
def text() -> str:
    """A file of expected results that is right."""
    return expected_file("validation").read_text(encoding="utf-8")


def read(folder: Path, text: str) -> object:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return read_expected(path)


@pytest.mark.parametrize("name", [name for name in suite_names() if load_suite(name).expected])
def test_what_a_shipped_suite_expects_is_of_its_own_data_and_stages(name):
    suite = load_suite(name)
    assert suite.expected is not None
    expected = load_expected(suite.expected)
    assert list(expected.stages) == list(suite.stages)
    assert expected.dataset == suite.settings["data"]
    made = load_registry(shipped("config")).get(expected.dataset)
    assert made.synth is not None, "it must need no network"
    assert made.synth.frames == expected.frames
    assert list(expected.inputs) == [made.movie]


def test_a_misspelt_key_is_named(tmp_path, text):
    wrong = text.replace("tolerance =", "tolerence =", 1)
    with pytest.raises(UserError, match=r"mine.toml.*tolerence.*did you mean 'tolerance'\?"):
        read(tmp_path, wrong)


def test_a_tolerance_without_a_reason_is_refused(tmp_path, text):
    lines = [line for line in text.splitlines() if not line.startswith("because")]
    with pytest.raises(UserError, match="because' is missing"):
        read(tmp_path, "\n".join(lines))


def test_a_value_that_is_no_number_is_refused(tmp_path, text):
    lines = text.splitlines()
    place = next(n for n, line in enumerate(lines) if line.startswith("value ="))
    lines[place] = "value = nan"
    with pytest.raises(UserError, match="value"):
        read(tmp_path, "\n".join(lines))


def test_what_is_no_toml_says_so(tmp_path):
    with pytest.raises(UserError, match="mine.toml are not TOML"):
        read(tmp_path, "dataset = ")


def test_a_name_that_is_not_there_is_answered_with_those_that_are():
    with pytest.raises(UserError, match="unknown expected results 'mine'.*choose from validation"):
        load_expected("mine")


PlanMaker = Callable[..., Plan]


def test_the_suite_as_it_is_passes(plan):
    refuse_other_work(plan(workers=(1, 2)))


def test_what_decides_no_result_may_be_chosen(plan):
    chosen = {"contact": {"kernel_cache": "user"}, "segment": {"calls": 2}}
    refuse_other_work(plan(stages=chosen, repeats=6, cpus_per_worker=2))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"data": "mine"}, "the data is mine instead of validation-cells"),
        ({"seed": 3}, "the seed is 3 instead of 0"),
        ({"scaling": "weak"}, "scaling is weak"),
        ({"stages": {"segment": {"flow_threshold": 0.9}}}, "flow_threshold of segment is 0.9"),
        ({"stages": {"segment": {"diameter_px": 30}}}, "diameter_px of segment is 30.0 instead of"),
        ({"stages": {"track": {"overlap_frames": 4}}}, "overlap_frames of track is 4 instead of"),
    ],
)
def test_other_work_is_named_and_refused(plan, changes, told):
    with pytest.raises(UserError, match=told):
        refuse_other_work(plan(**changes))


def test_a_suite_that_expects_nothing_may_have_any_parameter(make_of):
    changed = {"segment": {"flow_threshold": 0.9}}
    refuse_other_work(make_of(load_suite("pipeline"), stages=changed, seed=3))
