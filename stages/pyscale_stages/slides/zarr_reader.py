"""Regions of an OME-Zarr image."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pyscale_stages.errors import BadInput
from pyscale_stages.omezarr import OLD_AXES, image_at
from pyscale_stages.slides.opening import LevelSlide, Pixels

_UM = {"nanometer": 1e-3, "micrometer": 1.0, "millimeter": 1e3, "centimeter": 1e4, "meter": 1e6}
_CHANNELS = ("c", "s")
"""Names of the axis of channels, and of the colours of a pixel."""
_IN_PLANE = {"y", "x", *_CHANNELS}


class ZarrSlide(LevelSlide):
    """An OME-Zarr image, 0.4 or 0.5, the first of its folder, of one time and depth."""

    def open(self, path: str) -> None:
        """Open the arrays of all levels."""
        self.path = path
        group, _, described, _ = image_at(Path(path), 0)
        image = described["multiscales"][0]
        self._arrays: list[Any] = [group[str(level["path"])] for level in image["datasets"]]
        # Before version 0.3 axes were not named: they were always these.
        self._axes = tuple(_axis_name(axis) for axis in image.get("axes", OLD_AXES))
        self.mpp = _mpp(image)
        sizes = [self._sizes(array) for array in self._arrays]
        self.shapes = [(size["y"], size["x"]) for size in sizes]
        self.channels = math.prod(sizes[0].get(name, 1) for name in _CHANNELS)
        self.dtype = self._arrays[0].dtype.newbyteorder("=")

    def close(self) -> None:
        """Nothing is kept open between two reads."""

    def _sizes(self, array: Any) -> dict[str, int]:
        named = set(self._axes)
        fits = len(array.shape) == len(self._axes) == len(named) and {"y", "x"} <= named
        if not fits or 0 in array.shape:
            raise BadInput(
                f"{self.path} has the axes {' '.join(self._axes)} and arrays of the shape "
                f"{array.shape}: convert it to OME-Zarr again"
            )
        sizes = dict(zip(self._axes, array.shape, strict=True))
        several = [name for name in self._axes if name not in _IN_PLANE and sizes[name] > 1]
        if several:
            raise BadInput(
                f"{self.path} has several planes along {several[0]}, and patches are taken from "
                "one: write the plane as an image of its own"
            )
        return sizes

    def pixels(self, level: int, y0: int, x0: int, height_px: int, width_px: int) -> Pixels:
        """Read a region."""
        window = {"y": slice(y0, y0 + height_px), "x": slice(x0, x0 + width_px)}
        # What is chosen by a number loses its axis, and channels go last.
        chosen = (window.get(name, slice(None) if name in _IN_PLANE else 0) for name in self._axes)
        kept = [name for name in self._axes if name in _IN_PLANE]
        found = np.asarray(self._arrays[level][tuple(chosen)])
        order = sorted(range(len(kept)), key=lambda axis: "yxcs".index(kept[axis]))
        return found.transpose(order).reshape(height_px, width_px, self.channels)


def _axis_name(axis: Any) -> str:
    return str(axis["name"] if isinstance(axis, Mapping) else axis).lower()


def _mpp(image: Mapping[str, Any]) -> float | None:
    """Micrometres per pixel of level 0, along x."""
    axes = image.get("axes", ())
    units = [axis.get("unit") if isinstance(axis, Mapping) else None for axis in axes]
    steps = [
        step["scale"]
        for step in image["datasets"][0].get("coordinateTransformations", ())
        if step.get("type") == "scale"
    ]
    names = [_axis_name(axis) for axis in axes]
    if not steps or "x" not in names or units[names.index("x")] not in _UM:
        return None
    at = names.index("x")
    return float(steps[0][at]) * _UM[str(units[at])]
