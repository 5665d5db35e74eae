"""Regions of an OME-Zarr image."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pyscale_stages.errors import BadInput, said_by
from pyscale_stages.slides.reading import check_readable
from pyscale_stages.slides.slide import PerProcess, Pixels, Region, Slide, levels_of

if TYPE_CHECKING:
    import zarr

_UM = {"nanometer": 1e-3, "micrometer": 1.0, "millimeter": 1e3, "centimeter": 1e4, "meter": 1e6}
_CHANNELS = ("c", "s")
"""Names of the axis of channels, and of the colours of a pixel."""


class ZarrSlide(Slide):
    """An OME-Zarr image, 0.4 or 0.5, the first of its folder; times and depths are planes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = PerProcess(partial(_open, path))
        (_, image), arrays = _group(path), self._handle.get()
        try:
            # Before version 0.3 axes were not named: they were always these.
            self._axes = tuple(_axis_name(axis) for axis in image.get("axes", "tczyx"))
            self.mpp = _mpp(image)
        except _NOT_AS_DESCRIBED as error:
            raise _wrongly_described(path, error) from error
        sizes = [self._sizes(array) for array in arrays]
        self.levels = levels_of([(size["y"], size["x"]) for size in sizes])
        self._others = tuple(name for name in self._axes if name not in {"y", "x", *_CHANNELS})
        self._depths = tuple(sizes[0][name] for name in self._others)
        self.planes = math.prod(self._depths)
        self.channels = math.prod(sizes[0].get(name, 1) for name in _CHANNELS)
        self.dtype = arrays[0].dtype.newbyteorder("=")

    def _sizes(self, array: zarr.Array[Any]) -> dict[str, int]:
        named = set(self._axes)
        fits = len(array.shape) == len(self._axes) == len(named) and {"y", "x"} <= named
        if not fits or 0 in array.shape:
            raise BadInput(
                f"{self.path} has the axes {' '.join(self._axes)} and arrays of the shape "
                f"{array.shape}: convert it to OME-Zarr again"
            )
        return dict(zip(self._axes, array.shape, strict=True))

    def _pixels(self, region: Region) -> Pixels:
        others = np.unravel_index(region.plane, self._depths) if self._depths else ()
        rows, columns = region.window
        chosen: dict[str, Any] = {"y": rows, "x": columns}
        chosen |= {name: int(at) for name, at in zip(self._others, others, strict=True)}
        # What is chosen by a number loses its axis, and channels go last.
        kept = [name for name in self._axes if name not in self._others]
        try:
            array = self._handle.get()[region.level]
            found = np.asarray(array[tuple(chosen.get(name, slice(None)) for name in self._axes)])
        except MemoryError:
            raise
        except Exception as error:  # zarr and the libraries that decode for it have many kinds
            raise self._unreadable(region, error) from error
        order = sorted(range(len(kept)), key=lambda axis: "yxcs".index(kept[axis]))
        return found.transpose(order).reshape(region.height_px, region.width_px, self.channels)


def _open(path: Path) -> list[zarr.Array[Any]]:
    import zarr

    group, image = _group(path)
    try:
        arrays = [group[str(level["path"])] for level in image["datasets"]]
    except Exception as error:  # as above
        raise BadInput(
            f"{path} lacks a level that its description names{said_by(error)}: it is damaged; copy "
            "it again"
        ) from error
    if not arrays or not all(isinstance(array, zarr.Array) for array in arrays):
        raise BadInput(f"{path} names no arrays as its levels: convert it to OME-Zarr again")
    return arrays  # type: ignore[return-value]


def _group(path: Path) -> tuple[zarr.Group, Mapping[str, Any]]:
    """The group of the image and its description, which each version keeps elsewhere."""
    import zarr

    check_readable(path)
    # Converters put the images of one file into groups that are numbered.
    for folder in (path, path / "0"):
        try:
            group = zarr.open_group(str(folder), mode="r")
        except Exception:  # what is not a group raises errors of many kinds
            continue
        attributes = group.attrs.asdict()
        described = attributes.get("ome", attributes)
        if isinstance(described, Mapping) and described.get("multiscales"):
            try:
                return group, dict(described["multiscales"][0])  # type: ignore[index,arg-type]
            except _NOT_AS_DESCRIBED as error:
                raise _wrongly_described(path, error) from error
    raise BadInput(f"{path} is not an OME-Zarr image: name a folder whose metadata has multiscales")


_NOT_AS_DESCRIBED = (ValueError, LookupError, TypeError, AttributeError)
"""What metadata of another form than OME-Zarr's raise where they are read."""


def _wrongly_described(path: Path, error: Exception) -> BadInput:
    return BadInput(
        f"{path} has invalid OME-Zarr metadata{said_by(error)}: it is damaged; "
        "copy it again, or convert it to OME-Zarr again"
    )


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
