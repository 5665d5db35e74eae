"""All files of a report, each by its own exporter."""

from __future__ import annotations

import errno
from pathlib import Path

from pyscale.errors import UserError
from pyscale.report.csv import write_csv
from pyscale.report.figures import write_figures
from pyscale.report.markdown import write_markdown
from pyscale.report.results import Results

FULL = {errno.ENOSPC, errno.EDQUOT}


def write_report(folder: Path, results: Results) -> list[Path]:
    """Write tables, figures and text; each file appears whole or not at all.

    Parameters
    ----------
    folder : Path
        Made if absent; files of an earlier report are replaced.
    results : Results

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
            *write_csv(folder, results),
            *write_figures(folder, results.configurations, results.trials),
            write_markdown(folder, results),
        ]
    except OSError as error:
        if error.errno in FULL:
            raise
        raise UserError(
            f"the report cannot be written into {folder} ({error.strerror or error}): "
            "name another folder by --out"
        ) from error
