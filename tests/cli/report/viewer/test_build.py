"""What the viewer shows of results side by side."""

from dataclasses import replace

import polars as pl
import pytest

from madeupadvice import cause, limits
from pyscale.analysis.comparison import Side
from pyscale.analysis.referencemodel import Referred
from pyscale.evaluation.results import analysed
from pyscale.report import sentences
from pyscale.report.comparison import ComparisonContext
from pyscale.report.viewer.build import STAGES, comparison_table, properties, tag
from pyscale.report.viewer.build import stage_viewer as viewer
from pyscale.report.viewer.several import Several, against_first
from pyscale.report.viewer.sources import Column, SideBySide, Source, beside_references, source_of
from refusals import assert_said


@pytest.fixture(scope="module")
def shown(two_runs):
    return viewer(two_runs)


def row_of(shown, stage, workers):
    wanted = (stage, f"N = {workers}", False)
    return next(row for row in shown.rows if (row["curve"], row["group"], row["part"]) == wanted)


def test_what_limits_one_run_is_not_said_of_another(full):
    own = source_of(full, alike=frozenset({"movie"}))
    both = viewer(SideBySide.of([own, replace(own, limits=())]))
    limited, unknown = (cell["why"] for cell in row_of(both, "segment", 8)["cells"])
    assert unknown.startswith("The largest part of the time")
    assert not limited.startswith("The largest part of the time")


@pytest.mark.parametrize(
    ("run", "kind", "other", "values", "differs"),
    [
        ({"processor": "Xeon"}, "run", {"processor": "EPYC"}, ("Xeon", "EPYC"), True),
        ({"memory": "32 GiB"}, "run", {"memory": "32 GiB"}, ("32 GiB", "32 GiB"), False),
        # What a run does not have differs, and what a reference does not tell is unknown.
        ({"GPUs": "H200"}, "run", {}, ("H200", "-"), True),
        ({"GPUs": "H200"}, "reference", {}, ("H200", None), False),
        # What no stamp tells of is unknown of a run too.
        ({}, "reference", {"network": "Ethernet"}, (None, "Ethernet"), False),
    ],
)
def test_hardware_that_differs_is_marked(run, kind, other, values, differs):
    side = Side(pl.DataFrame(), frozenset())
    told = (("run", run), (kind, other))
    (found,) = properties(
        [Source(Column(name="a", kind=one), side, hardware=own) for one, own in told]
    )
    assert (found["values"], found["differs"]) == (values, differs)


class TestReferences:
    def test_a_reference_stands_beside_its_stage_and_is_another_machine(self, with_reference):
        shown = viewer(with_reference(measured="2019", url="https://example.org/paper"))
        run, reference = shown.found.columns
        assert (run.name, run.kind) == ("run-1", "run")
        assert (reference.name, reference.kind) == ("cluster of 2019", "reference")
        assert (reference.about, reference.href) == (
            "another machine, 2019",
            "https://example.org/paper",
        )
        cells = row_of(shown, "segment", 2)["cells"]
        assert None not in cells
        assert row_of(shown, "track", 2)["cells"][1] is None

    def test_what_it_measured_twice_of_one_stage_has_a_column_each(self, full, reference):
        own = full.configurations.filter(pl.col("stage").is_in(["segment", "track"]))
        again = own.filter(pl.col("stage") == "segment").with_columns(
            label=pl.lit("cells_2"), wall_s=3 * pl.col("wall_s")
        )
        beside = pl.concat([own.with_columns(label=pl.col("stage")), again])
        shown = viewer(beside_references(replace(full, references=[Referred(reference, beside)])))
        assert [column.about for column in shown.found.columns[1:]] == [
            "another machine; segment: segment",
            "another machine; segment: cells_2",
        ]
        _, first, second = row_of(shown, "segment", 2)["cells"]
        assert second["wall_s"] == 3 * first["wall_s"]
        for row in shown.rows:
            if row["heads"]:
                percents = [cell["percent"] for cell in row["cells"] if cell]
                assert percents == pytest.approx([100] * 3)

    @pytest.mark.parametrize(
        ("changes", "value", "why_not"),
        [
            ({}, None, "unknown-work"),
            ({"work_id": "another"}, None, "other-input"),
            ({"work_id": "same"}, 0.5, None),
        ],
    )
    def test_its_times_are_compared_where_input_and_parameters_are_the_same(
        self, with_reference, changes, value, why_not
    ):
        shown = viewer(with_reference(**changes))
        speedup = row_of(shown, "segment", 2)["cells"][1]["speedups"][0]
        assert (speedup.get("speedup"), speedup["why_not"]) == (value, why_not)
        compared = [one for one in shown.speedups if "speedup" in one]
        assert bool(compared) == (why_not is None)


def test_of_three_runs_each_is_judged_against_the_first_alone(full, slower):
    runs = [source_of(run, alike=frozenset({"movie"})) for run in (full, slower, full)]
    judged = comparison_table(SideBySide.of(runs), STAGES).drop_nulls("verdict")
    found = judged.group_by("side").agg(pl.col("verdict").unique(), pl.len())
    assert sorted(found.rows()) == [("B", ["worse"], 16), ("C", ["same"], 16)]
    for row in judged.filter(side="B").to_dicts():
        assert row["ratio"] == pytest.approx(1 / row["speedup"])


def test_alone_or_beside_a_reference_nothing_is_judged(full, with_reference):
    alone = comparison_table(beside_references(full), STAGES)
    beside = comparison_table(with_reference(work_id="same"), STAGES)
    for table in (alone, beside):
        assert table["verdict"].null_count() == table.height
    assert alone.columns == beside.columns
    assert set(beside["side"]) == {"A", "B"}


PARTS = {"compute": 6.0, "import": 3.0, "idle": 1.0}


def limits_of(*causes):
    """Causes by code, efficiency without, and share of resamples in which it is the first."""
    return limits(*(cause(*told) for told in causes), efficiency=0.5)


def test_the_main_cause_is_named_as_surely_as_it_is_known():
    for share in (0.99, 0.85, 0.5, None):
        rest = None if share is None else 1 - share
        found = limits_of(("imbalance", 0.9, share), ("start-up", 0.8, rest))
        text, why = tag(found, PARTS, 4)
        # The explanation is what the report says.
        assert why == " ".join(sentences.limits([found]))
        assert_said(text)


SMALL = limits_of(("imbalance", 0.51, 0.99))


def test_without_a_main_cause_the_largest_part_is_named_with_its_share():
    # Where no cause is large the largest part is named too.
    for found, parts in ((None, PARTS), (SMALL, PARTS | {"read": 20.0})):
        assert_said(": ".join(tag(found, parts, 4 if found else 1)))


@pytest.mark.parametrize("parts", [{}, {"busy": 9.0}, {"compute": 0.0}])
def test_where_no_phase_is_known_there_is_no_tag(parts):
    assert tag(None, parts, 1) is None


MOVIE = frozenset({"movie"})
CONTEXT = ComparisonContext(base="run a", new="run b", measured_here=True)


def several(found, *differing):
    count = len(found.sources)
    return Several(found, [None] * count, [CONTEXT] * (count - 1), differing)


def beside(base, new, *, same_movie=True):
    other = MOVIE if same_movie else frozenset({"another"})
    return several(SideBySide.of([source_of(base, alike=MOVIE), source_of(new, alike=other)]))


def against(several):
    (found,) = against_first(several)
    return found


def test_runs_of_other_stages_and_n_say_what_only_one_has(full, thin):
    without_track = analysed(full.trials.filter(pl.col("stage") != "track"), full.context)
    found = against(beside(without_track, thin)).compared
    assert_said(found.headline, *found.said, *found.notes.values())


def test_runs_with_nothing_in_common_or_of_another_input_are_shown_and_not_judged(full, slower):
    one, other = (
        analysed(full.trials.filter(pl.col("stage") == stage), full.context)
        for stage in ("track", "segment")
    )
    told = CONTEXT.model_copy(update={"nothing_in_common": "a is of tracks, and b of cells"})
    apart = against(replace(beside(one, other), contexts=[told]))
    found = against(beside(full, slower, same_movie=False))
    for each in (apart, found):
        assert (each.compared.headline, each.compared.tables) == (None, [])
    assert_said(apart.refused, found.refused)


def test_other_work_at_an_n_is_not_judged_there(full):
    longer = pl.when(pl.col("workers") == 8).then(2 * pl.col("work")).otherwise("work")
    other = analysed(full.trials.with_columns(work=longer), full.context)
    found = against(beside(full, other)).compared
    words = {row["workers"]: row["verdict"] for row in found.rows}
    assert words == {1: "same", 2: "same", 4: "same", 8: None}
    assert_said(found.headline, *found.said)
