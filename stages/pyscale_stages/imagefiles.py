"""TIFF, PNG and JPEG files as images: opened, looked at and read."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from pyscale_stages.errors import BadInput, said_by
from pyscale_stages.layout import BY_AXES, Contents, Layout, Pixels, WrongAxes
from pyscale_stages.reading import Reading

if TYPE_CHECKING:
    import tifffile


class TiffFrames:
    """The images of a TIFF file, or of several that are one OME-TIFF."""

    def __init__(self, path: Path, reading: Reading) -> None:
        self._path = path
        self._tiff = _opened(path, needs_axes=reading.axes is None)
        try:
            self.contents = _contents(path, self._tiff, reading)
        except BaseException:
            self.close()
            raise

    def read(
        self,
        layout: Layout,
        frames: Sequence[int],
        channels: Sequence[int],
        planes: Sequence[int],
    ) -> Pixels:
        """Read images of consecutive frames: axes T, C, Z and those of an image."""
        images = layout.images(frames, channels, planes)
        data = _read_image_stack(
            self._tiff, self.contents.image, self._path, images, layout.image_shape
        )
        return data.reshape(len(frames), len(channels), len(planes), *layout.image_shape)

    def close(self) -> None:
        """Close the file."""
        self._tiff.close()


def _contents(path: Path, tiff: tifffile.TiffFile, reading: Reading) -> Contents:
    image = _image_of(path, tiff, reading.series)
    series = tiff.series[image]
    if series.dtype.kind not in "buif":
        raise BadInput(f"{path} holds {series.dtype} values: convert them to whole or real numbers")
    files: tuple[Path, ...] = (path,)
    missing: frozenset[int] = frozenset()
    if series.kind == "ome":
        pages = series.pages
        missing = frozenset(at for at, page in enumerate(pages) if page is None)
        there = {Path(page.parent.filehandle.path) for page in pages if page is not None}
        files = tuple(sorted(there)) or (path,)
    axes, shape = series.axes, tuple(series.shape)
    if declared := _stopped(tiff):
        axes, shape = "".join(declared) + "YX", (*declared.values(), *shape[-2:])
        missing = frozenset(range(len(tiff.pages), math.prod(declared.values())))
    return Contents(
        title={"ome": "OME-TIFF", "imagej": "ImageJ TIFF"}.get(series.kind, "TIFF"),
        files=files,
        axes=axes,
        shape=shape,
        dtype=np.dtype(series.dtype),
        image=image,
        n_images=len(tiff.series),
        image_name=series.name,
        channel_names=_channel_names(tiff.ome_metadata, image) if series.kind == "ome" else (),
        missing=missing,
    )


def _stopped(tiff: tifffile.TiffFile) -> dict[str, int]:
    """Axes and sizes that ImageJ announced, where fewer pages follow; empty elsewhere."""
    told = tiff.imagej_metadata or {}
    sizes = {axis: int(told.get(name, 1)) for axis, name in _OF_IMAGEJ.items()}
    # One page may be followed by the pixels of all others.
    if not 1 < len(tiff.pages) < math.prod(sizes.values()):
        return {}
    return {axis: size for axis, size in sizes.items() if size > 1}


_OF_IMAGEJ = {"T": "frames", "Z": "slices", "C": "channels"}
"""Axes in the order of its pages."""


def _channel_names(xml: str | None, image: int) -> tuple[str, ...]:
    """Names that an OME-XML gives to the channels of an image."""
    try:
        root = ElementTree.fromstring(xml or "")
    except ElementTree.ParseError:
        return ()
    images = root.findall("{*}Image")
    if image >= len(images):
        return ()
    channels = images[image].findall("{*}Pixels/{*}Channel")
    return tuple(channel.get("Name", "") for channel in channels)


def _opened(path: Path, *, needs_axes: bool = False) -> tifffile.TiffFile:
    """Open a file of images; with `needs_axes`, its own axes must be of their shape."""
    import tifffile

    if not path.exists():
        raise BadInput(f"{path} does not exist")
    if not path.is_file():
        # A pipe or a device would be waited for.
        raise BadInput(f"{path} is neither a file nor a folder: give OME-TIFF or plain TIFF frames")
    refuse_empty(path)
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
        if _stopped(tiff):
            complaints = [said for said in complaints if _SAID_OF_IMAGEJ not in said]
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


def refuse_empty(path: Path) -> None:
    """Raise where a copy or download left a file without bytes."""
    if path.stat().st_size == 0:
        raise BadInput(f"{path} is empty (0 bytes): the copy or download failed; fetch it again")


def _image_of(path: Path, tiff: tifffile.TiffFile, asked: int | None) -> int:
    """Which image of a file to read: the only one or, of an OME-TIFF, the largest."""
    images = tiff.series
    if asked is not None and asked >= len(images):
        raise BadInput(f"{path} has no image {asked}: --series goes from 0 to {len(images) - 1}")
    if asked is not None or len(images) == 1:
        return asked or 0
    sizes = [one.size for one in images]
    largest = sizes.index(max(sizes))
    if images[0].kind == "ome":
        if sizes.count(max(sizes)) > 1:
            raise BadInput(
                f"{path} holds {len(images)} images, as of several positions: choose one by "
                f"--series, as in --series {largest}"
            )
        return largest
    if images[0].kind in {"generic", "uniform"}:
        first, other = images[0].keyframe, images[1].keyframe
        raise BadInput(
            f"page {other.index} of {path} holds {_of_page(other)}, and page {first.index} "
            f"{_of_page(first)}: choose those of one kind by --series, as in --series {largest}"
        )
    return 0


def _of_page(page: Any) -> str:
    return f"{page.imagewidth} x {page.imagelength} pixels of {page.dtype}"


_SAID_OF_IMAGEJ = "ImageJ series metadata invalid"
"""What it logs of fewer pages than ImageJ announced."""
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


class StillImage:
    """A picture, decoded when its size is asked for, as its header tells too little."""

    def __init__(self, path: Path) -> None:
        self._pixels = decoded(path)
        colours = self._pixels.ndim == 3
        self.contents = Contents(
            title="PNG" if path.suffix.lower() == ".png" else "JPEG",
            files=(path,),
            axes="YXS" if colours else "YX",
            shape=self._pixels.shape,
            dtype=self._pixels.dtype,
        )

    def read(
        self,
        layout: Layout,
        frames: Sequence[int],
        channels: Sequence[int],
        planes: Sequence[int],
    ) -> Pixels:
        """Read the image: axes T, C, Z and its own."""
        return self._pixels.reshape(len(frames), len(channels), len(planes), *layout.image_shape)

    def close(self) -> None:
        """Nothing is open."""


def decoded(path: Path) -> Pixels:
    """Pixels of a PNG or JPEG file: Y and X, and colours where it has any."""
    import imagecodecs

    decode = imagecodecs.png_decode if path.suffix.lower() == ".png" else imagecodecs.jpeg8_decode
    try:
        return np.asarray(decode(path.read_bytes()))
    except (OSError, ValueError, RuntimeError) as error:
        raise BadInput(
            f"{path} is not a readable {path.suffix[1:].upper()} image: it is damaged; copy it "
            "again"
        ) from error
