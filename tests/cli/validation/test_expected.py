"""Expected results are read, and refused in one sentence."""

import pytest

from pyscale.data.registry import load_registry
from pyscale.errors import UserError
from pyscale.planning.suite import load_suite, suite_names
from pyscale.resources import shipped
from pyscale.validation.expected import (
    expected_file,
    load_expected,
    read_expected,
    refuse_other_work,
)
from refusals import refused


@pytest.fixture
def text():
    """A file of expected results that is right."""
    return expected_file("validation").read_text(encoding="utf-8")


def read(folder, text):
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


def test_a_file_that_is_wrong_is_refused_in_a_sentence(tmp_path, text):
    lines = text.splitlines()
    place = next(n for n, line in enumerate(lines) if line.startswith("ap_iou50 ="))
    for wrong in (
        text.replace(".at_least]", ".at_leest]", 1),
        "\n".join([*lines[:place], "ap_iou50 = nan", *lines[place + 1 :]]),
        "dataset = ",
    ):
        with refused(UserError):
            read(tmp_path, wrong)


def test_a_name_that_is_not_there_is_answered_with_those_that_are():
    with refused(UserError):
        load_expected("mine")


def test_the_suite_passes_as_it_is_and_with_what_decides_no_result(plan, make_of):
    refuse_other_work(plan(workers=(1, 2)))
    chosen = {"segment": {"calls": 2}}
    refuse_other_work(plan(stages=chosen, repeats=6, cpus_per_worker=2))
    # One that expects nothing may have any parameter.
    changed = {"segment": {"flow_threshold": 0.9}}
    refuse_other_work(make_of(load_suite("pipeline"), stages=changed, seed=3))


@pytest.mark.parametrize(
    "changes",
    [
        {"data": "mine"},
        {"seed": 3},
        {"scaling": "weak"},
        {"stages": {"segment": {"flow_threshold": 0.9}}},
        {"stages": {"segment": {"diameter_px": 30}}},
        {"stages": {"track": {"overlap_frames": 4}}},
    ],
    ids=str,
)
def test_other_work_is_named_and_refused(plan, changes):
    with refused(UserError):
        refuse_other_work(plan(**changes))
