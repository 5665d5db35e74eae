import gc
import re
import warnings

import matplotlib.pyplot as plt
import pytest

from pyscale.report.figures import write_all_figures, write_figures


@pytest.mark.slow
def test_the_three_figures_come_in_three_formats_as_wide_as_asked_for(tmp_path, thin):
    # Of a report of another kind.
    (tmp_path / "benchmark_loader_pareto.pdf").touch()
    before = plt.get_fignums()
    written = write_figures(tmp_path, thin, width_mm=88)
    assert plt.get_fignums() == before
    names = [f"benchmark_{name}" for name in ("speedup", "losses", "results")]
    files = {f"{name}.{suffix}" for name in names for suffix in ("pdf", "png", "svg")}
    files.add("figure_captions.md")
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in written} == files
    svg = (tmp_path / "benchmark_losses.svg").read_text()
    width_pt = float(re.search(r'width="([0-9.]+)pt"', svg).group(1))
    assert width_pt * 25.4 / 72 == pytest.approx(88, abs=0.1)
    assert (tmp_path / "benchmark_results.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "benchmark_results.pdf").read_bytes().startswith(b"%PDF")
    captions = (tmp_path / "figure_captions.md").read_text()
    assert "**benchmark_speedup.** Coloured points: ratios of median wall times." in captions
    assert "Coloured" not in (tmp_path / "benchmark_speedup.svg").read_text()
    # No file holds a date, and letters stay letters.
    for path in (path for path in written if path.suffix != ".md"):
        content = path.read_bytes()
        assert not re.search(rb"CreationDate|<dc:date>|tIME", content)
        assert (b"/CIDFontType2" in content or b"/TrueType" in content) == (path.suffix == ".pdf")


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
def test_the_same_numbers_give_the_same_bytes_and_no_figure_warns(tmp_path, on_nodes):
    results = on_nodes(["segment"], 4, ["a", "b"])
    for folder in ("first", "second"):
        write_all_figures(tmp_path / folder, results)
    first = sorted((tmp_path / "first" / "figures").iterdir())
    assert len(first) == 7 * 3 + 1
    for path in first:
        other = tmp_path / "second" / "figures" / path.name
        assert path.read_bytes() == other.read_bytes(), path.name


def test_where_nothing_was_timed_there_is_no_figure(tmp_path, nothing_timed):
    assert write_figures(tmp_path, nothing_timed) == []
    assert write_all_figures(tmp_path, nothing_timed) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("_no_warning")
def test_a_single_configuration_is_drawn_without_a_warning(tmp_path, of_table):
    assert len(write_figures(tmp_path, of_table(["a"], (4,)))) == 2 * 3 + 1
