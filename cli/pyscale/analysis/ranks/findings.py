"""Everything that ranks told which work together."""

from __future__ import annotations

import polars as pl

from pyscale.analysis.findings import PointFindings
from pyscale.analysis.ranks.loader import loader_findings
from pyscale.analysis.ranks.reconstruct import reconstruct_findings


def rank_findings(
    loading: pl.DataFrame, reconstruction: pl.DataFrame, *, keep: float, count_retried: bool = False
) -> tuple[PointFindings, ...]:
    """Find what each kind of such work tells, of stored tables as the functions here take them."""
    found = (
        reconstruct_findings(reconstruction, count_retried=count_retried),
        loader_findings(loading, keep=keep, count_retried=count_retried),
    )
    return tuple(one for one in found if one is not None)
