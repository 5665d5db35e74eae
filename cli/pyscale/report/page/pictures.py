"""Small pictures of what a run computed, drawn from arrays: a frame, outlines and tracks."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from pyscale.report.palette import CURVES
from pyscale_stages.contract import Record

if TYPE_CHECKING:
    from PIL import Image

    Array = np.ndarray[Any, Any]

SIDE_PX, MOST_PX = 288, 512
"""Side of a picture, and of the middle of a larger image that it shows."""
MOST_BYTES = 60_000
"""Of one picture: three stay below 200 kB in base64 too."""
OUTLINE = (255, 176, 0)
LETTER_PX = 9
DARK, BRIGHT = 1.0, 99.8
"""Percentiles of pixels that are drawn black and white."""


class Picture(Record):
    """One picture of the strip."""

    title: str
    alt: str = Field(description="What can be seen, for those who do not see it")
    png: str = Field(description="The file, in base64")
    entry: str | None = Field(None, description="Entry of the suite whose output it shows")
    place: str | None = Field(None, description="Where that output lies, from the run's folder")


class Pictures(Record):
    """The strip of a run."""

    pictures: tuple[Picture, ...]
    about: str = Field(description="Which frame, and which part of it")


def middle(image: Array, shape_yx: Sequence[int]) -> Array:
    """Cut the middle out of an image, of a height and width."""
    (top, high), (left, wide) = (
        ((size - own) // 2, own) for size, own in zip(image.shape[-2:], shape_yx, strict=True)
    )
    return image[..., top : top + high, left : left + wide]


class View:
    """The middle of a frame, as large as a picture shows it."""

    def __init__(self, shape_yx: Sequence[int], most_px: int = MOST_PX) -> None:
        """Choose the part of images of this shape."""
        self.high, self.wide = (min(most_px, size) for size in shape_yx[-2:])
        self.top, self.left = (
            (size - own) // 2
            for size, own in zip(shape_yx[-2:], (self.high, self.wide), strict=True)
        )
        self.scale = SIDE_PX / max(self.high, self.wide)
        self.is_part = (self.high, self.wide) != tuple(shape_yx[-2:])

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height of the picture."""
        return max(1, round(self.scale * self.wide)), max(1, round(self.scale * self.high))

    def part(self, image: Array) -> Array:
        """Cut the part out."""
        return middle(image, (self.high, self.wide))

    def place(self, y_px: float, x_px: float) -> tuple[float, float]:
        """Place of a point of the frame in the picture, x first."""
        # A point is the middle of its pixel.
        return self.scale * (x_px + 0.5 - self.left), self.scale * (y_px + 0.5 - self.top)


def frame_picture(frame: Array, view: View) -> Image.Image:
    """Draw a frame in grey."""
    from PIL import Image

    part = view.part(frame).astype(np.float64)
    dark, bright = np.percentile(part[np.isfinite(part)], (DARK, BRIGHT)) if part.size else (0, 1)
    # A frame of one value has no range to divide by.
    grey = np.nan_to_num((part - dark) / max(bright - dark, 1e-12)).clip(0, 1)
    drawn = Image.fromarray((255 * grey).astype(np.uint8))
    return drawn.resize(view.size_px, Image.Resampling.BOX).convert("RGB")


def outlined(below: Image.Image, labels: Array, view: View) -> Image.Image:
    """Draw the outline of every label over a picture."""
    from PIL import Image

    # Enlarged first, so that outlines are a pixel of the picture wide.
    small = Image.fromarray(view.part(labels).astype(np.int32)).resize(
        view.size_px, Image.Resampling.NEAREST
    )
    cells = np.asarray(small)
    edge = np.zeros(cells.shape, bool)
    edge[:, 1:] |= cells[:, 1:] != cells[:, :-1]
    edge[1:] |= cells[1:] != cells[:-1]
    drawn = np.asarray(below).copy()
    drawn[edge] = OUTLINE
    return Image.fromarray(drawn)


def cropped(frame: Array, sides_px: Sequence[int]) -> Image.Image:
    """Draw a whole frame, and over it square crops of its middle with their sides in px."""
    from PIL import ImageDraw, ImageFont

    height, width = frame.shape[-2:]
    view = View(frame.shape, max(height, width))
    drawn = frame_picture(frame, view)
    pen, font = ImageDraw.Draw(drawn), ImageFont.load_default(LETTER_PX)
    corners = {
        side: [view.scale * ((size - side) // 2) for size in (height, width)]
        for side in sorted(sides_px, reverse=True)
    }
    for side, (top, left) in corners.items():
        far = view.scale * side - 1
        pen.rectangle((left, top, left + far, top + far), outline=OUTLINE)
    free = 0.0
    for side, (top, left) in corners.items():
        # A number that would lie on that of a larger crop is left out.
        if top >= free:
            place = (left + 3, top)
            pen.text(place, str(side), OUTLINE, font, stroke_width=1, stroke_fill=(0, 0, 0))
            free = top + LETTER_PX
    return drawn


def tracked(below: Image.Image, tracks: Sequence[Array], view: View) -> Image.Image:
    """Draw tracks over a picture, each a path of points (y, x); a dot is where it ends."""
    from PIL import ImageDraw

    drawn = below.copy()
    pen = ImageDraw.Draw(drawn)
    for number, track in enumerate(tracks):
        colour = CURVES[number % (len(CURVES) - 1)]  # The last is black, which is not seen here.
        points = [view.place(y_px, x_px) for y_px, x_px in track]
        if len(points) > 1:
            pen.line(points, fill=colour, width=2)
        x_px, y_px = points[-1]
        pen.ellipse((x_px - 2, y_px - 2, x_px + 2, y_px + 2), fill=colour)
    return drawn


def encoded(image: Image.Image) -> str:
    """Write a PNG in as many colours as fit `MOST_BYTES`, in base64."""
    colours = 128
    while True:
        file = io.BytesIO()
        image.quantize(colours).save(file, "PNG", optimize=True)
        if len(file.getvalue()) <= MOST_BYTES or colours <= 8:
            return base64.b64encode(file.getvalue()).decode("ascii")
        colours //= 2
