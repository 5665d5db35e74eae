"""Synthetic slides: tissue-like, pyramidal, of any size, the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import Field

from pyscale_stages.contract import Record
from pyscale_stages.synth.atomic_folder import Kind, make_whole

PARAMS_FILE = "slides.json"
KIND = Kind("synthetic slides", "holds no synthetic slides", PARAMS_FILE)


class SlidesParams(Record):
    """Parameters of synthetic slides; the same parameters give the same bytes."""

    generator: Literal[1] = Field(
        1, description="Version of the generator: another version draws other slides"
    )
    slides: int = Field(8, ge=1, le=100_000, description="Number of slides")
    height_px: int = Field(4096, ge=512, le=200_000, description="Height of a slide")
    width_px: int = Field(4096, ge=512, le=200_000, description="Width of a slide")
    tile_px: int = Field(256, ge=64, le=1024, multiple_of=16, description="Side of a tile")
    mpp: float = Field(0.5, ge=0.1, le=2, description="Micrometres a pixel at full resolution")
    quality: int = Field(90, ge=10, le=100, description="Quality of the JPEG tiles")
    seed: int = Field(0, ge=0, lt=2**32, description="Seed of everything random")

    @property
    def uncompressed_bytes(self) -> int:
        """Bytes of all slides at full resolution before compression."""
        return 3 * self.slides * self.height_px * self.width_px

    @property
    def expected_bytes(self) -> int:
        """About the bytes that the slides take on the disk, with their lower resolutions."""
        # A JPEG encoder's own scale of its steps, and how the size of these slides follows it.
        coarseness = 2 - self.quality / 50 if self.quality >= 50 else 50 / self.quality
        bytes_per_pixel = 0.105 * max(coarseness, 0.03) ** -0.6
        return int(bytes_per_pixel * self.slides * self.height_px * self.width_px)


def slide_name(number: int) -> str:
    """File name of a slide by its number from 0."""
    return f"slide_{number:03d}.svs"


def write_slides(
    folder: Path, params: SlidesParams, advance: Callable[[int], None] | None = None
) -> Path:
    """Write slides as pyramidal TIFF in Aperio's layout; the folder appears whole or not at all."""

    # The same parameters give the same bytes, with the same libraries and kind of processor.
    def write(partial: Path) -> None:
        for number in range(params.slides):
            write_slide(partial / slide_name(number), params, number, advance)

    return make_whole(folder, params, KIND, write)


def write_slide(
    path: Path, params: SlidesParams, number: int = 0, advance: Callable[[int], None] | None = None
) -> None:
    """Write one of the slides, by its number from 0."""
    from pyscale_stages.slides.synthpyramid import write_pyramid
    from pyscale_stages.slides.synthspecimen import Specimen

    shape_yx = (params.height_px, params.width_px)
    write_pyramid(
        path,
        Specimen(shape_yx, params.mpp, (params.seed, number)),
        shape_yx,
        tile_px=params.tile_px,
        mpp=params.mpp,
        quality=params.quality,
        advance=advance or (lambda _bytes: None),
    )
