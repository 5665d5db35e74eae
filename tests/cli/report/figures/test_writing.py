import re
import warnings

import matplotlib.pyplot as plt
import pytest

from pyscale.report.figures import save, speedup, write_all_figures, write_figures


@pytest.mark.slow
@pytest.mark.parametrize("width_mm", [88, 180])
def test_both_figures_come_in_three_formats_as_wide_as_asked_for(tmp_path, thin, width_mm):
    (tmp_path / "benchmark_speedup.svg").touch()  # of an earlier release
    written = write_figures(tmp_path, thin, width_mm=width_mm)
    assert sorted(path.name for path in written) == [
        *("benchmark_losses.pdf", "benchmark_losses.png", "benchmark_losses.svg"),
        *("benchmark_results.pdf", "benchmark_results.png", "benchmark_results.svg"),
    ]
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in written}
    svg = (tmp_path / "benchmark_losses.svg").read_text()
    width_pt = float(re.search(r'width="([0-9.]+)pt"', svg).group(1))
    assert width_pt * 25.4 / 72 == pytest.approx(width_mm, abs=0.1)
    assert (tmp_path / "benchmark_results.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "benchmark_results.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.slow
def test_the_same_numbers_give_the_same_bytes(tmp_path, on_nodes):
    results = on_nodes(["segment", "track"], 2)
    for folder in ("first", "second"):
        write_all_figures(tmp_path / folder, results)
    first = sorted((tmp_path / "first" / "figures").iterdir())
    assert len(first) == 7 * 3
    for path in first:
        other = tmp_path / "second" / "figures" / path.name
        assert path.read_bytes() == other.read_bytes(), path.name


@pytest.mark.slow
def test_no_file_holds_a_date_and_letters_stay_letters(tmp_path, thin):
    for path in save(speedup(thin), tmp_path / "deep" / "figure"):
        content = path.read_bytes()
        assert not re.search(rb"CreationDate|<dc:date>|tIME", content)
        assert (b"/CIDFontType2" in content or b"/TrueType" in content) == (path.suffix == ".pdf")


@pytest.mark.slow
def test_figures_are_closed_once_they_are_written(tmp_path, thin):
    before = plt.get_fignums()
    write_figures(tmp_path, thin)
    assert plt.get_fignums() == before


@pytest.mark.slow
def test_a_figure_of_which_nothing_is_known_is_left_out(tmp_path, of_table):
    written = write_all_figures(tmp_path, of_table(["a"]))
    assert sorted({path.stem for path in written}) == ["speedup", "wall_time"]
    assert {path.parent.name for path in written} == {"figures"}


def test_where_nothing_was_timed_there_is_no_figure(tmp_path, nothing_timed):
    assert write_figures(tmp_path, nothing_timed) == []
    assert write_all_figures(tmp_path, nothing_timed) == []
    assert list(tmp_path.iterdir()) == []


def test_a_single_configuration_is_drawn_without_a_warning(tmp_path, of_table):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DeprecationWarning)
        assert len(write_figures(tmp_path, of_table(["a"], (4,)))) == 3


@pytest.mark.slow
def test_no_figure_warns(tmp_path, on_nodes):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DeprecationWarning)
        write_all_figures(tmp_path, on_nodes(["segment"], 4, ["a", "b"]))
