"""From the bytes of one tile to its pixels."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import tifffile

_SCAN, _END = 0xDA, 0xD9
_BETWEEN_SCANS = frozenset({_SCAN, 0xC4, 0xDB, 0xDD})
"""Markers that may follow a scan: another, or tables for it."""
_PADDING = b"\0\xff"
_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
"""In a scan, 0xff is followed by 0 or by a number from the restart markers, and else a marker."""

NONE, JPEG, APERIO_JPEG2000_YCBCR = 1, 7, 33003
_IMAGES = {
    33005: "jpeg2k_decode",
    34712: "jpeg2k_decode",
    50001: "webp_decode",
    50002: "jpegxl_decode",
}
_BYTES = {
    5: "lzw_decode",
    8: "zlib_decode",
    32773: "packbits_decode",
    32946: "zlib_decode",
    34925: "lzma_decode",
    50000: "zstd_decode",
}
"""What imagecodecs calls its decoders, by the numbers of compressions in TIFF's tag 259."""
_HORIZONTAL = 2
"""The predictor that keeps differences between neighbours in a row."""
_PHOTOMETRIC_GREY, _PHOTOMETRIC_RGB, _PHOTOMETRIC_YCBCR = 1, 2, 6
_COLOURS = 3
_JPEG_GREY, _JPEG_RGB, _JPEG_YCBCR = 1, 2, 3


@dataclass(frozen=True, slots=True)
class TileDecoder:
    """How tiles of one level are decoded.

    `compression`: TIFF's number of it. `height_px`, `width_px`, `samples`: shape of a tile as kept
    in the file; tiles at an edge are as large as all others. `dtype`: of a sample as kept in the
    file, with its byte order. `predictor`: TIFF's number of what was done to samples before they
    were compressed. `tables`: quantisation and Huffman tables that JPEG tiles share. `colours`,
    `colours_out`: colours of JPEG tiles, and those wanted, in libjpeg's numbers.
    """

    compression: int
    height_px: int
    width_px: int
    samples: int
    dtype: str
    predictor: int
    tables: bytes | None
    colours: int | None
    colours_out: int | None

    @classmethod
    def of(cls, page: tifffile.TiffPage) -> TileDecoder | str:
        """Find out how the tiles of a page are decoded, or say in words why not."""
        refusal = _refusal(page)
        if refusal:
            return refusal
        separate = int(page.planarconfig) != 1
        samples = 1 if separate else page.samplesperpixel
        colours = colours_out = None
        if page.compression == JPEG and samples == 1:
            colours_out = _JPEG_GREY
        elif page.compression == JPEG:
            # What the directory says holds, whatever libjpeg would guess from a tile's markers.
            is_ycbcr = page.photometric == _PHOTOMETRIC_YCBCR
            colours = _JPEG_YCBCR if is_ycbcr else _JPEG_RGB
            colours_out = _JPEG_RGB
        return cls(
            compression=int(page.compression),
            height_px=page.tilelength,
            width_px=page.tilewidth,
            samples=samples,
            dtype=np.dtype(page.dtype).newbyteorder(page.parent.byteorder).str,
            predictor=int(page.predictor),
            tables=page.jpegtables,
            colours=colours,
            colours_out=colours_out,
        )

    def decode(self, data: bytes) -> npt.NDArray[Any]:
        """Decode one tile into (height_px, width_px, samples)."""
        import imagecodecs

        shape = (self.height_px, self.width_px, self.samples)
        if self.compression == JPEG:
            if not is_whole(data):
                raise ValueError("its JPEG data are incomplete")
            pixels = imagecodecs.jpeg8_decode(
                data, tables=self.tables, colorspace=self.colours, outcolorspace=self.colours_out
            )
        elif self.compression in _IMAGES:
            pixels = getattr(imagecodecs, _IMAGES[self.compression])(data)
        else:
            if self.compression != NONE:
                data = getattr(imagecodecs, _BYTES[self.compression])(data)
            return self._unpacked(data, shape)
        if pixels.size != math.prod(shape):
            raise ValueError(f"a tile has the shape {pixels.shape} instead of {shape}")
        return pixels.reshape(shape)

    def _unpacked(self, plain: bytes, shape: tuple[int, int, int]) -> npt.NDArray[Any]:
        dtype = np.dtype(self.dtype)
        wanted = math.prod(shape) * dtype.itemsize
        if len(plain) < wanted:
            raise ValueError(f"a tile ends after {len(plain)} of {wanted} bytes")
        pixels = np.frombuffer(plain, dtype, math.prod(shape)).reshape(shape)
        pixels = pixels.astype(dtype.newbyteorder("="), copy=False)
        if self.predictor == _HORIZONTAL:
            # TIFF keeps differences of the bits, of floats too; sums wrap around as these did.
            bits = pixels.view(f"u{dtype.itemsize}")
            pixels = np.cumsum(bits, axis=1, dtype=bits.dtype).view(pixels.dtype)
        return pixels


def _refusal(page: tifffile.TiffPage) -> str:
    """Say why tiles of a page cannot be decoded here; nothing where they can."""
    compression, bits = int(page.compression), page.bitspersample
    if compression == APERIO_JPEG2000_YCBCR:
        return "its JPEG 2000 tiles are in YCbCr, whose samples may be fewer than pixels"
    is_plain = compression == NONE or compression in _BYTES
    if not is_plain and compression not in _IMAGES and compression != JPEG:
        return f"its tiles are compressed by {getattr(page.compression, 'name', compression)}"
    if page.dtype is None or page.dtype.kind not in "uif" or bits != page.dtype.itemsize * 8:
        return f"its samples have {bits} bits"
    if compression == JPEG and bits != 8:
        return f"its JPEG tiles have {bits} bits a sample"
    if is_plain and page.predictor not in {1, _HORIZONTAL}:
        return f"its tiles have the predictor {int(page.predictor)}"
    if page.fillorder != 1 and compression != JPEG:
        return "its bits are in reverse order"
    if page.imagedepth != 1 or page.tiledepth not in {0, 1}:
        return "its tiles are deep"
    if page.photometric not in {_PHOTOMETRIC_GREY, _PHOTOMETRIC_RGB, _PHOTOMETRIC_YCBCR}:
        return f"its colours are {getattr(page.photometric, 'name', page.photometric)}"
    if page.photometric == _PHOTOMETRIC_RGB and page.samplesperpixel != _COLOURS:
        return "its pixels have more than three colours"
    if page.photometric == _PHOTOMETRIC_YCBCR and is_plain:
        return "its pixels are YCbCr without JPEG"
    return ""


def is_whole(data: bytes) -> bool:
    """Find whether the scans of a JPEG image end where they should."""
    # Decoders fill what they cannot decode with grey. Changed bytes that still decode stay unfound.
    try:
        scan = _scan_after(data, 2)
        while scan:
            found = _MARKER.search(data, scan)
            if found is None:
                return False
            marker = data[found.start() + 1]
            if marker == _END:
                return not data[found.end() :].strip(_PADDING)
            if marker not in _BETWEEN_SCANS:
                return False
            scan = _scan_after(data, found.start())
    except IndexError:
        pass
    return False


def _scan_after(data: bytes, at: int) -> int:
    """Where the next scan begins, past the segments from `at` on; 0 where they are none."""
    while data[at] == 0xFF:
        after = at + 2 + (data[at + 2] << 8) + data[at + 3]
        if data[at + 1] == _SCAN:
            return after
        at = after
    return 0
