import pytest

from pyscale.report.figures.house import Sheet, figure


@pytest.mark.parametrize(
    ("panels", "width_mm", "columns"),
    [(1, 180, 1), (2, 180, 2), (4, 180, 2), (5, 180, 3), (6, 180, 3), (1, 88, 1), (6, 88, 2)],
)
def test_panels_lie_beside_each_other_as_far_as_they_can_be_read(panels, width_mm, columns):
    assert Sheet(panels, width_mm).columns == columns


def test_a_long_name_is_broken_after_an_underscore_and_loses_nothing():
    name = "registration_and_denoising_of_long_movies"
    title = Sheet(6, 180).title(name, "baseline N = 1: 300 s")
    *lines, base = title.split("\n")
    assert base == "baseline N = 1: 300 s"
    assert len(lines) > 1
    assert "".join(lines) == name
    assert all(line.endswith("_") for line in lines[:-1])


def test_a_figure_is_as_wide_as_a_journal_asks_and_higher_with_more_to_say():
    size = {}
    for width_mm in (88, 180):
        for sentences in (("One.",), ("One.", "Two.", "Three.")):
            plot = figure(Sheet(2, width_mm), ["a", "b"], *sentences)
            size[width_mm, len(sentences)] = plot.theme.getp("figure_size")
        assert size[width_mm, 1][0] * 25.4 == pytest.approx(width_mm)
        assert size[width_mm, 3][1] > size[width_mm, 1][1]
