"""Figures for papers draw the columns of the tables, in three formats, and the same each time."""

import gc
import re
import warnings

import matplotlib.pyplot as plt
import polars as pl
import pytest

import madeupgrid
import madeuploader
import madeupreconstruct
from atleastone import some
from drawn import assert_labels_stand_apart, layers
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.evaluation.results import analysed
from pyscale.report import figures
from pyscale.report.context import ReportContext
from refusals import refused


def points(plot):
    return layers(plot, "geom_point")[-1].data


def drawn(plot, *columns):
    return sorted(points(plot)[list(columns)].itertuples(index=False, name=None))


def of_table(counts, **columns):
    """Results of wall times that others published, one trial each."""
    rows = [{"stage": "a", "workers": n, "wall_s": 10 / n**0.7} for n in counts]
    trials = trials_from_wall_times(pl.DataFrame(rows).with_columns(**columns))
    return analysed(trials, ReportContext(title="a table"), interleaved=False)


def test_wall_time_and_speedup_are_the_columns_of_the_configurations(full):
    table = full.configurations.sort("stage", "workers")
    for draw, column in ((figures.wall_time, "wall_s"), (figures.speedup, "speedup")):
        rows = table.select("stage", "workers", column)
        assert drawn(draw(full), "curve", "workers", column) == rows.rows()
    dots = layers(figures.wall_time(full), "geom_point")[0].data
    assert sorted(dots["wall_s"]) == sorted(full.trials.filter("valid")["wall_s"])


def test_an_invalid_configuration_is_a_cross_and_no_point(broken):
    for draw in (figures.wall_time, figures.speedup):
        *_, marked, crossed = layers(draw(broken), "geom_point")
        assert crossed.aes_params["shape"] == "x"
        assert crossed.data["invalid"].all()
        assert not marked.data["invalid"].any()
    (crossed,) = layers(figures.losses(broken), "geom_point")
    assert crossed.data["invalid"].all()


def test_bars_are_the_losses_below_what_the_baseline_needed(full):
    plot = figures.losses(full)
    (bars,) = layers(plot, "geom_col")
    known = full.losses.filter(pl.col("worker_seconds") > 0)["worker_seconds"]
    assert sorted(bars.data["worker_seconds"]) == sorted(known)
    (across,) = layers(plot, "geom_segment")
    base = full.configurations.filter(workers=1).to_dicts()
    for row in base:
        own = across.data[across.data["curve"] == row["stage"]]["needed_s"]
        assert own.tolist() == pytest.approx([row["worker_seconds"]] * len(own))


def test_of_a_grid_times_and_ratios_are_drawn_by_device():
    results = madeupgrid.made_up(sizes=(224, 448))
    grid = next(iter(results.kinds))
    times = [row["call_s"] for row in points(figures.size_sweep(results)).to_dict("records")]
    assert sorted(times) == sorted(grid.points["steady_s"])
    ratios = grid.ratios.filter(measure="steady")["ratio"]
    assert sorted(points(figures.size_speedup(results))["ratio"]) == sorted(ratios)
    one = madeupgrid.made_up(("cpu",), (224,), repeats=1, parts=False, references=False)
    plot = figures.size_sweep(one)
    assert len(points(plot)) == 1
    assert not layers(plot, "geom_line")
    with refused(figures.NothingToDrawError):
        figures.size_speedup(one)


def test_of_ranks_components_and_the_front_are_drawn():
    results = madeupreconstruct.made_up()
    (found,) = results.kinds
    known = found.scaling.filter(pl.col("speedup") > 0, pl.col("component") != "objective")
    assert sorted(points(figures.components(results))["speedup"]) == sorted(known["speedup"])
    results = madeuploader.made_up(madeuploader.consuming(500.0))
    (found,) = results.kinds
    plot = figures.loader_pareto(results)
    known = found.points.drop_nulls("on_front")
    assert sorted(points(plot)["patches_per_s"]) == sorted(known["patches_per_s"])
    (labels,) = layers(plot, "geom_text")
    assert len(labels.data) == known["on_front"].sum()


def test_where_nothing_was_timed_there_is_no_figure(new_run, tmp_path):
    nothing = new_run().trial("track", [{"compute": 1.0}], failed=["w0"]).results_with_timeline()
    assert figures.write_figures(tmp_path, nothing) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_no_label_touches_another(full, broken):
    for results in (full, broken, madeupgrid.made_up(), madeupreconstruct.made_up()):
        for _, plot in some(figures.drawings(results)):
            assert_labels_stand_apart(plot)


@pytest.fixture
def _no_warning():
    # What earlier tests left open would be told here.
    gc.collect()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("_no_warning")
def test_the_same_numbers_give_the_same_bytes_in_three_formats(tmp_path, thin):
    (tmp_path / "first").mkdir()
    # Of a report of another kind.
    (tmp_path / "first" / "benchmark_loader_pareto.pdf").touch()
    before = plt.get_fignums()
    written = figures.write_figures(tmp_path / "first", thin)
    assert plt.get_fignums() == before
    names = [f"benchmark_{name}" for name in ("speedup", "losses", "results")]
    files = {f"{name}.{suffix}" for name in names for suffix in ("pdf", "png", "svg")}
    files.add("figure_captions.md")
    assert {path.name for path in (tmp_path / "first").iterdir()} == files
    assert {path.name for path in written} == files
    figures.write_figures(tmp_path / "second", thin)
    for path in written:
        content = path.read_bytes()
        assert content == (tmp_path / "second" / path.name).read_bytes(), path.name
        if path.suffix != ".md":
            # No file holds a date, and letters stay letters.
            assert not re.search(rb"CreationDate|<dc:date>|tIME", content)
            assert (b"/CIDFontType2" in content or b"/TrueType" in content) == (
                path.suffix == ".pdf"
            )
    captions = (tmp_path / "first" / "figure_captions.md").read_text()
    assert "**benchmark_speedup.** Speedup over the number of workers." in captions


@pytest.mark.usefixtures("_no_warning")
def test_a_single_configuration_is_drawn_without_a_warning(tmp_path):
    assert len(figures.write_figures(tmp_path, of_table((4,)))) == 2 * 3 + 1


def test_labels_of_close_counts_are_left_out():
    """But for the largest, which has its own always."""
    plot = figures.speedup(of_table((1, 5, 6, 7, 8, 9, 100, 104, 108)))
    (axis,) = (scale for scale in plot.scales if "x" in scale.aesthetics)
    assert list(axis.breaks) == [108, 9, 5, 1]
