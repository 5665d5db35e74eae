from dataclasses import replace

import pytest

from drawn import caption, layers
from pyscale.report.context import ReportContext, Work
from pyscale.report.figures import NothingToDrawError, wall_time


def panels(plot):
    """Text above each panel."""
    return layers(plot, "geom_point")[-1].data["panel"].cat.categories.tolist()


def test_a_small_dot_is_nearer_to_its_own_configuration_than_to_any_other(of_table):
    counts = (1, 7, 8, 64)
    singles, _ = layers(wall_time(of_table(["a"], counts)), "geom_point")
    for n, at in zip(counts, singles.data["at"], strict=True):
        assert min(counts, key=lambda other: abs(other - at)) == n


def test_a_panel_names_the_algorithm_and_the_caption_a_stand_in(full):
    work = Work(data="a", how="Cellpose 3.1, pyscale-tiny", stand_in="segment ran a toy.")
    named = replace(full, context=ReportContext(title="a run", works={"segment": work}))
    wide, narrow = (wall_time(named, width_mm=width) for width in (180, 88))
    assert "segment: Cellpose 3.1, pyscale-tiny\nbaseline N = 1: " in panels(wide)[1]
    assert " ".join(panels(narrow)[1].split()).startswith(
        "segment: Cellpose 3.1, pyscale-tiny baseline N = 1: "
    )
    assert caption(wide).endswith("segment ran a toy.")


def test_where_nothing_was_timed_there_is_nothing_to_draw(nothing_timed):
    with pytest.raises(NothingToDrawError, match="no trial of it was timed"):
        wall_time(nothing_timed)
