"""The base of every record of the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from pyscale_stages.metric import Derived

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A length of time, by one clock; a difference of two clocks is a plain number."""
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""How much there is of something that cannot be less than nothing."""
AtLeastOne = Annotated[float, Field(ge=1, allow_inf_nan=False)]
"""Its bound stands here, as that of `Amount` would count in place of a field's own."""
Count = Annotated[int, Field(ge=0, lt=2**63)]
"""More than a column of a table can hold is damage."""
Whole = Annotated[int, Field(lt=2**63)]
"""A whole number whose lower bound its field names."""
Bytes = Count
Finite = Annotated[float, Field(allow_inf_nan=False)]
"""A measure of any sign. JSON has no word for others, so that they would be read as no value."""


class Record(BaseModel):
    """A frozen record that refuses unknown keys."""

    # Built at first use: a task uses few of the records, and importing them is measured time.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    derived: ClassVar[Mapping[str, Derived]] = {}
    """Numbers of a trial that are made of several columns of its ranks, or of one within."""


class Sample(Record):
    """A record that a stage declares for what it measures; a result holds it by its name."""

    kept_as: ClassVar[str]
    """Its name in a result."""
