"""Every sentence on a sweep follows from a number, and is as sure as it is."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from pyscale.report.grid.sweep import Sweep, sweeps
from pyscale.report.grid.told import not_compared, told
from pyscale.report.wording import number, ratio


def only(results) -> Sweep:
    (sweep,) = sweeps(results.grids)
    return sweep


def under(results, heading):
    return " ".join(dict(told(only(results))).get(heading, []))


def of_ceiling(results, **changes):
    """The sentence on a ratio's end, were it another."""
    sweep = only(results)
    grid = replace(
        sweep.grid, ceilings=tuple(replace(one, **changes) for one in sweep.grid.ceilings)
    )
    return " ".join(dict(told(replace(sweep, grid=grid)))["Times as fast"])


def test_ratios_stand_with_both_times_and_their_interval(both):
    sweep = only(both)
    last = sweep.ratios(sweep.compared[0], "steady")[-1]
    said = under(both, "Times as fast")
    assert (
        f"{ratio(last['ratio'])} times as fast as the CPU at 2352 px (95 % interval "
        f"{ratio(last['ratio_low'])} to {ratio(last['ratio_high'])}; {number(last['value_s'])} s "
        f"instead of {number(last['base_s'])} s)"
    ) in said


def test_a_ratio_whose_interval_holds_one_is_not_called_faster(both):
    sweep = only(both)
    ratios = sweep.grid.ratios.with_columns(ratio_low=pl.lit(0.9), ratio_high=pl.lit(1.2))
    said = " ".join(
        dict(told(replace(sweep, grid=replace(sweep.grid, ratios=ratios))))["Times as fast"]
    )
    assert "indistinguishable from the CPU at 2352 px" in said
    assert "times as fast" not in said


def test_a_ratio_that_flattens_has_its_ceiling_and_is_not_called_logarithmic(both):
    (ceiling,) = (one for one in both.grids[0].ceilings if one.measure == "steady")
    assert ceiling.shape == "flattens"
    said = under(both, "Times as fast")
    known = f"{ratio(ceiling.ceiling)} (95 % interval {ratio(ceiling.low)} to "
    assert f"The ratio flattens: over 10 sizes up to 2352 px it approaches {known}" in said
    assert "logarithm" not in said


@pytest.mark.parametrize(
    ("shape", "words", "never"),
    [
        ("undecided", "do not settle whether the ratio flattens", "logarithm"),
        ("logarithmic", "grows with the logarithm of the size", "approaches"),
    ],
)
def test_other_shapes_are_told_as_what_they_are(both, shape, words, never):
    said = of_ceiling(both, shape=shape)
    assert words in said
    assert never not in said


def test_too_few_sizes_have_no_ceiling_and_the_text_says_why(thin):
    said = under(thin, "Times as fast")
    assert "No ceiling: a ceiling needs at least 4 sizes" in said
    assert "no 95 % interval;" in said
    assert "not all of these sizes have a 95 % interval" in said


def test_where_it_wins_is_a_measured_size(both):
    sweep = only(both)
    assert "faster than the CPU at every measured size, 224 px and more" in under(
        both, "Times as fast"
    )
    for changes, words in (
        ({"from_px": 448.0, "not_at_px": 224.0}, "from 448 px on, not at 224 px"),
        ({"from_px": None, "not_at_px": 2352.0}, "faster than the CPU at no measured size"),
    ):
        wins = tuple(replace(one, **changes) for one in sweep.grid.wins)
        grid = replace(sweep.grid, wins=wins)
        assert words in " ".join(dict(told(replace(sweep, grid=grid)))["Times as fast"])


def test_what_the_gpu_does_not_speed_up_bounds_the_ratio(both):
    (row,) = both.grids[0].unaided.filter(pl.col("pixels") == 2352**2).to_dicts()
    said = under(both, "Parts that are not sped up")
    assert "mask making, flow dynamics, mask cleaning" in said
    assert f"limit it to {ratio(row['bound'])} times as fast as the CPU" in said
    assert "unattributed" not in said


def test_a_process_for_a_single_image_pays_for_building_the_model_too(both):
    fresh = {row["pixels"]: row for row in both.grids[0].ratios.filter(measure="fresh").to_dicts()}
    said = under(both, "A single image in a fresh process")
    assert f"s, {ratio(fresh[224**2]['ratio'])} times as fast as on the CPU" in said
    assert "for building the model" in said


def test_a_process_for_a_single_small_image_loses_time_on_the_gpu(both):
    said = under(both, "A single image in a fresh process")
    assert "a single image of 224 px loses time on the GPU (CUDA)" in said
    assert "a single image of 2352 px gains less from the GPU (CUDA)" in said


def test_without_an_interval_nothing_is_said_of_a_single_image_beyond_its_times(thin):
    said = under(thin, "A single image in a fresh process")
    assert "the first call of a process takes" in said
    assert "A process for a single image" not in said


def test_outputs_are_set_beside_each_other_without_a_verdict(both, thin):
    said = under(both, "Agreement of outputs")
    assert "0.9925 or more at an IoU of 0.5 (lowest at 1568 px)" in said
    assert "0.9400 or more at an IoU of 0.9" in said
    assert "At 2352 px it finds 501 objects, the CPU 498." in said
    assert "output not compared with that of the CPU" in under(thin, "Agreement of outputs")


def test_a_cpu_alone_is_told_by_itself_and_how_to_compare_it(cpu_alone):
    said = under(cpu_alone, "Times as fast")
    assert "Only the CPU was measured" in said
    assert "--sizes 224,448,672 --device cpu,cuda`" in said
    assert "network 93 %" in under(cpu_alone, "Largest parts of a call")
    assert "Parts that are not sped up" not in dict(told(only(cpu_alone)))


def test_memory_and_energy_are_those_of_the_device(both, cpu_alone):
    assert "0.28 GiB at 224 px and 3.34 GiB at 2352 px" in under(both, "Device memory")
    assert "22.0 J at 224 px" in under(both, "Energy")
    assert {"Device memory", "Energy"}.isdisjoint(dict(told(only(cpu_alone))))


def test_the_published_protocol_stands_beside_as_mean_and_sd(as_published, both):
    row = as_published.grids[0].points.row(0, named=True)
    said = under(as_published, "Published protocol")
    mean_and_sd = f"{number(row['published_s'])} +/- {number(row['published_sd_s'])} s at 224 px"
    assert f"{mean_and_sd} (3 calls)" in said
    assert f"a later call alone: {number(row['steady_s'])} s" in said
    assert "in building the model and a call" in under(as_published, "Times as fast")
    assert "Published protocol" not in dict(told(only(both)))


def test_workers_that_share_a_gpu_are_held_against_one(shared):
    row = shared.grids[0].sharing.filter(value="cuda").row(0, named=True)
    said = under(shared, "Several workers")
    assert f"{ratio(row['gain'])} times as much (95 % interval" in said
    assert "each with its own GPU" in said


def test_devices_that_cannot_be_compared_are_not_said_to_be_one(both):
    sweep = only(both)
    empty = sweep.grid.ratios.clear()
    said = not_compared(replace(sweep, grid=replace(sweep.grid, ratios=empty)))
    assert said is not None
    assert said.startswith("No ratio of CPU and GPU (CUDA): no size")


def test_nothing_timed_is_one_sentence(both):
    sweep = only(both)
    nothing = pl.col("^(steady|first|start|published)_s.*$")
    points = sweep.grid.points.with_columns(nothing * None)
    grid = replace(sweep.grid, points=points, ratios=sweep.grid.ratios.clear())
    assert dict(told(replace(sweep, grid=grid)))["Time of a call"] == ["No timed call."]
