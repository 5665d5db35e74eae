"""Figures as files: the same numbers give the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyscale_stages.atomic import atomic_path

if TYPE_CHECKING:
    from plotnine import ggplot

FORMATS: dict[str, dict[str, Any]] = {
    "png": {"pil_kwargs": {"compress_level": 3}},
    "svg": {"metadata": {"Date": None}},
    "pdf": {"metadata": {"CreationDate": None}},
}
"""What is written, how quickly, and without the field of each that would hold the date."""


def save(plot: ggplot, stem: Path) -> list[Path]:
    """Draw once and write every format, with fixed seeds and no date.

    Parameters
    ----------
    plot : plotnine.ggplot
        As the functions of this package give it, perhaps with changes.
    stem : Path
        Path of the files without their endings; its folder is made if absent.

    Returns
    -------
    list of Path
        What was written: PNG at 300 dots per inch, SVG and PDF.
    """
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    stem.parent.mkdir(parents=True, exist_ok=True)
    figure = plot.draw()
    written = []
    # Type 42 embeds whole letters, which publishers ask for and editors can change.
    settings = plot.theme.rcParams | {"svg.hashsalt": "pyscale", "pdf.fonttype": 42}
    with mpl.rc_context(settings):
        for suffix, how in FORMATS.items():
            final = stem.with_name(f"{stem.name}.{suffix}")
            with atomic_path(final) as temporary:
                figure.savefig(temporary, format=suffix, **how)
            # Its parts have their places now, the same ones in every format.
            figure.set_layout_engine(None)
            written.append(final)
    # Else it is kept, as for a window that shows it.
    plt.close(figure)
    return written
