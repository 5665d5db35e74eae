"""What was found of an input: made once when its files are opened, and shown in one line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from pyscale_stages.framefiles import in_words
from pyscale_stages.reading import Reading
from pyscale_stages.record import Bytes, Count, Record, Whole
from pyscale_stages.wording import plural, size_in_words


class Inventory(Record):
    """The movie in a file, a folder or an OME-Zarr, and what of these is not read."""

    path: Path
    is_folder: bool
    title: str = Field(description="Its format in words, with the number of files")
    files: Count = Field(description="Files that are read")
    others: Count = Field(0, description="Files of the folder that are not")
    size_bytes: Bytes = Field(description="Of the files that are read")
    images: Count = Field(1, description="Images, as of several positions")
    image: Whole = Field(0, description="The one that is read, from 0")
    image_name: str = ""
    levels: Count = Field(1, description="Resolution levels")
    level: str | None = Field(None, description="Path of the one that is read")
    axes: str = Field(description="As they are read")
    frames: tuple[Whole, Whole] = Field(description="First frame that is read, and end (excluded)")
    frames_declared: Count
    frames_there: Count
    gaps: tuple[Whole, ...] = Field((), description="Numbers that the file names leave out")
    channels: tuple[str, ...] = Field(description="Names of all channels; empty where unnamed")
    planes: Count = Field(1, description="Planes in depth")
    shape_yx: tuple[Whole, Whole]
    dtype: str
    reading: Reading = Field(description="Choices that were made, in numbers")

    def line(self, measured: Sequence[int] | None = None) -> str:
        """All of it in one line; `measured`: channels that stages take, None where unknown."""
        start, stop = self.frames
        window = f"{start}:{stop}" if start else f"{stop}"
        there = f" ({self.frames_there} are there)" * (self.frames_there < self.frames_declared)
        names = ", ".join(f'{number} "{name}"' for number, name in enumerate(self.channels))
        named = f" ({names})" * any(self.channels)
        height, width = self.shape_yx
        parts = [
            ", ".join([self.title, *self._which_image()]),
            ", ".join(
                [
                    f"{window} of {plural(self.frames_declared, 'frame')}{there}",
                    f"{plural(len(self.channels), 'channel')}{named}",
                    *self._depth(),
                    f"{width} x {height} {self.dtype}",
                    size_in_words(self.size_bytes),
                ]
            ),
            f"missing in the file names: {in_words(self.gaps)}" if self.gaps else "",
            f"{plural(self.others, 'other file')} not read" if self.others else "",
            *self._chosen(measured),
        ]
        return f"{self.path.name}{'/' * self.is_folder}: {'; '.join(filter(None, parts))}"

    def _which_image(self) -> list[str]:
        found = []
        if self.images > 1 or self.image_name:
            name = f' "{self.image_name}"' if self.image_name else ""
            found.append(f"image {self.image} of {self.images}{name}")
        if self.levels > 1:
            found.append(f"level {Path(self.level or '0').name} of {self.levels}")
        return found

    def _depth(self) -> list[str]:
        if self.planes == 1:
            return []
        plane = self.reading.plane
        how = f"{self.reading.project}" if plane is None else f"plane {plane}"
        return [f"{how} of {self.planes} planes"]

    def _chosen(self, measured: Sequence[int] | None) -> list[str]:
        found = []
        if self.reading.axes:
            found.append(f"axes {self.reading.axes} as given")
        if self.reading.channel is not None:
            found.append(f"only channel {self.reading.channel} is read")
        elif measured:
            channels = "channel" if len(measured) == 1 else "channels"
            found.append(f"measuring {channels} {' and '.join(map(str, measured))}")
        return found
