"""Names of reconstructions, their components and their flags."""

from __future__ import annotations

from collections.abc import Iterable

from pyscale.report.ofranks import Row

PROBLEMS = {
    "colour_deblur": "colour deblurring",
    "tomography_2d": "tomography in 2D",
    "tomography_3d": "tomography in 3D",
}
TOTAL, OBJECTIVE = "total", "objective"
NAMES = {
    TOTAL: "iteration",
    "gradient": "gradient",
    "denoiser": "denoiser",
    "communication": "exchange of the gradient",
    "gather": "gathering of tiles",
    "barrier": "waiting for other ranks",
    OBJECTIVE: "objective",
}
"""Every component as sentences, tables, legends and the tips of charts call it."""
COMPUTED = ("gradient", "denoiser")
"""Components that one rank has too; all others begin with the second rank."""
MILLI = 1e-3


def names_of(points: Iterable[Row]) -> dict[str, str]:
    """Name every entry by its problem and the length of its image."""
    found = {row["stage"]: _name(row) for row in points}
    told = list(found.values())
    return {
        stage: name if told.count(name) == 1 else f"{name} ({stage})"
        for stage, name in found.items()
    }


def problem(name: str | None) -> str:
    """Name a problem in words."""
    return PROBLEMS.get(name or "", name or "reconstruction")


def titled(text: str) -> str:
    """Begin with a capital, and leave the rest as it is."""
    return f"{text[:1].upper()}{text[1:]}"


def _name(row: Row) -> str:
    size = "" if row["size_px"] is None else f", {row['size_px']} px"
    return f"{titled(problem(row['problem']))}{size}"
