from dataclasses import replace

from drawn import caption, layers
from pyscale.report.figures import NothingToDrawError, timeline
from refusals import refused


def rectangles(plot):
    (found,) = layers(plot, "geom_rect")
    return found.data


def test_the_trial_of_median_wall_time_is_shown_unless_others_are_asked_for(new_run):
    walls_s = (9.0, 5.0, 7.0)
    run = new_run().curve("segment", lambda n, block: walls_s[block] / n, blocks=3)
    results = run.results_with_timeline()
    table = rectangles(timeline(results))
    assert table["panel"].cat.categories.tolist() == ["segment\nN = 2, repeat 2"]
    slowest = next(name for name in results.trials["trial"] if name.startswith("segment-n1-b0"))
    plot = timeline(results, [slowest])
    assert rectangles(plot)["panel"].cat.categories.tolist() == ["segment\nN = 1, repeat 0"]
    assert "median" in caption(timeline(results))
    assert "median" not in caption(plot)


def test_what_is_not_known_is_said(on_nodes, full):
    with refused(NothingToDrawError):
        timeline(full if full.timeline is None else replace(full, timeline=None))
    with refused(NothingToDrawError):
        timeline(on_nodes(["segment"], 2), ["nowhere"])
