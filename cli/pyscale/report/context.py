"""What a report must say that no table holds: where the numbers come from."""

from __future__ import annotations

from pydantic import Field

from pyscale_stages.contract import Record


class ReportContext(Record):
    """Origin of the numbers in a report."""

    title: str = Field(description="What was measured, such as the run's id or the table's name")
    settings: dict[str, str] = Field(
        default_factory=dict, description="Every factor of the measurement: name and value"
    )
    hardware: tuple[dict[str, str], ...] = Field(
        (), description="One per node: property and value, in the order to print"
    )
    measured_for: str = Field(
        "what was measured", description="What was processed, as sentences on requests name it"
    )
    not_measured: tuple[str, ...] = Field(
        (), description="Sentences on what the run left out, beyond what the tables show"
    )
