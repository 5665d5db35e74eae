"""Lets each rank hear at the next meeting that another has failed, instead of waiting for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyscale_stages.errors import as_stage_error
from pyscale_stages.ranks.group import Group


@contextmanager
def hearing(group: Group) -> Iterator[None]:
    """Meet the other ranks at the end of the block, and end with any that has failed in it.

    Inside the block nothing may meet: a rank that failed would meet the others elsewhere.

    Raises
    ------
    StageError
        If another rank failed; what failed here is raised as it is.
    """
    try:
        yield
    except Exception as error:
        known = as_stage_error(error)
        group.agree(str(known) if known else f"{type(error).__name__} ({error})")
        raise
    group.agree(None)
