from dataclasses import replace

from drawn import caption, layers
from pyscale.report.figures import NothingToDrawError, timeline
from refusals import refused


def rectangles(plot):
    (found,) = layers(plot, "geom_rect")
    return found.data


def test_workers_of_one_node_stand_together_between_lines(on_nodes):
    """Windows are dealt to the nodes in turn, so neighbours in N are not on one node."""
    plot = timeline(on_nodes(["segment"], 4, ["left", "right"]))
    (line,) = layers(plot, "geom_hline")
    assert line.data["at"].tolist() == [-1.5]
    (axis,) = [scale for scale in plot.scales if "y" in scale.aesthetics]
    assert dict(zip(axis.labels, axis.breaks, strict=True)) == {"left": -0.5, "right": -2.5}


def node_names(plot):
    (axis,) = [scale for scale in plot.scales if "y" in scale.aesthetics]
    return list(axis.labels)


def test_names_of_nodes_are_shortened_to_where_they_differ_and_thinned_where_they_are_many(
    on_nodes,
):
    nodes = ["partition-gpu-node-01.example.org", "partition-gpu-node-02.example.org"]
    plot = timeline(on_nodes(["segment"], 2, nodes))
    assert node_names(plot) == ["…u-node-01", "…u-node-02"]
    plot = timeline(on_nodes(["segment"], 64, [f"node{place:03d}" for place in range(64)]))
    assert 2 < len(node_names(plot)) < 20
    assert layers(plot, "geom_hline") == []


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
