"""Figures for papers draw the columns of the tables, in three formats, and the same each time."""

import gc
import itertools
import re
import warnings

import matplotlib.pyplot as plt
import polars as pl
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from plotnine import theme

import madeupgrid
import madeupreconstruct
from atleastone import some
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.evaluation.results import analysed
from pyscale.report import figures
from pyscale.report.context import ReportContext
from refusals import refused


def assert_labels_stand_apart(plot):
    """No text overlaps another or leaves the figure, in the size that is saved."""
    figure = (plot + theme(dpi=100)).draw()
    renderer = FigureCanvasAgg(figure).get_renderer()
    # All has its place then, and nothing its pixels.
    figure.draw_without_rendering()
    texts = [
        (text.get_text(), text.get_window_extent(renderer))
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip()
    ]
    whole = figure.bbox
    plt.close(figure)
    assert len(texts) > 4
    for (text, box), (other, other_box) in itertools.combinations(texts, 2):
        assert not box.overlaps(other_box), (text, other)
    for text, box in texts:
        assert whole.x0 <= box.x0 <= box.x1 <= whole.x1, text
        assert whole.y0 <= box.y0 <= box.y1 <= whole.y1, text


def layers(plot, geom):
    """Layers of one kind, in the order in which they are drawn."""
    return [part.geom for part in plot.layers if type(part.geom).__name__ == geom]


def of_table(counts, **columns):
    """Results of wall times that others published, one trial each."""
    rows = [{"stage": "a", "workers": n, "wall_s": 10 / n**0.7} for n in counts]
    trials = trials_from_wall_times(pl.DataFrame(rows).with_columns(**columns))
    return analysed(trials, ReportContext(title="a table"), interleaved=False)


def test_one_size_on_one_device_is_a_point_without_a_line_or_a_ratio():
    one = madeupgrid.made_up(("cpu",), (224,), repeats=1, parts=False, references=False)
    plot = figures.size_sweep(one)
    assert len(layers(plot, "geom_point")[-1].data) == 1
    assert not layers(plot, "geom_line")
    with refused(figures.NothingToDrawError):
        figures.size_speedup(one)


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
