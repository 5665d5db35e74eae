"""Signs that a model does not see the cells of a movie, counted so that windows add up."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pyscale_stages.movie import Pixels
from pyscale_stages.segment.models import Labels, Segmenter
from pyscale_stages.segment.params import EMBEDDED_MODEL, EMBEDDED_PURPOSE, SegmentParams
from pyscale_stages.truth.cells import meeting
from pyscale_stages.warned import Warned

TIMES_TRAINED = 2.0
"""How far the median object may be from the size that the model was trained on."""
MOST = 0.5
MUCH_OUTSIDE = 0.3
"""Of the bright pixels of nuclei of the right size 0.01 to 0.18 lie outside, of others 0.5 up."""
MOST_TOUCH = 0.8
"""Of nuclei that lie close, as in stardist's image, half touch; of outlined noise all do."""
SAMPLED_PX = 512
"""Side to which a frame is thinned to find what is bright."""


class Doubts:
    """What was found in the frames of a window, held against what the model is for."""

    def __init__(self, params: SegmentParams) -> None:
        self._params = params
        self._trained_px: float | None = None
        self._counts = dict.fromkeys(
            ("frames", "empty", "objects", "small", "large", "touching", "bright", "outside"), 0
        )

    def add(self, frame: Pixels, labels: Labels, segmenter: Segmenter) -> None:
        """Count what was found in one frame."""
        counts = self._counts
        areas_px = np.bincount(labels.ravel())[1:]
        diameters_px = 2 * np.sqrt(areas_px[areas_px > 0] / np.pi)
        counts["frames"] += 1
        counts["empty"] += not len(diameters_px)
        counts["objects"] += len(diameters_px)
        self._trained_px = trained = segmenter.trained_diameter_px
        if trained is not None:
            counts["small"] += int((diameters_px < trained / TIMES_TRAINED).sum())
            counts["large"] += int((diameters_px > trained * TIMES_TRAINED).sum())
        if self._params.model == EMBEDDED_MODEL:
            bright = _bright(frame)
            counts["touching"] += len(_touching(labels))
            counts["bright"] += int(bright.sum())
            counts["outside"] += int((bright & (labels == 0)).sum())

    def warnings(self) -> Iterator[Warned]:
        """What the window has to warn of; each judgement is made where all windows are known."""
        model = self._params.model
        # Of weights of one's own nobody here knows what they are for.
        nothing = ""
        if model == EMBEDDED_MODEL:
            nothing = f". {model} is {EMBEDDED_PURPOSE}: its counts mean nothing here"
        yield self._warned("no-objects", "empty", "frames", "have no object", 0.0)
        sized = self._params.diameter_px is None and not self._params.estimate_diameter
        if sized and self._trained_px is not None:
            for code, than in (("small", "narrower than half"), ("large", "wider than twice")):
                text = (
                    f"are {than} the {self._trained_px:.3g} px that {model} was trained "
                    f"on{nothing}. Set diameter_px, or choose another model"
                )
                yield self._warned(f"{code}-objects", code, "objects", text, MOST)
        if model == EMBEDDED_MODEL:
            text = f"touch another one, as outlines of noise and granules do{nothing}"
            yield self._warned("touching-objects", "touching", "objects", text, MOST_TOUCH)
            text = f"lie outside every object{nothing}"
            yield self._warned("bright-outside", "outside", "bright pixels", text, MUCH_OUTSIDE)

    def _warned(self, code: str, concerned: str, seen: str, text: str, above: float) -> Warned:
        return Warned(
            code=code,
            text=text,
            concerned=self._counts[concerned],
            seen=self._counts[seen.partition(" ")[0]],
            unit=seen,
            above=above,
            doubts_result=True,
        )


def _touching(labels: Labels) -> Labels:
    """Labels with a pixel beside one of another, diagonals included."""
    steps = ((0, 1), (1, 0), (1, 1), (1, -1))
    met = np.concatenate([meeting(labels, labels, step, of_one=True) for step in steps])
    # `meeting` packs a pair into one number.
    return np.asarray(np.unique([met >> 32, met & 0xFFFFFFFF]))


def _bright(frame: Pixels) -> npt.NDArray[np.bool_]:
    """Pixels of a frame above Otsu's threshold between dark and bright."""
    import cv2

    step = max(1, min(frame.shape) // SAMPLED_PX)
    low, high = np.percentile(frame[::step, ::step], (1, 99))
    if high <= low:
        return np.zeros(frame.shape, bool)
    scaled = np.clip((frame.astype(np.float32) - low) * (255 / (high - low)), 0, 255)
    # One pixel of noise is not bright.
    smooth = cv2.GaussianBlur(scaled, (0, 0), 1.0).astype(np.uint8)
    _, bright = cv2.threshold(smooth, 0, 1, cv2.THRESH_BINARY | cv2.THRESH_OTSU)
    return np.asarray(bright.astype(bool))
