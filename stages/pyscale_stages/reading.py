"""What of an input is its movie, where its files leave a choice; the same keys everywhere."""

from __future__ import annotations

import re
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from pyscale_stages.commandline import STAGE_FLAGS
from pyscale_stages.record import Record, Whole


class Reading(Record):
    """Choices of the user, or of planning, which resolves names and counts to numbers."""

    axes: str | None = Field(
        None, description="Axes, like TYX, in place of those that the file states"
    )
    series: Whole | None = Field(None, ge=0, description="Image of a file with several, from 0")
    level: str | None = Field(None, description="Resolution level of an OME-Zarr: number or path")
    frames: tuple[Whole, Whole] | None = Field(
        None, description="First frame and end (excluded), as A:B; K is 0:K"
    )
    channel: Whole | str | None = Field(
        None, description="The only channel that is read, by number or name"
    )
    plane: Whole | None = Field(None, ge=0, description="The only plane of a Z-stack, from 0")
    project: Literal["max", "mean"] | None = Field(
        None, description="What becomes of the planes of a Z-stack"
    )
    pattern: str | None = Field(
        None, description="Names of the files of a folder that are frames, like img_*.tif"
    )

    @field_validator("frames", mode="before")
    @classmethod
    def _from_text(cls, given: Any) -> Any:
        if not isinstance(given, int | str) or isinstance(given, bool):
            return given
        found = re.fullmatch(r"(?:(\d+):)?(\d+)", str(given).strip())
        if found is None:
            raise ValueError("give A:B or K, as in 0:5 or 5")
        return int(found[1] or 0), int(found[2])

    @field_validator("frames")
    @classmethod
    def _is_a_range(cls, frames: tuple[int, int] | None) -> tuple[int, int] | None:
        if frames is not None and not 0 <= frames[0] < frames[1]:
            raise ValueError("give A:B with A below B, as in 0:5")
        return frames

    @field_validator("channel", mode="before")
    @classmethod
    def _number_if_it_is_one(cls, given: Any) -> Any:
        return int(given) if isinstance(given, str) and given.isdigit() else given

    @field_validator("level", mode="before")
    @classmethod
    def _as_path(cls, given: Any) -> Any:
        return str(given) if isinstance(given, int) else given

    @model_validator(mode="after")
    def _of_one_stack(self) -> Self:
        if self.plane is not None and self.project is not None:
            raise ValueError("give plane or project, not both")
        return self

    @property
    def given(self) -> dict[str, str]:
        """What was chosen, as flags have it."""
        found = {name: getattr(self, name) for name in type(self).model_fields}
        if self.frames is not None:
            found["frames"] = "{}:{}".format(*self.frames)
        return {name: str(value) for name, value in found.items() if value is not None}

    def stage_flags(self) -> list[str]:
        """Options of the stages' command line that say the same."""
        return [
            word
            for name, value in self.given.items()
            for word in (STAGE_FLAGS.get(name, f"--{name}"), value)
        ]
