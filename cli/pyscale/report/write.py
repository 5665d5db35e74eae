"""All files of a report, each by its own exporter."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pyscale.analysis.drift import Drift
from pyscale.analysis.fits import CurveFits
from pyscale.errors import UserError
from pyscale.report.context import ReportContext
from pyscale.report.csv import write_csv
from pyscale.report.figures import write_figures
from pyscale.report.markdown import write_markdown

if TYPE_CHECKING:
    import polars as pl

FULL = {errno.ENOSPC, errno.EDQUOT}


def write_report(
    folder: Path,
    configurations: pl.DataFrame,
    trials: pl.DataFrame,
    losses: pl.DataFrame,
    context: ReportContext,
    *,
    fits: Sequence[CurveFits] = (),
    drifts: Sequence[Drift] = (),
) -> list[Path]:
    """Write tables, figures and text; each file appears whole or not at all.

    Parameters
    ----------
    folder : Path
        Made if absent; files of an earlier report are replaced.
    configurations, trials, losses : polars.DataFrame
        From `pyscale.analysis`: `configurations`, `trial_table` or `trials_from_wall_times`,
        and `loss_table`.
    context : ReportContext
        Where the numbers come from.
    fits : sequence of CurveFits
        From `curve_fits`; a curve without is told without laws.
    drifts : sequence of Drift
        From `pyscale.analysis.drift`.

    Returns
    -------
    list of Path
        What was written. Figures are absent where no trial was timed.

    Raises
    ------
    UserError
        If the folder cannot be made or written into; of a full disk the OSError tells.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [
            write_csv(folder, configurations),
            *write_figures(folder, configurations, trials),
            write_markdown(folder, configurations, losses, context, fits=fits, drifts=drifts),
        ]
    except OSError as error:
        if error.errno in FULL:
            raise
        raise UserError(
            f"the report cannot be written into {folder} ({error.strerror or error}): "
            "name another folder by --out"
        ) from error
