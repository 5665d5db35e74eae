"""Names of the tests of the machine, and their rates in the unit that fits."""

from __future__ import annotations

from typing import Any

from pyscale.report.wording import number

Row = dict[str, Any]

MODES = {"cold": "cold", "warm": "warm", "direct": "past the page cache"}
"""How a test reads files, by the end of its name."""
STATES = {
    "verified-cold": "cold, verified",
    "evicted-unverified": "evicted, unverified",
    "warm": "warm",
    "direct": "past it (O_DIRECT)",
    "unsupported": "cannot be controlled",
}
"""States of the page cache, by their names in the record."""
FORMATS = {"tiff": "TIFF", "mrc": "MRC", "eer": "EER"}
CODECS = {
    "mrc": "MRC, nothing to decode",
    "tiff_none": "TIFF, nothing to decode",
    "tiff_lzw": "TIFF, LZW",
    "tiff_zlib": "TIFF, zlib",
    "tiff_zstd": "TIFF, zstd",
    "tiff_jpeg2000": "TIFF, JPEG 2000",
    "eer": "EER",
}
"""Of the stage `decompress`, by the name of the test."""
UNCODED = {"mrc", "tiff_none"}
"""Those that hold pixels as they are: the control."""
NOT_APPLICABLE = "not applicable"
MEGA, GIGA = 1e6, 1e9
_SCALES = {
    "B": ((GIGA, "GB/s"), (MEGA, "MB/s"), (1e3, "kB/s")),
    "flop": ((1e12, "TFLOP/s"), (GIGA, "GFLOP/s"), (MEGA, "MFLOP/s")),
}
_PLURALS = {"launch": "launches"}


def rate_parts(rate: float | None, unit: str | None) -> tuple[float, str]:
    """Return the divisor of a rate, and its unit after that: the largest it fills."""
    scales = _SCALES.get(unit or "")
    if scales is None:
        name = _PLURALS.get(unit or "", f"{unit}s")
        return 1.0, f"{name}/s"
    return next((one for one in scales if (rate or 0.0) >= one[0]), scales[-1])


def rate(row: Row) -> str:
    """Write the rate of a row with its unit, and its interval where there is one."""
    if row["rate"] is None:
        return ""
    scale, unit = rate_parts(row["rate"], row["unit"])
    return f"{number(row['rate'] / scale)} {unit}{_interval(row, scale)}"


def megabytes(bytes_per_s: float) -> str:
    """Write a bandwidth in MB/s, as those of storage are compared."""
    return f"{number(bytes_per_s / MEGA)} MB/s"


def _interval(row: Row, scale: float) -> str:
    if row["rate_low"] is None:
        return ""
    low, high = (number(row[f"rate_{end}"] / scale) for end in ("low", "high"))
    return f" [{low}, {high}]"


def mode_of(test: str) -> str | None:
    """Mode in which a test of the storage reads: cold, warm or direct; None without one."""
    mode = test.rpartition("_")[2]
    return mode if mode in MODES else None


def what_was_read(test: str) -> str:
    """Name the files that a test of the storage reads or writes, and in which order."""
    name = test if mode_of(test) is None else test.rpartition("_")[0]
    if name.startswith("movie_read_"):
        kind = name.removeprefix("movie_read_")
        return f"Movies, {FORMATS.get(kind, kind)}"
    return {
        "particle_sequential_read": "Particles, in order",
        "particle_random_read": "Particles, at random",
        "cache_sequential_read": "Particles in the cache folder, in order",
        "cache_random_read": "Particles in the cache folder, at random",
        "parallel_read": "Particles, by readers at once",
        "particle_write": "Particles, written",
        "particle_cache_copy": "Particles, copied to the cache folder",
    }.get(name, name.replace("_", " "))


def doubts(row: Row) -> list[str]:
    """Reason for a missing time, or the flags of a row."""
    if row["why_not"]:
        return [row["why_not"]]
    return list(row["flags"] or [])


def cannot(reason: str) -> str:
    """Cell for a missing number, whose reason stands beside it."""
    return NOT_APPLICABLE if reason.startswith(NOT_APPLICABLE) else "cannot run"
