"""Regions of frames: a microscopy stack or movie as a slide of one level."""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pyscale_stages.movie import Movie
from pyscale_stages.slides.slide import PerProcess, Pixels, Region, Slide, levels_of
from pyscale_stages.slides.tifflayout import mpp_of

KEPT_BYTES = 64 * 2**20
"""Frames that are kept of each open stack; the one read last is kept whatever its size."""


class StackSlide(Slide):
    """A TIFF stack, whose frames are planes; whole frames are decoded for any region of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = PerProcess(partial(Movie.open, path))
        movie = self._handle.get()
        self.levels = levels_of([movie.shape_yx])
        self.mpp = mpp_of(path)
        self.channels = movie.n_channels
        self.planes = movie.n_frames
        self.dtype = movie.dtype.newbyteorder("=")
        self._kept: OrderedDict[int, Pixels] = OrderedDict()

    def _pixels(self, region: Region) -> Pixels:
        frame = self._kept.get(region.plane)
        if frame is None:
            (channels,) = self._handle.get().read(region.plane, region.plane + 1)
            frame = np.moveaxis(channels, 0, -1)
            while self._kept and (len(self._kept) + 1) * frame.nbytes > KEPT_BYTES:
                self._kept.popitem(last=False)
            self._kept[region.plane] = frame
        self._kept.move_to_end(region.plane)
        return frame[region.window].astype(self.dtype, order="C")

    def close(self) -> None:
        """Close the file and forget its frames; a later read opens it again."""
        super().close()
        self._kept.clear()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_kept": OrderedDict()}
