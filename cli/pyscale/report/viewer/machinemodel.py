"""What the viewer shows of tests of machines: columns, and a line for every test and step."""

from __future__ import annotations

from pydantic import Field

from pyscale.report.machine.words import NOT_APPLICABLE, rate_parts
from pyscale.report.viewer.model import Column, Property, Timed
from pyscale.report.wording import number
from pyscale_stages.contract import Record


class MachineCell(Timed):
    """One test of one column; of the percentages those of one kind and device sum up."""

    amount: float | None = Field(None, description="How much each call did, in `unit`")
    unit: str | None = None
    rate: float | None = Field(None, description="Amount over time, in `unit` a second")
    device: str | None = Field(None, description="Name of the GPU; None is the processor")
    cache: str | None = Field(None, description="Page cache of what was read")
    why_not: str | None = Field(None, description="Why there is no time, in words")
    wrong: bool = Field(False, description="Whether its result is wrong")

    @property
    def rate_text(self) -> str:
        """The rate as people read it, in the unit that fits."""
        scale, _ = rate_parts(self.rate, self.unit)
        return number(None if self.rate is None else self.rate / scale)

    @property
    def rate_unit(self) -> str:
        """The unit of `rate_text`."""
        return rate_parts(self.rate, self.unit)[1]

    @property
    def cannot(self) -> str:
        """Why there is no time, as it stands in the table."""
        why = self.why_not or "no call has a time"
        return why if why.startswith(NOT_APPLICABLE) else f"{NOT_APPLICABLE}: {why}"


class MachineRow(Record):
    """One test, or a step inside it, of every column."""

    kind: str
    entry: str | None = Field(description="Entry of the suite, where several did one test")
    processes: int = Field(description="How many did it on the node, each by itself")
    device: str = Field(description="processor, GPU, or GPU with a number")
    test: str
    at_once: int = Field(description="Readers or threads")
    step: str | None = Field(description="None for the whole of the test")
    group: str = Field(description="What it stands under")
    name: str = Field(description="What to call it")
    part: bool = Field(description="Whether it is a step inside a test that has a time itself")
    cells: tuple[MachineCell | None, ...] = Field(
        description="None where a column has no such test"
    )

    def key(self, column: str) -> str:
        """What names the row of a column in the CSV."""
        values = (
            *(column, self.kind, self.entry, self.processes, self.device, self.test),
            *(self.at_once, self.step),
        )
        return "|".join("" if value is None else str(value) for value in values)


class MachineViewer(Record):
    """Tests of machines side by side."""

    columns: tuple[Column, ...]
    properties: tuple[Property, ...]
    rows: tuple[MachineRow, ...] = Field(description="By group, each test before its steps")
    tags: dict[str, str] = Field(description="What each tag means, as far as they occur")
    why_not: dict[str, str] = Field(description="Sentences for the reasons that occur")
    of_rates: str | None = Field(description="What a ratio of rates is; None where there is none")

    @property
    def groups(self) -> dict[str, list[tuple[int, MachineRow]]]:
        """Rows of every group, each with its place among all."""
        found: dict[str, list[tuple[int, MachineRow]]] = {}
        for place, row in enumerate(self.rows):
            found.setdefault(row.group, []).append((place, row))
        return found
