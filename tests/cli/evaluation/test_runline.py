"""A line that measures a grid again chooses the same points of it."""

import shlex

from pyscale.analysis.advice import Experiment
from pyscale.evaluation import origin
from pyscale.evaluation.runline import repeat_line, run_line
from pyscale.planning.resolve_grid import measured_suite
from pyscale.planning.runsettings import axes_asked_for, settings_for
from pyscale.planning.suite import SuiteStage, load_suite
from refusals import assert_said


def given(line, flag):
    words = shlex.split(line)
    return [words[at + 1] for at, word in enumerate(words) if word == flag]


def test_the_line_chooses_the_same_points(sweep):
    plan = sweep({"device": ["cpu", "cuda"], "flow_threshold": [0, 0.4], "normalise": [True]})
    line = repeat_line(plan)
    settings = settings_for("device", {"grid": axes_asked_for(given(line, "--grid"))})
    assert measured_suite(load_suite("device"), settings, None) == plan.suite


def test_axes_are_said_once_and_settings_of_the_suite_where_they_are_otherwise(sweep):
    line = repeat_line(sweep(cpus_per_worker=4))
    assert "threads=1" in given(line, "--grid")
    assert not given(line, "--cpus-per-worker") + given(line, "--device")
    # Devices that were found here are named.
    plan = sweep()
    unasked = plan.model_copy(update={"settings": plan.settings | {"grid": {}}})
    assert given(repeat_line(unasked), "--grid") == ["device=cpu"]
    assert given(repeat_line(sweep(cache="cold")), "--cache") == ["cold"]
    assert given(repeat_line(sweep(cache="warm")), "--cache") == []


def test_one_point_keeps_its_name(sweep):
    experiment = Experiment(code="few-repeats", reason="", workers=(1,), repeats=12)
    line = run_line(sweep(), ["segment_2px_cpu"], experiment)
    assert line.startswith("pyscale run device ")
    assert given(line, "--only") == ["segment_2px_cpu"]
    assert "length_px=2,full" in given(line, "--grid")


def test_an_entry_without_a_grid_is_given_no_values_of_anothers(sweep):
    plan = sweep({"flow_threshold": [0, 0.4]})
    lone = SuiteStage(inputs={"frames": "movie"}, device="cpu", threads=1)
    stages = plan.suite.stages | {"register_denoise": lone}
    both = plan.model_copy(update={"suite": plan.suite.model_copy(update={"stages": stages})})
    experiment = Experiment(code="few-repeats", reason="", workers=(1,), repeats=12)
    axes = given(run_line(both, ["register_denoise"], experiment), "--grid")
    assert [axis.partition("=")[0] for axis in axes] == ["device", "threads"]


def test_every_entry_has_its_algorithm_with_the_version_that_ran(make):
    versions = {"segment": {"cellpose": "3.1.1.3", "torch": "2.13.0", "numpy": "2.0.2"}}
    works = origin.works(make(), versions)
    assert_said(*(f"{entry}: {work.how}" for entry, work in works.items()))
    assert works["segment"].packages == {"cellpose": "3.1.1.3", "torch": "2.13.0"}
    assert works["track"].stand_in is None
    assert_said(works["segment"].stand_in)
    # Another version had other parameters, or other values of one.
    assert origin.method_of("segment", {"gone": 1}, "cpu").shown({}) == "Cellpose, pyscale-tiny"
    assert origin.method_of("segment", {"model": 1}, "cpu").shown({}) == "segment"


def test_the_lines_measure_and_report_the_same_run(make):
    plan = make(data="two words")
    assert_said(*(f"{command.what}: {command.line}" for command in origin.commands(plan)))
    # A dataset of the registry is fetched first.
    first, *_ = origin.commands(make(data="cancer-migration"))
    assert first.line == "pyscale data fetch cancer-migration"
    # Stages that were measured alone are measured alone again.
    assert_said(repeat_line(make(only=("segment", "track"), cache="warm")))
