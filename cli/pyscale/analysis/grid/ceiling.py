"""The ceiling that a ratio reaches as images grow, and whether it has one."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from pyscale.analysis.grid.saturation import Shape, saturation
from pyscale.analysis.grid.wins import CURVE


@dataclass(frozen=True)
class Ceiling:
    """The law `ratio = ceiling * A / (A + half)` of one curve, A in megapixels.

    Attributes
    ----------
    suite, family, series, value, base, measure : str
        Which curve.
    workers : int
        N.
    sizes : int
        Sizes that entered the fit.
    smallest_px, largest_px : float
        Ends of what was measured, as lengths of a square.
    largest_ratio : float
        Ratio at the largest size, to hold beside the ceiling.
    ceiling, low, high : float or None
        What the ratio reaches, and its 95 % interval; None where refused.
    half_megapixels : float or None
        Size at which half of it is reached; None where refused.
    shape : {"flattens", "logarithmic", "undecided"} or None
        Which law describes the ratios: this one, `a + b ln A`, or either; None without a fit.
    evidence : float or None
        AICc of the logarithm less that of the ceiling: 6 or more speaks for the ceiling, -6 or
        less for the logarithm, and between the two nothing is decided.
    miss : float or None
        Root mean square of the residuals, as a fraction of the ceiling.
    refused : str or None
        Why no ceiling is given, a sentence.
    """

    suite: str
    family: str
    series: str
    workers: int
    value: str
    base: str
    measure: str
    sizes: int
    smallest_px: float
    largest_px: float
    largest_ratio: float
    ceiling: float | None = None
    low: float | None = None
    high: float | None = None
    half_megapixels: float | None = None
    shape: Shape | None = None
    evidence: float | None = None
    miss: float | None = None
    refused: str | None = None

    @property
    def half_px(self) -> float | None:
        """Length of a square image at which half of the ceiling is reached."""
        return None if self.half_megapixels is None else 1e3 * self.half_megapixels**0.5

    def at(self, megapixels: float) -> float | None:
        """Ratio that the law gives an image; None where it was refused."""
        if self.ceiling is None or self.half_megapixels is None:
            return None
        return self.ceiling * megapixels / (megapixels + self.half_megapixels)


def ceilings(ratios: pl.DataFrame) -> list[Ceiling]:
    """Fit the law of a ceiling to every curve of ratios over size.

    A base takes a time in proportion to the area A of an image, `b A`; a device takes a time that
    does not depend on it too, `o + c A`. Their ratio is `(b / c) A / (A + o / c)`: it rises to the
    ceiling `b / c`, half of which is reached where `A = o / c`.

    It is fitted to ratios, one for each size, and not to times, whose errors at the largest images
    exceed the whole times of the small ones; nor to logarithms, in which the smallest images count
    as much as the large ones that show the ceiling, while the law is least true of them (a network
    computes on whole tiles, and the base has a fixed cost too).

    The interval is Student's, from the residuals about the law, with repeats or without (see
    `pyscale.analysis.grid.saturation`). A bootstrap over trials knows only their scatter; where
    the law misses by more than that, as steps of whole tiles do, it would be too narrow. The
    residuals hold both.

    Which law describes the ratios says AICc (Burnham and Anderson 2002, Model Selection and
    Multimodel Inference, section 2.4), with `a + b ln A` as the other: it grows without end.
    """
    found = []
    for key, curve in ratios.filter(~pl.col("invalid")).group_by(CURVE, maintain_order=True):
        by_size = curve.drop_nulls("megapixels").sort("megapixels")
        if by_size.is_empty():
            continue
        about = dict(zip(CURVE, key, strict=True)) | {
            "sizes": by_size.height,
            "smallest_px": by_size["length_px"][0],
            "largest_px": by_size["length_px"][-1],
            "largest_ratio": by_size["ratio"][-1],
        }
        law = saturation(by_size["megapixels"].to_list(), by_size["ratio"].to_list())
        found.append(Ceiling(**about, **law._asdict()))
    return found
