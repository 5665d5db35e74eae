"""The dictionary of columns, `columns.toml`: what each holds, and how a report writes it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, Field

from pyscale.analysis.aggregate import meanings
from pyscale.analysis.declared import declared
from pyscale.wording import coarse, gib, number, percent, ratio, score
from pyscale_stages.contract import Counters
from pyscale_stages.loader.stage import LoaderParams
from pyscale_stages.loading import Loading
from pyscale_stages.measured import Measured
from pyscale_stages.reconstruction import Iteration, Reconstruction
from pyscale_stages.record import Record
from pyscale_stages.timing import Timing

RECORDS: dict[str, tuple[type[BaseModel], ...]] = {
    "tasks.parquet": (Counters,),
    "timings.parquet": (Timing,),
    "loading.parquet": (Loading, LoaderParams),
    "reconstruction.parquet": (Reconstruction, Iteration),
    "measures.parquet": (Measured,),
    "measures": (Measured,),
    "loader": (LoaderParams,),
    "loader_ranks": (Loading,),
    "reconstruct": (Reconstruction,),
    "reconstruct_points": (Reconstruction,),
}
"""Records that describe columns of a table; of several that have one, the last."""
FOLDED: dict[str, type[Record]] = {"loader": Loading, "reconstruct_points": Reconstruction}
"""Records whose numbers are in a table taken together over ranks and trials."""

Written = Callable[[Any], str]
"""How a value is read."""


class Entry(Record):
    """One column."""

    means: str = Field("", description="What it holds; of one that a record describes, nothing")
    unit: str = Field("", description="Where neither its name's ending nor the table tells it")
    head: str = Field("", description="In a report, with the unit there in brackets")
    written: str = Field("number", alias="as", description="A name of `WAYS`")
    interval: bool = Field(False, description="Whether the ends of its 95 % interval stand beside")
    of_several: bool = Field(False, description="Whether one worker alone has none")


def decibels(value: float) -> str:
    """Write a difference in dB with its sign, and one that rounds to nothing without."""
    # `z` leaves no -0.00, and a +0.00 loses its sign.
    return f"{value:+z.2f}".replace("+0.00", "0.00")


def _words(value: Any) -> str:
    """Write words, several with commas between, and whether something is so."""
    told = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
    return ", ".join(told) if isinstance(told, list) else str(told)


@cache
def labels(group: str) -> Mapping[str, Any]:
    """Names of one group of `labels.toml`, by what stages and records call them."""
    text = (files("pyscale.report") / "labels.toml").read_text("utf-8")
    named: Mapping[str, Any] = tomllib.loads(text)[group]
    return named


def in_units(unit: float) -> Written:
    """Write numbers in a unit of this size."""
    return lambda value: number(value / unit)


WAYS: Mapping[str, Written] = {
    "number": number,
    "words": _words,
    "state": lambda name: str(labels("states").get(name, name)),
    "whole": str,
    "rounded": "{:.0f}".format,
    "shortest": "{:g}".format,
    # Errors of a few bits would fill a line with zeros.
    "deviation": "{:.2g}".format,
    "coarse": coarse,
    "ratio": ratio,
    "score": score,
    "percent": percent,
    "finely": lambda share: f"{100 * share:.2g} %",
    "decibels": decibels,
    "GiB": lambda held: gib(round(held)),
    "MB": in_units(1e6),
    "kB": in_units(1e3),
    "ms": in_units(1e-3),
}
"""How columns are written; units are those that the head of a column has in brackets."""
WORDS = ("words", "state")
"""Those of words, which no CSV has so."""


@cache
def declarations() -> Mapping[str, Mapping[str, Any]]:
    """The dictionary: its tables by name, each with its columns; `any` is of every table."""
    text = (files("pyscale.report") / "columns.toml").read_text("utf-8")
    return {
        table: {name: {"means": own} if isinstance(own, str) else own for name, own in each.items()}
        for table, each in tomllib.loads(text).items()
    }


@cache
def entry(table: str, column: str) -> Entry:
    """What is declared of a column of a table, as far as anything is."""
    of_any, of_table = (declarations().get(of, {}).get(column, {}) for of in ("any", table))
    # What is declared of the table goes before what is declared of any.
    return Entry.model_validate({**of_any, **of_table})


@cache
def meaning(table: str, column: str) -> str:
    """Meaning of a column of a table; a KeyError if neither dictionary nor record tells it."""
    folded = meanings(FOLDED[table]) if table in FOLDED else {}
    described = {
        name: one.means
        for record in RECORDS.get(table, ())
        for name, one in declared(record).items()
    }
    own = declarations().get(table, {}).get(column, {}).get("means")
    known = own or folded.get(column) or described.get(column) or entry(table, column).means
    if known:
        # A CSV has an empty cell where Python has None.
        return known.replace("; None where", "; empty where")
    if column.startswith("phase_"):
        phase = column.removeprefix("phase_").removesuffix("_s").replace("_", " ")
        return f"Time in the phase {phase}, summed over workers"
    for end, which in (("_low", "Lower"), ("_high", "Upper")):
        if column.endswith(end):
            return f"{which} end of the 95 % interval of `{column.removesuffix(end)}`"
    raise KeyError(column)
