"""Columns of tables and their types, and of records: names, types and values made from fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache, partial
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import numpy as np
import polars as pl
from pydantic import BaseModel

from pyscale_stages.record import SHARES, Metric

TEXT, WHOLE, REAL, FLAG = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean()
TEXTS, TIME = pl.List(TEXT), pl.Datetime("us", "UTC")

Schema = dict[str, pl.DataType]


def columns(*runs: tuple[pl.DataType, str]) -> Schema:
    """Give every name, with blanks between them, the type that stands before it; in this order."""
    return {name: kind for kind, names in runs for name in names.split()}


def ends_of(*names: str) -> str:
    """Names of numbers that have an interval, each with its two ends."""
    return " ".join(f"{name} {name}_low {name}_high" for name in names)


_KINDS: dict[Any, pl.DataType] = {
    int: WHOLE,
    float: REAL,
    bool: FLAG,
    # Of mappings JSON, of lengths text like 3 x 256 x 128.
    **dict.fromkeys((str, Literal, dict, tuple[int, ...]), TEXT),
}


class Declared(NamedTuple):
    """One column of a record."""

    kind: pl.DataType
    means: str
    value: Callable[[Any], Any]
    metric: Metric = Metric()


@cache
def declared(record: type[BaseModel]) -> dict[str, Declared]:
    """Columns of a record by their names; of a list those that its `Metric` declares, or none."""
    return dict(_columns(record))


def schema_of(record: type[BaseModel]) -> Schema:
    """Columns of a record and their types."""
    return {name: column.kind for name, column in declared(record).items()}


def row_of(record: BaseModel | None) -> dict[str, Any]:
    """Values of a record by column; nothing of none."""
    if record is None:
        return {}
    return {name: column.value(record) for name, column in declared(type(record)).items()}


def _columns(record: type[BaseModel]) -> Iterator[tuple[str, Declared]]:
    for field, info in record.model_fields.items():
        metric = next((each for each in info.metadata if isinstance(each, Metric)), Metric())
        name = field if metric.name is None else metric.name
        bare, means, get = _bare(info.annotation), info.description or "", attrgetter(field)
        kind = _KINDS.get(bare) or _KINDS.get(get_origin(bare))
        for column, which in metric.samples.items():
            whole = WHOLE if which == "count" else REAL
            yield column, Declared(whole, f"{means}: {which}", _then(get, _SAMPLES[which]))
        if kind is not None:
            yield name, Declared(kind, means, _then(get, _told), metric)
        # What is no class, as `list[int]`, cannot be asked whose subclass it is.
        elif isinstance(bare, type) and issubclass(bare, BaseModel):
            for column, inner in declared(bare).items():
                within = f"{name}_{column}" if name else column
                yield within, inner._replace(value=_then(get, inner.value))


def _bare(annotation: Any) -> Any:
    """Type of a field without its constraints, and whether or not it may be None."""
    if get_origin(annotation) is Annotated:
        return _bare(get_args(annotation)[0])
    if get_origin(annotation) in {Union, UnionType}:
        return _bare(next(each for each in get_args(annotation) if each is not NoneType))
    return annotation


def _then(get: Callable[[Any], Any], made: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Give what is made of a field's value; None of None and of an empty list."""

    def value(record: Any) -> Any:
        found = get(record)
        return None if found is None or found == () else made(found)

    return value


def _told(value: Any) -> Any:
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True)
    return " x ".join(map(str, value)) if isinstance(value, tuple) else value


def _percentile(numbers: Any, share: int) -> float:
    return float(np.percentile(numbers, share))


_SAMPLES: dict[str, Callable[[Any], Any]] = {
    "count": len,
    "mean": lambda numbers: sum(numbers) / len(numbers),
    "max": max,
    **{f"p{share}": partial(_percentile, share=share) for share in SHARES},
}
