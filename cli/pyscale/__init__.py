"""pyscale measures how a bioimage pipeline scales, and says what holds it back."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyscale.api import Advice, Run, UserError, advise, load, report, run, throughput

__all__ = ["Advice", "Run", "UserError", "advise", "load", "report", "run", "throughput"]

DISTRIBUTION = "pyscale-bench"
"""Name of the installed distribution; the package index knows another project as pyscale."""


def __getattr__(name: str) -> Any:
    """What `pyscale.api` has, once it is asked for: to import that takes a while."""
    if name not in __all__:
        raise AttributeError(f"module 'pyscale' has no attribute {name!r}")
    from pyscale import api

    # The package `pyscale.report` is there by now, and is called as the function is.
    return globals().get(name) or getattr(api, name)
