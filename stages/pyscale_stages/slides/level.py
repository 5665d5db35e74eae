"""Which level of a slide has the resolution that is asked."""

from __future__ import annotations

from dataclasses import dataclass

from pyscale_stages.errors import BadInput
from pyscale_stages.slides.slide import Slide

COARSER = 1.25
"""Scanners differ by less at one magnification; the next one is twice as coarse."""
FINER = 2.5
"""Levels are at most 4 times coarser than the next, so that one this near lies in any pyramid."""


@dataclass(frozen=True, slots=True)
class LevelChoice:
    """A level, and how far it is from what was asked.

    Attributes
    ----------
    level : int
    scale : float
        Micrometres per pixel of the level, in those asked; 1 where they are equal, or none were.
    """

    level: int
    scale: float


def level_for(slide: Slide, mpp: float | None) -> LevelChoice:
    """Choose the level whose pixels are nearest in size to those asked.

    Patches are taken from it as they are, never resampled; of two levels equally near the finer
    one is taken.

    Parameters
    ----------
    slide : Slide
    mpp : float or None
        Micrometres per pixel asked; None takes the finest level.

    Returns
    -------
    LevelChoice

    Raises
    ------
    BadInput
        If the slide does not say how large its pixels are, its finest level is coarser than
        asked by more than a quarter, or its coarsest more than 2.5 times finer.
    """
    if mpp is None:
        return LevelChoice(0, 1.0)
    if slide.mpp is None:
        raise BadInput(
            f"{slide.path} does not say how large its pixels are, so {mpp:g} micrometres per "
            "pixel cannot be found in it: leave out --grid mpp"
        )
    sizes = [slide.mpp * level.downsample for level in slide.levels]
    nearest = min(range(len(sizes)), key=lambda level: abs(sizes[level] - mpp))
    scale = sizes[nearest] / mpp
    if sizes[0] > COARSER * mpp or scale < 1 / FINER:
        held = ", ".join(f"{size:.3g}" for size in sizes)
        raise BadInput(
            f"{slide.path} has no level near {mpp:g} micrometres per pixel (it has {held}): ask "
            "for one of these with --grid mpp, or leave that out"
        )
    return LevelChoice(nearest, scale)
