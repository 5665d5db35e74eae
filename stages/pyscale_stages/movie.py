"""Frames in: movies as OME-TIFF or plain TIFF, as one file or a folder of frames."""

from __future__ import annotations

import logging
import math
import re
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import BadInput, said_by
from pyscale_stages.wording import plural

if TYPE_CHECKING:
    import tifffile

Pixels = npt.NDArray[Any]

TIFF_SUFFIXES = (".tif", ".tiff")
BLOCK_BYTES = 64 * 2**20
"""Pixels that are read at once: many frames of a small movie, one of a large one."""
BY_AXES = "by --axes, as in --axes TYX"
MOST_CHANNELS = 8
"""Of one frame, unless somebody says that they are: ImageJ files without axes call frames so."""
UNNAMED_AXES = "QI"
"""Axes that a writer left unnamed: tifffile's words for "other" and "image sequence"."""


class WrongAxes(BadInput):
    """A file of images whose axes are not those of frames."""

    def __init__(self, what: str, shape: tuple[int, ...], remedy: str, *, colours: bool) -> None:
        super().__init__(f"{what}: {remedy}")
        self.what = what
        self.shape = shape
        self.colours = colours
        """Whether its planes are the colours of one picture."""


class PartOfSet(BadInput):
    """One file of a movie that lies in several."""

    def __init__(self, path: Path, files: Sequence[Path]) -> None:
        super().__init__(
            f"{path} is one of the {len(files)} files of a movie: give the folder that holds them, "
            f"{path.parent}"
        )
        self.files = files


@dataclass(frozen=True)
class Movie:
    """A movie on disk whose pixels are read window by window."""

    path: Path
    """A file, or a folder with one file a frame."""
    files: tuple[Path, ...]
    n_frames: int
    n_channels: int
    """1 where the file has no axis of channels."""
    shape_yx: tuple[int, int]
    """Height and width in pixels."""
    dtype: np.dtype[Any]
    images_per_frame: int
    """Images that make up one frame: its channels, unless they are samples of one."""
    channel_axis: str
    """Whether channels are images of their own ("page"), samples of one image, or "none"."""
    image: int = 0
    """Which image of a file with several it is."""
    is_set: bool = False
    """Whether its files are one OME-TIFF, of which each knows the others."""

    @classmethod
    def open(cls, path: Path, *, axes: str | None = None, frames: int | None = None) -> Movie:
        """Read the layout of a movie, not its pixels; `axes` count in place of the file's own.

        `frames`: how many it should have, where that is known. A picture of so many colours is then
        taken for frames, as tifffile saves 3 or 4 frames by default.
        """
        if path.is_dir():
            return cls._open_folder(path, axes)
        try:
            return cls._open_file(path, axes)
        except WrongAxes as error:
            if not error.colours or error.shape[0] != frames:
                raise
            return cls._open_file(path, "TYX")

    @classmethod
    def _open_file(cls, path: Path, axes: str | None) -> Movie:
        with _opened(path, needs_axes=axes is None) as tiff:
            if len(files := _files_of(tiff, _image_of(path, tiff))) > 1:
                raise PartOfSet(path, files)
            return cls._of_tiff(tiff, path, (path,), axes)

    @classmethod
    def _of_tiff(
        cls, tiff: tifffile.TiffFile, path: Path, files: tuple[Path, ...], axes: str | None
    ) -> Movie:
        image = _image_of(path, tiff)
        series = tiff.series[image]
        layout = _layout(path, series.axes, series.shape, axes)
        if series.dtype.kind not in "buif":
            raise BadInput(
                f"{path} holds {series.dtype} values: convert them to whole or real numbers"
            )
        dtype = np.dtype(series.dtype)
        return cls(path=path, files=files, dtype=dtype, image=image, **layout)

    @classmethod
    def _open_folder(cls, folder: Path, axes: str | None) -> Movie:
        files = files_in(folder, TIFF_SUFFIXES)
        if not files:
            raise BadInput(f"{folder} holds no TIFF frames: give a .tif file or a folder of them")
        for file in files:
            _refuse_empty(file)
        frame_axes = axes.replace("T", "") if axes else None
        try:
            # The last one too: a file of another kind may stand before those of a set.
            first, *_ = [cls._open_file(file, frame_axes) for file in (files[0], files[-1])]
        except PartOfSet as part:
            return cls._open_set(folder, files, part.files, axes)
        if first.n_frames != 1:
            raise BadInput(
                f"{files[0]} is a movie of {plural(first.n_frames, 'frame')} in a folder of "
                f"{len(files)} files: give one movie file, or a folder with one file per frame"
            )
        return replace(first, path=folder, files=files, n_frames=len(files))

    @classmethod
    def _open_set(
        cls, folder: Path, files: Sequence[Path], of_set: Sequence[Path], axes: str | None
    ) -> Movie:
        if others := sorted({*files} - {*of_set}):
            raise BadInput(
                f"{folder} holds {others[0].name} beside the {len(of_set)} files of one OME-TIFF: "
                "leave those alone in a folder"
            )
        if missing := sorted({*of_set} - {*files}):
            raise BadInput(
                f"{missing[0]} is not there, and the OME-TIFF in {folder} needs it: copy it too"
            )
        with _opened(files[0], needs_axes=axes is None) as tiff:
            return replace(cls._of_tiff(tiff, folder, tuple(files), axes), is_set=True)

    @property
    def size_bytes(self) -> int:
        """Size of all files together."""
        return sum(file.stat().st_size for file in self.files)

    def read(self, start: int, stop: int, channel: int | None = None) -> Pixels:
        """Read frames of one channel, (T, Y, X), or of all, (T, C, Y, X); `stop` is excluded."""
        if channel is not None and not 0 <= channel < self.n_channels:
            raise BadInput(
                f"{self.path} has no channel {channel}: it has {self.n_channels}, counted from 0"
            )
        if self.path.is_dir() and not self.is_set:
            frames = np.stack([self._read_file(f, channel) for f in self.files[start:stop]])
        else:
            frames = self._read_images(self._tiff, self.path, (start, stop), channel)
        if frames.dtype.kind == "f" and not np.isfinite(frames).all():
            bad = int(np.argmin(np.isfinite(frames).reshape(len(frames), -1).all(axis=1)))
            raise BadInput(
                f"frame {start + bad} of {self.path} has values that are NaN or infinite: "
                "replace them before measuring on this movie"
            )
        return frames

    def blocks(
        self, start: int, stop: int, channel: int | None = None, *, block_bytes: int = BLOCK_BYTES
    ) -> Iterator[tuple[int, int]]:
        """Cut a window into runs of frames, first and end, each of so many bytes or one frame."""
        # Channels that are samples of one page are decoded together, whichever is wanted.
        alone = channel is not None and self.channel_axis == "page"
        channels = 1 if alone else self.n_channels
        frame_bytes = channels * self.shape_yx[0] * self.shape_yx[1] * self.dtype.itemsize
        step = max(1, block_bytes // frame_bytes)
        for first in range(start, stop, step):
            yield first, min(first + step, stop)

    def frames(self, start: int, stop: int, channel: int | None = None) -> Iterator[Pixels]:
        """Yield the frames that `read` gives one by one, a block of them in memory."""
        for first, end in self.blocks(start, stop, channel):
            yield from self.read(first, end, channel)

    @cached_property
    def _tiff(self) -> tifffile.TiffFile:
        """The one file, kept open: finding page n of a TIFF means walking past n others."""
        tiff = _opened(self.files[0])
        # Pages and file refer to each other, so that without this the collector closes it.
        weakref.finalize(self, tiff.close)
        return tiff

    def _read_file(self, path: Path, channel: int | None) -> Pixels:
        with _opened(path) as tiff:
            series = tiff.series[0]
            height, width = self.shape_yx
            yx = series.shape[-3:-1] if self.channel_axis == "sample" else series.shape[-2:]
            size = height * width * self.n_channels
            if (yx, series.dtype, series.size) != ((height, width), self.dtype, size):
                raise BadInput(
                    f"{path} differs from the first frames of {self.path}: expected {width} x "
                    f"{height} pixels of {self.dtype} in {plural(self.n_channels, 'channel')}, "
                    f"found the shape {series.shape} of {series.dtype}"
                )
            return np.asarray(self._read_images(tiff, path, (0, 1), channel)[0])

    def _read_images(
        self, tiff: tifffile.TiffFile, path: Path, window: tuple[int, int], channel: int | None
    ) -> Pixels:
        """Read a window of one file as (T, Y, X) or (T, C, Y, X)."""
        start, stop = window
        chosen: Sequence[int] = range(self.images_per_frame)
        if channel is not None and self.channel_axis == "page":
            chosen = (channel,)
        firsts = range(start * self.images_per_frame, stop * self.images_per_frame)
        images = [first + one for first in firsts[:: self.images_per_frame] for one in chosen]
        samples = (self.n_channels,) if self.channel_axis == "sample" else ()
        shape = (*self.shape_yx, *samples)
        try:
            data = _read_image_stack(tiff, self.image, path, images, shape)
        except MemoryError:
            raise
        except Exception as error:  # decoders and tifffile raise errors of nearly every kind
            raise BadInput(
                f"{path} cannot be read at frame {start}:{stop}{said_by(error)}: "
                "it is damaged or truncated; copy it again"
            ) from error
        data = data.reshape(stop - start, -1, *shape)
        if self.channel_axis == "sample":
            data = np.moveaxis(data[:, 0], -1, 1)
            data = data if channel is None else data[:, channel : channel + 1]
        return data if channel is None else data[:, 0]


def _opened(path: Path, *, needs_axes: bool = False) -> tifffile.TiffFile:
    """Open a file of images; with `needs_axes`, its own axes must be of their shape."""
    import tifffile

    if not path.exists():
        raise BadInput(f"{path} does not exist")
    if not path.is_file():
        # A pipe or a device would be waited for.
        raise BadInput(f"{path} is neither a file nor a folder: give OME-TIFF or plain TIFF frames")
    _refuse_empty(path)
    with ExitStack() as if_refused:
        try:
            with _logged_errors(tifffile.logger()) as complaints:
                tiff = if_refused.enter_context(tifffile.TiffFile(path))
                if tiff.is_shaped and len(tiff.series) > 1:
                    # Who writes frame by frame makes a series of each.
                    tiff = if_refused.enter_context(tifffile.TiffFile(path, is_shaped=False))
                holds_images = bool(tiff.pages) and bool(tiff.series)
        except PermissionError as error:
            raise BadInput(
                f"{path} is not readable for this user: change its permissions"
            ) from error
        except Exception as error:  # tifffile raises errors of nearly every kind for broken tags
            raise BadInput(
                f"{path} is not a readable TIFF file{said_by(error)}: give OME-TIFF or plain "
                "TIFF frames"
            ) from error
        of_axes = [complaint for complaint in complaints if _SAID_OF_AXES in complaint]
        if of_axes and needs_axes:
            shape = tiff.series[0].shape
            what = f"{path} names axes that do not fit its shape {shape}"
            raise WrongAxes(what, shape, f"give the right ones {BY_AXES}", colours=False)
        if len(complaints) > len(of_axes) or not holds_images:
            what = next((c for c in complaints if c not in of_axes), "it holds no image")
            raise BadInput(f"{path} is damaged or truncated ({what}): copy it again")
        if_refused.pop_all()
    return tiff


def _refuse_empty(path: Path) -> None:
    if path.stat().st_size == 0:
        raise BadInput(f"{path} is empty (0 bytes): the copy or download failed; fetch it again")


def _image_of(path: Path, tiff: tifffile.TiffFile) -> int:
    """Which image of a file to read: the only one or, of an OME-TIFF, the largest."""
    images = tiff.series
    if len(images) == 1:
        return 0
    if images[0].kind == "ome":
        sizes = [one.size for one in images]
        if sizes.count(max(sizes)) > 1:
            raise BadInput(
                f"{path} holds {len(images)} images, as of several positions: write the one to "
                "measure on into a file of its own, as by bfconvert -series 0"
            )
        return sizes.index(max(sizes))
    if images[0].kind in {"generic", "uniform"}:
        first, other = images[0].keyframe, images[1].keyframe
        raise BadInput(
            f"page {other.index} of {path} holds {_of_page(other)}, and page {first.index} "
            f"{_of_page(first)}: write frames of one size and type into a file of their own"
        )
    return 0


def _of_page(page: Any) -> str:
    return f"{page.imagewidth} x {page.imagelength} pixels of {page.dtype}"


def _files_of(tiff: tifffile.TiffFile, image: int) -> tuple[Path, ...]:
    """Files that hold the planes of an image; BadInput where some are not there."""
    series = tiff.series[image]
    path = Path(tiff.filehandle.path)
    if series.kind != "ome":
        return (path,)
    pages = [page for page in series.pages if page is not None]
    if len(pages) < len(series.pages):
        raise BadInput(
            f"{len(pages)} of {len(series.pages)} planes of {path} are there: the recording or "
            "the copy ended early; copy it again, or write what is there into a new file"
        )
    return tuple(sorted({Path(page.parent.filehandle.path) for page in pages}))


_SAID_OF_AXES = "axes do not match shape"
"""What tifffile logs of a file that is whole and whose description is wrong."""


@contextmanager
def _logged_errors(logger: logging.Logger) -> Iterator[list[str]]:
    """Collect errors that a library only logs: tifffile reads on past a broken page."""
    found: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            # tifffile begins with the object that speaks, in angle brackets.
            found.append(record.getMessage().partition("> ")[2] or record.getMessage())

    collector = Collector(logging.ERROR)
    propagates = logger.propagate
    # What is raised here as a sentence must not be printed as well.
    logger.propagate = False
    logger.addHandler(collector)
    try:
        yield found
    finally:
        logger.removeHandler(collector)
        logger.propagate = propagates


def _read_image_stack(
    tiff: tifffile.TiffFile, image: int, path: Path, images: list[int], shape: tuple[int, ...]
) -> Pixels:
    """Read images of a shape by their place in the series, which need not be that in the file."""
    series = tiff.series[image]
    of_one = series.size > math.prod(shape) and len(tiff.pages) == 1
    if of_one and series.dataoffset is not None:
        # ImageJ writes more than 4 GB as one page followed by bare pixels.
        _refuse_beyond_end(path, series.dataoffset + series.nbytes)
        dtype = series.dtype.newbyteorder(tiff.byteorder)
        bare = np.memmap(path, dtype, "r", series.dataoffset, series.shape)
        return np.array(bare.reshape(-1, *shape)[images], series.dtype)
    # tifffile writes 3 or 4 frames as the planes of one page.
    per_page = max(1, series.keyframe.size // math.prod(shape))
    pages = sorted({image // per_page for image in images})
    wanted = [page for index in pages if (page := series.pages[index]) is not None]
    if len(wanted) < len(pages):
        raise ValueError("a page is missing")
    for page in wanted:
        ends = zip(page.dataoffsets, page.databytecounts, strict=True)
        _refuse_beyond_end(Path(page.parent.filehandle.path), max(map(sum, ends)))
    with ExitStack() as opened:
        for file in {page.parent.filehandle for page in wanted if page.parent is not tiff}:
            # Others of a set are open only while they are read, as there may be thousands.
            file.open()
            opened.callback(file.close)
        # One thread: the stage's thread count is a measured parameter.
        data = np.asarray(tiff.asarray(series=image, key=pages, maxworkers=1)).reshape(-1, *shape)
    if per_page == 1 and pages == images:
        return data
    places = {page: place for place, page in enumerate(pages)}
    return data[[places[image // per_page] * per_page + image % per_page for image in images]]


def _refuse_beyond_end(path: Path, end: int) -> None:
    size = path.stat().st_size
    if end > size:
        raise ValueError(f"the file ends at byte {size}, its pixels at byte {end}")


def _layout(
    path: Path, file_axes: str, shape: tuple[int, ...], believed_axes: str | None
) -> dict[str, Any]:
    """What axes and shape say of a movie, by its fields."""
    axes = believed_axes or file_axes
    if believed_axes and len(believed_axes) != len(shape):
        raise BadInput(
            f"--axes {believed_axes} names {len(believed_axes)} axes, "
            f"but {path} has {len(shape)} ({file_axes}, shape {shape})"
        )
    # A stack whose writer named no axis is a movie: nothing else is left for it to be.
    if axes[0] in UNNAMED_AXES and axes[1:] in {"YX", "CYX", "YXS", "SYX"}:
        axes = "T" + axes[1:]
    # Colours that are planes of their own lie in the file as channels do.
    axes = "TCYX" if axes == "TSYX" else axes
    sizes = dict(zip(axes, shape, strict=True))
    if axes == "SYX":
        what = f"{path} holds a picture of {shape[0]} colours, as tifffile saves 3 or 4 frames"
        raise WrongAxes(what, shape, "if they are frames, give --axes TYX", colours=True)
    if axes not in {"YX", "TYX", "CYX", "TCYX", "YXS", "TYXS"}:
        what = f"{path} has the axes {axes} (shape {shape}), but frames need T Y X or T C Y X"
        raise WrongAxes(what, shape, f"convert it, or give the right axes {BY_AXES}", colours=False)
    if axes == "CYX" and shape[0] > MOST_CHANNELS and believed_axes is None:
        what = f"{path} says that it holds one frame of {shape[0]} channels"
        remedy = "if they are frames, give --axes TYX; if channels, --axes CYX"
        raise WrongAxes(what, shape, remedy, colours=False)
    if min(shape) < 1:
        raise BadInput(f"{path} holds no pixels (axes {axes}, shape {shape}): write it again")
    channel_axis = "page" if "C" in axes else "sample" if "S" in axes else "none"
    return {
        "n_frames": sizes.get("T", 1),
        "n_channels": sizes.get("C", sizes.get("S", 1)),
        "shape_yx": (sizes["Y"], sizes["X"]),
        "images_per_frame": sizes.get("C", 1),
        "channel_axis": channel_axis,
    }


def natural_order(path: Path) -> list[tuple[bool, int, str]]:
    """Sort key under which frame 10 comes after frame 9."""
    parts = re.split(r"(\d+)", path.name)
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


def files_in(folder: Path, suffixes: tuple[str, ...] = ("",)) -> tuple[Path, ...]:
    """Files of a folder that end so, in the natural order of their names."""
    ending = (file for file in folder.iterdir() if file.name.lower().endswith(suffixes))
    # Hidden files are what an operating system or a broken writer left.
    seen = (file for file in ending if file.name[0] != "." and file.is_file())
    return tuple(sorted(seen, key=natural_order))
