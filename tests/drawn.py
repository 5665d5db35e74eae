"""What is written and marked on a figure, for tests that look at it."""

import itertools

import matplotlib.pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from plotnine import theme


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
