"""Frames in: movies as TIFF, pictures or OME-Zarr, in one file or a folder."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pyscale_stages.errors import BadInput, said_by
from pyscale_stages.framefiles import (
    PICTURE_SUFFIXES,
    files_in,
    frame_files,
    gaps_in,
    how_to_convert,
    refuse_several_stems,
)
from pyscale_stages.imagefiles import StillImage, TiffFrames, refuse_empty
from pyscale_stages.inventory import Inventory
from pyscale_stages.layout import Contents, Layout, Reader, WrongAxes, layout_of
from pyscale_stages.layout import Pixels as Pixels  # noqa: PLC0414 - what stages import from here
from pyscale_stages.omezarr import ZarrImage, is_zarr
from pyscale_stages.reading import Reading
from pyscale_stages.wording import plural

BLOCK_BYTES = 64 * 2**20
"""Pixels that are read at once: many frames of a small movie, one of a large one."""
AS_IT_IS = Reading.model_construct()
"""No choice of anybody's."""


class PartOfSet(BadInput):
    """One file of a movie that lies in several."""

    def __init__(self, path: Path, contents: Contents) -> None:
        super().__init__(
            f"{path} is one of the {len(contents.files)} files of a movie: give the folder that "
            f"holds them, {path.parent}"
        )
        self.contents = contents


@dataclass(frozen=True)
class Movie:
    """A movie on disk whose pixels are read window by window."""

    path: Path
    """A file, a folder with one file a frame, or an OME-Zarr."""
    files: tuple[Path, ...]
    """Those that are read, and no others."""
    n_frames: int
    contents: Contents
    """Of the file, the set or the array, or of the first file of a folder."""
    layout: Layout
    reading: Reading
    """Choices in numbers, so that whoever opens it again reads the same."""
    n_declared: int
    """Frames that the files state."""
    n_there: int
    """Frames that are whole."""
    is_folder: bool = False
    """Whether each frame is a file of its own."""

    @classmethod
    def open(cls, path: Path, *, reading: Reading = AS_IT_IS, frames: int | None = None) -> Movie:
        """Read the layout of a movie, not its pixels.

        `reading`: what of the files is the movie. `frames`: how many it should have, where that is
        known: a picture of so many colours is then taken for frames, as tifffile saves 3 or 4
        frames by default.
        """
        if path.is_dir() and not is_zarr(path):
            return cls._open_folder(path, reading)
        try:
            return cls._open_one(path, reading)
        except WrongAxes as error:
            if not error.colours or error.shape[0] != frames:
                raise
            return cls._open_one(path, reading.model_copy(update={"axes": "TYX"}))

    @classmethod
    def _open_one(cls, path: Path, reading: Reading) -> Movie:
        reader = _opened(path, reading)
        reader.close()
        contents = reader.contents
        if len(contents.files) > 1 and not path.is_dir():
            raise PartOfSet(path, contents)
        return cls._of(path, contents.files, contents, reading)

    @classmethod
    def _of(
        cls, path: Path, files: tuple[Path, ...], contents: Contents, reading: Reading
    ) -> Movie:
        layout = layout_of(path, contents.axes, contents.shape, reading.axes)
        declared = layout.size("T")
        there = _whole_frames(layout, contents)
        start, stop = _window(path, contents, reading, declared, there)
        resolved = reading.model_copy(
            update={
                "level": contents.level,
                "channel": _channel(path, layout, contents, reading.channel),
                "frames": None if (start, stop) == (0, declared) else (start, stop),
                "series": contents.image if contents.n_images > 1 else None,
            }
        )
        _refuse_planes(path, layout, contents, resolved)
        return cls(
            path=path,
            files=files,
            n_frames=stop - start,
            contents=contents,
            layout=layout,
            reading=resolved,
            n_declared=declared,
            n_there=len(there),
        )

    @classmethod
    def _open_folder(cls, folder: Path, reading: Reading) -> Movie:
        files = frame_files(folder, reading.pattern)
        if not files:
            chosen = f" named {reading.pattern}" if reading.pattern else ""
            if convert := next(filter(None, map(how_to_convert, files_in(folder))), None):
                raise BadInput(convert)
            raise BadInput(
                f"{folder} holds no TIFF, PNG or JPEG frames{chosen}: give a movie file, or a "
                "folder of frames"
            )
        for file in files:
            refuse_empty(file)
        axes = reading.axes.replace("T", "") if reading.axes else None
        of_frame = reading.model_copy(update={"axes": axes, "frames": None})
        try:
            # The last one too: a file of another kind may stand before those of a set.
            first, *_ = [cls._open_one(file, of_frame) for file in (files[0], files[-1])]
        except PartOfSet as part:
            return cls._of_set(folder, files, part.contents, reading)
        if first.n_declared != 1:
            raise BadInput(
                f"{files[0]} is a movie of {plural(first.n_declared, 'frame')} in a folder of "
                f"{len(files)} files: give one movie file, or a folder with one file per frame"
            )
        if reading.pattern is None:
            refuse_several_stems(folder, files)
        everything = range(len(files))
        start, stop = _window(folder, first.contents, reading, len(files), everything)
        window = None if (start, stop) == (0, len(files)) else (start, stop)
        return replace(
            first,
            path=folder,
            files=files,
            n_frames=stop - start,
            n_declared=len(files),
            n_there=len(files),
            reading=first.reading.model_copy(update={"axes": reading.axes, "frames": window}),
            is_folder=True,
        )

    @classmethod
    def _of_set(
        cls, folder: Path, files: Sequence[Path], contents: Contents, reading: Reading
    ) -> Movie:
        own = {file.absolute() for file in contents.files}
        given = {file.absolute() for file in files}
        if others := sorted(given - own):
            raise BadInput(
                f"{folder} holds {others[0].name} beside the {len(contents.files)} files of one "
                "OME-TIFF: leave those alone in a folder, or name them by --pattern"
            )
        if missing := sorted(own - given):
            raise BadInput(
                f"{missing[0]} is not there, and the OME-TIFF in {folder} needs it: copy it too"
            )
        return cls._of(folder, tuple(files), contents, reading)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of its pixels."""
        return self.contents.dtype

    @property
    def shape_yx(self) -> tuple[int, int]:
        """Height and width in pixels."""
        return self.layout.size("Y"), self.layout.size("X")

    @property
    def n_channels(self) -> int:
        """Channels of a frame; 1 where the file has no axis of them, or one is chosen."""
        return self.layout.n_channels if self.reading.channel is None else 1

    def stack_shape(self, n_frames: int) -> tuple[int, ...]:
        """Shape of so many of its frames: TYX, or TCYX where there is more than one channel."""
        return (n_frames, *((self.n_channels,) if self.n_channels > 1 else ()), *self.shape_yx)

    @property
    def size_bytes(self) -> int:
        """Size of all files together."""
        return sum(file.stat().st_size for file in self.files)

    @property
    def inventory(self) -> Inventory:
        """What was found, for people and records."""
        contents, count = self.contents, len(self.files)
        title, others = contents.title, 0
        if self.is_folder:
            title = f"folder of {plural(count, f'{title} file')}"
        elif count > 1 and contents.level is None:
            title = f"{title} set of {count} files"
        if self.path.is_dir() and contents.level is None:
            others = len(files_in(self.path)) - count
        start = self.reading.frames[0] if self.reading.frames else 0
        names = contents.channel_names + ("",) * self.layout.n_channels
        return Inventory(
            path=self.path,
            is_folder=self.path.is_dir(),
            title=title,
            files=count,
            others=others,
            size_bytes=self.size_bytes,
            images=contents.n_images,
            image=contents.image,
            image_name=contents.image_name,
            levels=contents.n_levels,
            level=contents.level,
            axes=("T" if self.is_folder else "") + self.layout.axes,
            frames=(start, start + self.n_frames),
            frames_declared=self.n_declared,
            frames_there=self.n_there,
            gaps=gaps_in(self.files) if self.is_folder else (),
            channels=names[: self.layout.n_channels],
            planes=self.layout.size("Z"),
            shape_yx=self.shape_yx,
            dtype=str(self.dtype),
            reading=self.reading,
        )

    def read(self, start: int, stop: int, channel: int | None = None) -> Pixels:
        """Read frames of one channel, (T, Y, X), or of all, (T, C, Y, X); `stop` is excluded."""
        if channel is not None and not 0 <= channel < self.n_channels:
            raise BadInput(
                f"{self.path} has no channel {channel}: it has {self.n_channels}, counted from 0"
            )
        first = self.reading.frames[0] if self.reading.frames else 0
        window = range(first + start, first + stop)
        wanted = channel if self.reading.channel is None else int(self.reading.channel)
        if self.is_folder:
            frames = np.stack([self._read_file(self.files[t], wanted)[0] for t in window])
        else:
            frames = self._read_from(self._reader, self.path, window, wanted)
        if channel is not None:
            frames = frames[:, 0]
        if frames.dtype.kind == "f" and not np.isfinite(frames).all():
            bad = int(np.argmin(np.isfinite(frames).reshape(len(frames), -1).all(axis=1)))
            raise BadInput(
                f"frame {start + bad} of {self.path} has values that are NaN or infinite: "
                "replace them before measuring on this movie"
            )
        return np.asarray(frames)

    def blocks(
        self, start: int, stop: int, channel: int | None = None, *, block_bytes: int = BLOCK_BYTES
    ) -> Iterator[tuple[int, int]]:
        """Cut a window into runs of frames, first and end, each of so many bytes or one frame."""
        # Channels that are samples of one page are decoded together, whichever is wanted.
        alone = channel is not None or self.reading.channel is not None
        channels = 1 if alone and not self.layout.has_samples else self.layout.n_channels
        planes = self.layout.size("Z") if self.reading.project is not None else 1
        height, width = self.shape_yx
        frame_bytes = channels * planes * height * width * self.dtype.itemsize
        step = max(1, block_bytes // frame_bytes)
        for first in range(start, stop, step):
            yield first, min(first + step, stop)

    def frames(self, start: int, stop: int, channel: int | None = None) -> Iterator[Pixels]:
        """Yield the frames that `read` gives one by one, a block of them in memory."""
        for first, end in self.blocks(start, stop, channel):
            yield from self.read(first, end, channel)

    @cached_property
    def _reader(self) -> Reader:
        """The one file, kept open: finding page n of a TIFF means walking past n others."""
        path = self.path if is_zarr(self.path) else self.files[0]
        reader = _opened(path, self.reading)
        # Pages and file refer to each other, so that without this the collector closes it.
        weakref.finalize(self, reader.close)
        return reader

    def _read_file(self, path: Path, channel: int | None) -> Pixels:
        reader = _opened(path, self.reading)
        try:
            found, first = reader.contents, self.contents
            if (found.shape, found.dtype) != (first.shape, first.dtype):
                raise BadInput(
                    f"{path} differs from the first frames of {self.path}: expected the shape "
                    f"{first.shape} of {first.dtype}, found {found.shape} of {found.dtype}"
                )
            return self._read_from(reader, path, range(1), channel)
        finally:
            reader.close()

    def _read_from(
        self, reader: Reader, path: Path, frames: Sequence[int], channel: int | None
    ) -> Pixels:
        """Read frames of one open file as (T, C, Y, X); C is 1 where a channel is wanted."""
        layout, reading = self.layout, self.reading
        samples = layout.has_samples
        channels = range(1 if samples else layout.n_channels)
        if channel is not None and not samples:
            channels = range(channel, channel + 1)
        planes = range(layout.size("Z"))
        if reading.plane is not None:
            planes = range(reading.plane, reading.plane + 1)
        try:
            data = reader.read(layout, frames, channels, planes)
        except MemoryError:
            raise
        except Exception as error:  # decoders and readers raise errors of nearly every kind
            raise BadInput(
                f"{path} cannot be read at frame {frames[0]}:{frames[-1] + 1}{said_by(error)}: "
                "it is damaged or truncated; copy it again"
            ) from error
        data = _projected(data, reading.project)
        if samples:
            data = np.moveaxis(data[:, 0], -1, 1)
            data = data if channel is None else data[:, channel : channel + 1]
        return data


def _opened(path: Path, reading: Reading) -> Reader:
    """Open one file or array by the reader of its kind."""
    if is_zarr(path):
        return ZarrImage(path, reading)
    if convert := how_to_convert(path):
        raise BadInput(convert)
    if path.suffix.lower() in PICTURE_SUFFIXES and path.is_file():
        refuse_empty(path)
        return StillImage(path)
    return TiffFrames(path, reading)


def _projected(data: Pixels, how: str | None) -> Pixels:
    """Frames (T, C, …) of those with planes (T, C, Z, …)."""
    if how is None or data.shape[2] == 1:
        return data[:, :, 0]
    if how == "max":
        return np.asarray(data.max(axis=2))
    mean = data.mean(axis=2)
    return np.asarray(mean if data.dtype.kind == "f" else np.rint(mean), data.dtype)


def _whole_frames(layout: Layout, contents: Contents) -> range:
    """Frames from the first on of which every image is there."""
    declared = layout.size("T")
    if not contents.missing:
        return range(declared)
    channels = range(1 if layout.has_samples else layout.n_channels)
    whole = 0
    while whole < declared and contents.missing.isdisjoint(
        layout.images((whole,), channels, range(layout.size("Z")))
    ):
        whole += 1
    return range(whole)


def _window(
    path: Path, contents: Contents, reading: Reading, declared: int, there: range
) -> tuple[int, int]:
    """Frames that are the movie: those that were chosen, or all, which must be there."""
    start, stop = reading.frames or (0, declared)
    if stop > declared:
        raise BadInput(
            f"--frames {start}:{stop} does not lie inside {path}, which has the frames 0:{declared}"
        )
    # Zarr leaves chunks out that are zero everywhere, so that who names such frames gets these.
    if stop > len(there) and not (reading.frames and contents.level is not None):
        part = f"; measure on what is there by --frames 0:{len(there)}, or" if there else ":"
        raise BadInput(
            f"{len(there)} of {declared} frames of {path} are there whole, as the recording or the "
            f"copy ended early{part} copy it again"
        )
    return start, stop


def _channel(path: Path, layout: Layout, contents: Contents, asked: int | str | None) -> int | None:
    """Number of a channel that was asked for by number or name."""
    if asked is None:
        return None
    names = contents.channel_names
    number = names.index(asked) if isinstance(asked, str) and asked in names else asked
    if isinstance(number, int) and number < layout.n_channels:
        return number
    known = ", ".join(name for name in names if name)
    named = f" named {known}" if known else ""
    raise BadInput(
        f"{path} has no channel {asked}: --channel chooses from "
        f"{plural(layout.n_channels, 'channel')}, counted from 0{named}"
    )


def _refuse_planes(path: Path, layout: Layout, contents: Contents, reading: Reading) -> None:
    """Raise where planes in depth are there and nobody says what to do with them, or not."""
    planes = layout.size("Z")
    if planes > 1 and reading.plane is None and reading.project is None:
        what = f"{path} has {planes} planes in depth (axes {layout.axes}, shape {contents.shape})"
        frames = ", or --axes TYX if they are frames" if layout.leading == "Z" else ""
        remedy = f"give --project max, --project mean or --plane N{frames}"
        raise WrongAxes(what, contents.shape, remedy, colours=False)
    if reading.plane is not None and reading.plane >= planes:
        raise BadInput(
            f"{path} has no plane {reading.plane}: it has {plural(planes, 'plane')}, counted from 0"
        )


def refuse_cut_files(movie: Movie) -> None:
    """Raise for a frame whose file is much smaller than others and cannot be read."""
    sizes = {file: file.stat().st_size for file in movie.files} if movie.is_folder else {}
    usual = sorted(sizes.values())[len(sizes) // 2] if sizes else 0
    pixels = int(np.prod(movie.layout.sizes)) * movie.dtype.itemsize
    # Frames that are packed differ in size by what they show, and few so much.
    least = pixels if usual >= pixels else usual / 2
    for number, (file, size) in enumerate(sizes.items()):
        if size < least:
            start = number - (movie.reading.frames or (0,))[0]
            try:
                movie.read(start, start + 1)
            except BadInput as error:
                raise BadInput(
                    f"{file} has {size:,} bytes where others have {usual:,}, as a copy that ended "
                    f"early: {error}"
                ) from error
