"""What a run was made from, and the lines that would measure it again."""

from pyscale.evaluation import origin
from pyscale.evaluation.runline import repeat_line
from refusals import assert_said


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
