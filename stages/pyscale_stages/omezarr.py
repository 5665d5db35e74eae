"""OME-Zarr 0.4 and 0.5 in local folders as images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from pyscale_stages.errors import BadInput, said_by
from pyscale_stages.layout import OF_IMAGES, Contents, Layout, Pixels
from pyscale_stages.reading import Reading
from pyscale_stages.wording import plural

METADATA = ("zarr.json", ".zgroup", ".zattrs", ".zarray", ".zmetadata")
"""Files that tell of a group or an array; the first is of Zarr 3, the others of Zarr 2."""
OLD_AXES = "tczyx"
"""Of images before version 0.3, which do not name them."""


def is_zarr(path: Path) -> bool:
    """Whether a folder is a Zarr group or array, whatever its name."""
    return path.is_dir() and any((path / name).is_file() for name in METADATA)


class ZarrImage:
    """An image of an OME-Zarr at one resolution level."""

    def __init__(self, path: Path, reading: Reading) -> None:
        group, below, described, n_images = image_at(path, reading.series)
        try:
            multiscale = described["multiscales"][0]
            levels = [str(level["path"]) for level in multiscale["datasets"]]
            level = _level(path, levels, reading.level, below)
            self._array = group[level]
            shape = tuple(self._array.shape)
        except (LookupError, TypeError, AttributeError, ValueError, OSError) as error:
            raise BadInput(
                f"{path} lacks a resolution level{said_by(error)}: it is incomplete; copy it again"
            ) from error
        named = multiscale.get("axes") or OLD_AXES[-self._array.ndim :]
        axes = "".join(_axis_name(axis) for axis in named).upper()
        if len(axes) != self._array.ndim:
            raise BadInput(
                f"{path} names the axes {axes} and holds arrays of the shape {self._array.shape}: "
                "convert it to OME-Zarr again"
            )
        version = described.get("version") or multiscale.get("version") or "0.4"
        at = f"{below}/{level}" if below else level
        self.contents = Contents(
            title=f"OME-Zarr {version}",
            files=files_at(path, at),
            axes=axes,
            shape=shape,
            dtype=np.dtype(self._array.dtype),
            image=int(below or 0) if (below or "0").isdigit() else 0,
            n_images=n_images,
            image_name=str(multiscale.get("name", "")),
            channel_names=_channel_names(described),
            missing=self._missing(axes, path / at),
            level=at,
            n_levels=len(levels),
        )

    def read(
        self,
        layout: Layout,
        frames: Sequence[int],
        channels: Sequence[int],
        planes: Sequence[int],
    ) -> Pixels:
        """Read images of consecutive frames: axes T, C, Z and those of an image."""
        at = {"T": frames, "C": channels, "Z": planes}
        chosen = tuple(slice(at[axis][0], at[axis][-1] + 1) for axis in layout.leading)
        with single_threaded():
            data = np.asarray(self._array[chosen])
        order = [layout.leading.index(axis) for axis in OF_IMAGES if axis in layout.leading]
        within = range(len(layout.leading), data.ndim)
        counts = (len(frames), len(channels), len(planes))
        return data.transpose(*order, *within).reshape(*counts, *layout.image_shape)

    def close(self) -> None:
        """Nothing is kept open between two reads."""

    def _missing(self, axes: str, folder: Path) -> frozenset[int]:
        """Images of the last frames for which no chunk is there: a recording that was stopped."""
        # Other chunks may be absent because all their pixels are zero.
        if axes[0] != "T":
            return frozenset()
        per_chunk = (self._array.shards or self._array.chunks)[0]
        chunks = -(-self._array.shape[0] // per_chunk)
        while chunks and not _has_chunk(folder, chunks - 1):
            chunks -= 1
        there = min(chunks * per_chunk, self._array.shape[0])
        sizes = zip(axes, self._array.shape, strict=True)
        per_frame = prod(size for axis, size in sizes if axis in "CZ")
        return frozenset(range(there * per_frame, self._array.shape[0] * per_frame))


def files_at(path: Path, level: str | None) -> tuple[Path, ...]:
    """Files of a level, with those that describe it; of the whole folder without one."""
    if level is None:
        return _all_below(path)
    parents = [path.joinpath(*Path(level).parts[:depth]) for depth in range(len(Path(level).parts))]
    told = [folder / name for folder in parents for name in METADATA]
    return tuple(sorted({*filter(Path.is_file, told), *_all_below(path / level)}))


def _all_below(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(file for file in folder.rglob("*") if file.is_file()))


def _has_chunk(folder: Path, first: int) -> bool:
    """Whether a chunk of that number in time is there, however chunks are named."""
    named = (f"c/{first}/*", f"{first}/*", f"{first}.*", f"c.{first}.*")
    return any(next(folder.glob(pattern), None) is not None for pattern in named)


def image_at(path: Path, asked: int | None) -> tuple[Any, str, dict[str, Any], int]:
    """Group of the image, its path below the folder, its description, and how many there are."""
    import zarr

    no_image = BadInput(
        f"{path} is not an OME-Zarr image: name a folder whose metadata has multiscales"
    )
    try:
        group = zarr.open_group(str(path), mode="r")
    except Exception as error:  # what is not a group raises errors of many kinds
        raise no_image from error
    described = _described(group)
    if "multiscales" in described:
        if asked:
            raise BadInput(f"{path} holds one image: leave --series out")
        return group, "", described, 1
    if "plate" in described or "well" in described:
        raise BadInput(
            f"{path} is a plate or a well: name the image of one field, as in {path.name}/A/1/0"
        )
    # Converters put the images of one file into groups that are numbered.
    numbered = sorted(int(name) for name in group.group_keys() if name.isdigit())
    images = {n: found for n in numbered if "multiscales" in (found := _described(group[str(n)]))}
    if not images:
        raise no_image
    number = min(images) if asked is None and len(images) == 1 else asked
    if number not in images:
        raise BadInput(
            f"{path} holds {plural(len(images), 'image')}: name the folder of one, or choose it by "
            f"--series, of {', '.join(map(str, images))}"
        )
    return group[str(number)], str(number), images[number], len(images)


def _described(group: Any) -> dict[str, Any]:
    """What a group says of itself, which each version keeps elsewhere."""
    attributes = group.attrs.asdict()
    described = attributes.get("ome", attributes)
    return dict(described) if isinstance(described, Mapping) else {}


def _level(path: Path, levels: Sequence[str], asked: str | None, below: str) -> str:
    """Path of a level, which is asked for by its number or path."""
    if asked is None:
        return levels[0]
    own = asked.removeprefix(f"{below}/") if below else asked
    if own in levels:
        return own
    if own.isdigit() and int(own) < len(levels):
        return levels[int(own)]
    raise BadInput(f"{path} has no level {asked}: --level goes from 0 to {len(levels) - 1}")


def _axis_name(axis: Any) -> str:
    return str(axis.get("name", "?") if isinstance(axis, Mapping) else axis)[:1]


def _channel_names(described: Mapping[str, Any]) -> tuple[str, ...]:
    rendered = described.get("omero")
    channels = rendered.get("channels", ()) if isinstance(rendered, Mapping) else ()
    return tuple(str(one.get("label") or "") for one in channels if isinstance(one, Mapping))


def single_threaded() -> Any:
    """Read or write in the block by one thread: a stage's thread count is a measured parameter."""
    import zarr

    return zarr.config.set({"async.concurrency": 1, "threading.max_workers": 1})
