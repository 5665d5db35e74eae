"""A reference of results that nobody measured, made up."""

from pyscale.analysis.referencemodel import Reference


def reference(**changes):
    """One of wall times over N that names no stage, with any of its fields replaced."""
    fields = {
        "name": "other",
        "title": "A machine elsewhere",
        "source": "Made up",
        "figures": "wall times",
        "hardware": {"processor": "another"},
        "caveats": ("None of it was measured.",),
        "sweep": "workers",
        "stages": {},
    }
    return Reference(**(fields | changes))
