"""Results as text that a person can diff: tables, pages, figures and what commands print."""

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import datetime
from html.parser import HTMLParser
from itertools import groupby

import polars as pl

SAMPLE = 4
"""Rows of a long table that are shown; of all others a digest stands beside each column."""
WIDTH = 160
"""Of a line of JSON that is not broken further."""
NOTHING = 1e-12
"""Sums that are zero up to rounding, which differs between processors."""
_BLOCKS = {
    "p",
    "li",
    "h1",
    "h2",
    "h3",
    "h4",
    "tr",
    "section",
    "summary",
    "caption",
    "dt",
    "dd",
    "div",
    "pre",
}
_UNSEEN = {"script", "style", "svg", "template"}


def rounded(value):
    """Floats of any nesting to six significant digits; times as text."""
    match value:
        case float():
            return 0.0 if abs(value) < NOTHING else float(f"{value:.6g}")
        case Mapping():
            return {str(key): rounded(each) for key, each in value.items()}
        case list() | tuple():
            return [rounded(each) for each in value]
        case set() | frozenset():
            return sorted(map(rounded, value))
        case datetime():
            return value.isoformat()
        case str() | int() | None:
            return value
        case _:
            return str(value)


def json_text(value, seen=None):
    """JSON with a key a line; what is short stands on one line.

    What stands in `seen` as a whole is named by its digest, and what is written is added to it.
    """
    return "\n".join(_lines(rounded(value), "", set() if seen is None else seen))


def _lines(value, before, seen, indent=""):
    whole = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(before + whole) <= WIDTH // 2:
        yield f"{indent}{before}{whole}"
        return
    if whole in seen:
        yield f"{indent}{before}as before #{digest([whole])}"
        return
    seen.add(whole)
    if len(before + whole) <= WIDTH:
        yield f"{indent}{before}{whole}"
        return
    yield f"{indent}{before}{'{' if isinstance(value, dict) else '['}"
    pairs = value.items() if isinstance(value, dict) else ((None, each) for each in value)
    for key, each in pairs:
        yield from _lines(each, "" if key is None else f"{key}: ", seen, f"{indent} ")
    yield f"{indent}{'}' if isinstance(value, dict) else ']'}"


def table_text(table):
    """One line a column: its name and type, its values, and where it is long a digest of all.

    Every column is there; of a table with many rows some, spread over it.
    """
    whole = table.height <= 2 * SAMPLE
    places = range(table.height) if whole else _spread(table.height)
    lines = [f"{table.height} rows" + ("" if whole else f", shown: {', '.join(map(str, places))}")]
    for column in table:
        values = [_cell(value) for value in column.to_list()]
        if len(set(values)) == 1 and len(values) > 1:
            told = f"all {values[0]}"
        else:
            told = " | ".join(values[place] for place in places)
            told = told if whole else f"#{digest(values)} {told}"
        lines.append(f"{column.name}: {_kind(column.dtype)}: {told}")
    return "\n".join(lines)


def csv_table(text):
    """Read the CSV that a report holds; every value stays as it is written but for rounding."""
    return pl.read_csv(text.encode(), infer_schema_length=None)


def digest(values):
    """Six digits that change where a value does."""
    return hashlib.sha256("\n".join(values).encode()).hexdigest()[:6]


def _spread(height):
    return sorted({round(place * (height - 1) / (SAMPLE - 1)) for place in range(SAMPLE)})


def _kind(dtype):
    return "utc" if isinstance(dtype, pl.Datetime) else str(dtype)


def _cell(value):
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{rounded(value):.6g}"
    if isinstance(value, datetime):
        return f"{value:%F %T.%f}"
    if isinstance(value, str):
        return value.replace("\n", "\\n")
    return json.dumps(rounded(value), ensure_ascii=False)


def rows_text(rows):
    """Rows of a data set of a page, as a table."""
    rows = [dict(_leaves(row)) for row in rows]
    names = dict.fromkeys(name for row in rows for name in row)
    if not names:
        return f"{len(rows)} rows"
    columns = {name: [_cell(row.get(name)) for row in rows] for name in names}
    return table_text(pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String)))


def _leaves(value, path=""):
    """What a row holds at any depth, by its path."""
    if not isinstance(value, dict | list):
        yield path, value
        return
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _leaves(each, f"{path}.{key}" if path else str(key))


def sampled(text):
    """Shorten long tables and lists of a text, whose lines begin with a bar or a dash."""
    lines = []
    for start, block in groupby(text.splitlines(), lambda line: line[:2]):
        rows = list(block)
        if start in {"| ", "- "} and len(rows) > 2 * SAMPLE:
            left = [rows[place] for place in _spread(len(rows))]
            rows = [*left, f"({len(rows)} rows #{digest(rows)})"]
        lines += rows
    return "\n".join(lines)


def page_text(page):
    """What a page says and what its scripts read: visible text, data sets, viewers.

    Its tables as CSV are the files of the report, and what charts draw are their data sets.
    """
    (found,) = re.findall(r'<script type="application/json" id="page-data">(.*?)</script>', page)
    data = json.loads(found)
    parts = ["== text", sampled(_Seen.of(page))]
    for name, rows in data.pop("datasets").items():
        parts += [f"== data set {name}", rows_text(rows)]
    seen = set()
    parts += [f"== chart {name}" for name in data.pop("charts")]
    data["tables"] = list(data.get("tables", ()))
    for name, value in data.items():
        parts.append(f"== {name}")
        if isinstance(value, dict) and "rows" in value:
            parts.append(rows_text(value.pop("rows")))
        parts.append(json_text(value, seen))
    return "\n".join(parts)


class _Seen(HTMLParser):
    """The text of a page, a line a block, with a digest of the values that its numbers are of."""

    def __init__(self):
        super().__init__()
        self._line = ""
        self._values = []
        self._lines = []
        self._unseen = 0

    @classmethod
    def of(cls, page):
        seen = cls()
        seen.feed(page)
        seen._end_line()
        return "\n".join(seen._lines)

    def handle_starttag(self, tag, attrs):
        self._unseen += tag in _UNSEEN
        if tag in _BLOCKS:
            self._end_line()
        if tag in {"td", "th"}:
            self._line += " | "
        if tag == "data":
            self._values.append(_number(dict(attrs)["value"] or ""))

    def handle_endtag(self, tag):
        self._unseen -= tag in _UNSEEN
        if tag in _BLOCKS:
            self._end_line()

    def handle_data(self, data):
        if not self._unseen:
            self._line += data

    def _end_line(self):
        line = " ".join(self._line.split())
        if line:
            self._lines.append(f"{line} #{digest(self._values)}" if self._values else line)
            self._line, self._values = "", []


def _number(text):
    try:
        return f"{rounded(float(text)):.6g}"
    except ValueError:
        return text


def figure_text(plot):
    """What a figure is drawn from: its words, and of each layer the mapping and what that maps."""
    parts = [json_text({name: told for name, told in sorted(vars(plot.labels).items()) if told})]
    if isinstance(plot.data, pl.DataFrame):
        parts.append(table_text(plot.data))
    for layer in plot.layers:
        named = {str(name): str(what) for name, what in sorted(layer.mapping.items())}
        fixed = {name: rounded(value) for name, value in sorted(layer.geom.aes_params.items())}
        parts.append(f"-- {type(layer.geom).__name__} {json_text(named)} {json_text(fixed)}")
        data = layer._data
        if hasattr(data, "columns"):
            drawn = {"curve", *re.findall(r"\w+", " ".join(named.values()))}
            # Of pandas as of polars, whose types would tell of pandas alone.
            columns = {
                str(name): [_cell(value) for value in data[name]]
                for name in data.columns
                if name in drawn
            }
            parts.append(table_text(pl.DataFrame(columns)))
    return "\n".join(parts)
