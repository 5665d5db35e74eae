"""What every record of the contract is built on."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A frozen record that refuses unknown keys."""

    # Built at first use: a task uses few of the records, and importing them is measured time.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
