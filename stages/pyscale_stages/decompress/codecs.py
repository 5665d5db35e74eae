"""The formats and codecs that are measured, and their availability in this installation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from pyscale_stages.movieformats.eer import write_eer
from pyscale_stages.movieformats.frames import Frames
from pyscale_stages.movieformats.mrc import write_mrc
from pyscale_stages.movieformats.tiff import TiffCodec, write_tiff
from pyscale_stages.timing import Bottleneck

CodecName = Literal[
    "mrc", "tiff_none", "tiff_lzw", "tiff_zlib", "tiff_zstd", "tiff_jpeg2000", "eer"
]
Counts = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Codec:
    """How movies of one format and codec are written and read."""

    suffix: str
    write: Callable[[Path, Frames], None]
    camera: Literal["k3", "falcon4", "k2"]
    """Camera of the published movie in this format."""
    libraries: tuple[str, ...] = ()
    """Names of the codec in imagecodecs, of which one is enough; none if frames lie as they are."""
    prepare: Callable[[Counts], npt.NDArray[Any]] = np.asarray
    """Counts as the format keeps them."""
    bytes_per_px: int = 1
    """Size of a decoded pixel."""
    most_bytes_per_px: int = 1
    """Most that a pixel takes in a file."""

    @property
    def decodes(self) -> bool:
        """Whether there is anything to decode; else frames are only copied."""
        return bool(self.libraries)

    @property
    def bottleneck(self) -> Bottleneck:
        """What the speed of decoding most likely depends on."""
        return "cpu" if self.decodes else "memory"


def _tiff(codec: TiffCodec, *libraries: str) -> Codec:
    return Codec(".tif", partial(write_tiff, codec=codec), camera="k3", libraries=libraries)


CODECS: dict[CodecName, Codec] = {
    # MRC has no unsigned byte.
    "mrc": Codec(
        ".mrc",
        write_mrc,
        camera="k2",
        prepare=lambda counts: counts.astype(np.uint16),
        bytes_per_px=2,
        most_bytes_per_px=2,
    ),
    "tiff_none": _tiff("none"),
    "tiff_lzw": _tiff("lzw", "LZW"),
    "tiff_zlib": _tiff("zlib", "DEFLATE", "ZLIB"),
    "tiff_zstd": _tiff("zstd", "ZSTD"),
    "tiff_jpeg2000": _tiff("jpeg2000", "JPEG2K"),
    "eer": Codec(
        ".eer",
        write_eer,
        camera="falcon4",
        libraries=("EER",),
        # It has room for one electron on a pixel of a frame.
        prepare=lambda counts: counts.clip(max=1),
        # An electron takes 11 bits.
        most_bytes_per_px=2,
    ),
}
assert tuple(CODECS) == get_args(CodecName)


def why_not(name: CodecName) -> str:
    """Say why a codec cannot run in this installation; nothing where it can."""
    libraries = CODECS[name].libraries
    if not libraries:
        return ""
    try:
        import imagecodecs
    except ImportError:
        return f"{name} needs imagecodecs, which is not installed here"
    # A build without a codec has the name and says so, or lacks the name.
    if any(getattr(getattr(imagecodecs, one, None), "available", False) for one in libraries):
        return ""
    version = imagecodecs.__version__
    return f"imagecodecs {version} of this installation lacks {' and '.join(libraries)}"
