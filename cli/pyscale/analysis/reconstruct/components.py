"""What an iteration is taken apart into, by the names that all tables have."""

from __future__ import annotations

from pyscale_stages.reconstruction import COMPONENTS

TOTAL = "total"
"""A whole iteration: its wall time."""
OBJECTIVE = "objective"
"""The value of the objective, which is timed after all iterations and is no part of them."""
EVERY = (TOTAL, *COMPONENTS, OBJECTIVE)

BETWEEN_RANKS = ("communication", "gather", "barrier")
"""What one rank alone does not do, so that nothing can be so many times faster than there."""


def column(component: str) -> str:
    """Give what its columns begin with: the time of the whole is `wall_s`."""
    return "wall" if component == TOTAL else component
