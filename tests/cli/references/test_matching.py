"""References stand beside the same stage in the same sweep, and beside nothing else."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from pyscale.analysis.grid.findings import grid_findings_of_table
from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.references.files import all_references, read_reference, shipped_folder
from pyscale.references.matching import matching, matching_grids, shown_beside


def measured(*rows, work=None):
    """Configurations of a table of wall times."""
    table = pl.DataFrame(rows, schema=["stage", "workers", "wall_s"], orient="row")
    if work is not None:
        table = table.with_columns(work=pl.Series(work))
    return configurations(trials_from_wall_times(table), interleaved=False)


@pytest.fixture
def known(own):
    return beside_any(own)


def beside_any(own):
    """References but those of validations."""
    every = all_references(own).values()
    return [one for one in every if not one.reference.name.startswith("validation-")]


def by_name(found):
    return {one.reference.name: one.found for one in found}


SAME_WORK = 'work_id = "abc"\n\n[hardware]'
SAME_SIZES = '[size_ids]\ncells = "def"\n\n[hardware]'


@pytest.mark.parametrize(
    ("told", "work_id", "sizes", "asked", "shown"),
    [
        (SAME_WORK, "abc", (), (), ["ours"]),
        (SAME_WORK, "other", (), (), []),
        (SAME_WORK, None, (), (), []),
        ("[hardware]", None, (), (), []),
        (SAME_SIZES, None, ["def"], (), ["ours"]),
        (SAME_SIZES, None, ["other"], (), []),
        (SAME_WORK, "other", (), ["pycyto"], ["pycyto"]),
        (SAME_WORK, "abc", (), ["pycyto"], ["pycyto", "ours"]),
        (SAME_WORK, "abc", (), ["pycyto", "none"], []),
    ],
)
def test_references_stand_beside_the_same_work_or_where_they_are_asked_for(
    own, write, toml, told, work_id, sizes, asked, shown
):
    write(toml=toml.replace("[hardware]", told))
    found = shown_beside(all_references(own).values(), work_id, asked=asked, sizes=sizes)
    assert [one.reference.name for one in found] == shown


def test_both_channels_of_pycyto_stand_beside_a_segmentation(known):
    # And no sweep over sizes beside one over workers.
    found = by_name(matching(known, measured(("segment", 1, 9.0), ("segment", 2, 5.0))))
    assert list(found) == ["pycyto"]
    curves = found["pycyto"]
    assert set(curves["stage"]) == {"segment"}
    assert curves["label"].unique(maintain_order=True).to_list() == ["cellpose_ch0", "cellpose_ch1"]
    last = curves.filter(label="cellpose_ch0", workers=8).row(0, named=True)
    assert last["speedup"] == pytest.approx(512 / 165)
    assert last["wall_s"] == 165
    # Where the kind of scaling is not known nothing is held against a reference.
    assert set(curves["scaling"]) == {"strong"}


def test_stages_stand_in_the_order_of_the_report_with_their_own_curves_alone(known):
    curves = by_name(matching(known, measured(("track", 1, 9.0), ("contact", 1, 5.0))))["pycyto"]
    assert curves["stage"].unique(maintain_order=True).to_list() == ["track", "contact"]
    stages = next(one.reference.stages for one in known if one.reference.name == "pycyto")
    own = curves.select("stage", "label").unique().rows()
    assert {(stages[label], stage) for stage, label in own} == {
        ("track", "track"),
        ("contact", "contact"),
    }
    # An entry of a suite is known by the stage that it runs.
    reported = measured(("segment_ch1", 1, 9.0))
    assert matching(known, reported) == []
    found = by_name(matching(known, reported, {"segment_ch1": "segment"}))
    assert set(found["pycyto"]["stage"]) == {"segment_ch1"}


def test_strong_scaling_is_not_shown_beside_weak(own, write):
    weak = measured(("segment", 1, 9.0), ("segment", 2, 9.5), work=[40.0, 80.0])
    assert set(weak["scaling"]) == {"weak"}
    known = beside_any(own)
    assert matching(known, weak) == matching(known, measured(("deconvolve", 1, 9.0))) == []
    write(csv="stage,workers,wall_s,work\ncells,1,80,10\ncells,2,81,20\n")
    known = beside_any(own)
    assert list(by_name(matching(known, weak))) == ["ours"]
    strong = measured(("segment", 1, 9.0), ("segment", 2, 5.0), work=[40.0, 40.0])
    assert list(by_name(matching(known, strong))) == ["pycyto"]


def test_the_very_measurement_is_not_its_own_reference(own, write):
    write()
    again = measured(("segment", 1, 80.0), ("segment", 2, 50.0))
    other = measured(("segment", 1, 80.0), ("segment", 2, 50.1))
    known = beside_any(own)
    assert "ours" not in by_name(matching(known, again))
    assert "ours" in by_name(matching(known, other))


def sizes(family, *wall_s):
    """What a table of sizes on one CPU tells."""
    table = pl.DataFrame({"wall_s": wall_s}).with_columns(
        device=pl.lit("cpu"), length_px=224.0 * pl.int_range(1, pl.len() + 1)
    )
    (found,) = grid_findings_of_table(table, family)
    return found


def test_a_sweep_over_sizes_stands_beside_a_grid_against_the_size(known):
    grid, nuclei = sizes("segment", 1.0, 4.0), sizes("nuclei", 1.0, 4.0)
    (reference, found), (ours, h100) = matching_grids(known, [grid])
    assert (reference.name, ours.name) == ("cellpose-devices", "h100-devices")
    assert h100.points["family"].unique().to_list() == ["segment"]
    assert (found.family, found.against) == ("segment", "length_px")
    assert found.points["family"].unique().to_list() == ["cellpose"]
    assert len(found.ceilings) == 2
    # It is known by the stage that its points run, and stands beside no other axis.
    assert matching_grids(known, [nuclei]) == []
    assert len(matching_grids(known, [nuclei], {"nuclei": "segment"})) == 2
    assert matching_grids(known, [replace(grid, against="batch_size")]) == []


def test_a_sweep_over_sizes_is_not_its_own_reference(own, write, toml):
    csv = "stage,device,length_px,wall_s\ncells,cpu,224,1\ncells,cpu,448,4\n"
    write(toml=toml.replace('"workers"', '"length_px"'), csv=csv)
    known = beside_any(own)

    def names(grid):
        return [reference.name for reference, _ in matching_grids(known, [grid])]

    shipped = ["cellpose-devices", "h100-devices"]
    assert names(sizes("segment", 1.0, 4.0)) == shipped
    assert names(sizes("segment", 1.0, 4.1)) == [*shipped, "ours"]


NOWHERE = Path("/nowhere/at/all")


def shipped(name):
    return read_reference(shipped_folder() / f"{name}.toml")


def test_each_has_its_files_and_says_what_it_is_and_what_is_wrong_with_it():
    every = all_references(NOWHERE)
    for loaded in every.values():
        reference = loaded.reference
        assert all(sentence.endswith(".") for sentence in reference.caveats)
        assert len(reference.caveats) >= 3
        assert not reference.figures.endswith(".")
        # A table of wall times has no speedups of its own, and speedups stay what they are.
        if reference.has_wall_times:
            assert not {"speedup", "efficiency_pct"} & set(loaded.table.columns)
    devices = every["cellpose-devices"]
    assert set(devices.table["device"]) < set(devices.reference.hardware)
    files = list(shipped_folder().iterdir())
    assert {path.suffix for path in files} == {".toml", ".csv"}
    assert {path.stem for path in files} == set(every)


@pytest.mark.parametrize(
    ("name", "file", "columns"),
    [
        ("pycyto", "pycyto_horizontal_scaling.csv", ["stage", "workers", "wall_s"]),
        ("cellpose-devices", "cellpose_device_sweep.csv", ["device", "length_px", "wall_s"]),
        ("deepinverse-speedups", "deepinverse_seed_speedups.csv", pl.all()),
    ],
)
def test_a_shipped_table_holds_what_was_published(references, name, file, columns):
    found = shipped(name).table.select(columns)
    assert found.rows() == pl.read_csv(references / file).rows()


def test_means_of_jobs_stand_beside_the_wall_times_of_pycyto(references):
    jobs = pl.read_csv(references / "pycyto_trackmate_tasks.csv")
    assert shipped("pycyto").table.drop_nulls("tasks").select(jobs.columns).rows() == jobs.rows()


def test_the_times_of_deepinverse_and_the_speedups_that_follow_from_them(references):
    published = pl.read_csv(references / "deepinverse_scaling_v100.csv")
    table = shipped("deepinverse-v100").table
    one = ["image_size", "gpus"]
    for part, column in (
        ("total", "total_s"),
        ("denoiser", "denoise_s"),
        ("gradient", "physics_s"),
        ("overhead", "overhead_s"),
    ):
        own = table.filter(component=part).select(*one, "wall_s")
        assert own.rows() == published.select(*one, column).rows()
    total = table.filter(component="total")
    assert total["baseline_gpus"].to_list() == published["baseline_gpus"].to_list()
    for column in ("speedup", "efficiency_pct", "work_normalised_efficiency_pct"):
        assert total[column].to_list() == pytest.approx(published[column].to_list(), rel=5e-4)
