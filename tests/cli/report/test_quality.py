"""One table of quality beside time, and the bounds that a suite requires."""

from dataclasses import replace

from pyscale.report.context import ReportContext, Work
from pyscale.report.curves import curves
from pyscale.report.page.tables import right
from pyscale.report.sentences import missed
from refusals import assert_said


def with_work(full, **bounds):
    works = {"track": Work(data="hela-tracking", how="backend laptrack", **bounds)}
    context = ReportContext(title="a run", works=works)
    return replace(full, context=context)


def test_every_quality_stands_once_beside_data_algorithm_and_time(full):
    results = with_work(full, at_least={"link_recall": 0.9}, at_most={"error_px": 1})
    table = right(curves(results.configurations), results.context.works)
    rows = table.texts
    assert [row[0] for row in rows] == ["register_denoise", "segment", "contact", "track"]
    assert rows[-1][1:-1] == [
        "1",
        "hela-tracking",
        "backend laptrack",
        "link_precision 0.984, link_recall 0.991, split_recall 0.750",
        "link_recall >= 0.9, error_px <= 1",
    ]
    assert float(rows[-1][-1]) > 0


def test_a_measure_that_is_worse_than_asked_for_is_named(full):
    recall = "link_recall"
    for bounds, missing in (
        ({"at_least": {recall: 0.991}}, 0),
        ({"at_least": {recall: 0.992}}, 1),
        ({"at_most": {recall: 0.9}}, 1),
        # Each bound of a measure is its own.
        ({"at_least": {recall: 0.9}, "at_most": {recall: 1.0}}, 0),
        ({"at_least": {recall: 0.992}, "at_most": {recall: 1.0}}, 1),
        ({"at_least": {"ap": 0.5}}, 1),
    ):
        found = list(dict.fromkeys(missed(with_work(full, **bounds))))
        assert len(found) == missing
        assert_said(*found)
