"""All files of a report, each by its own exporter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyscale.errors import refused_by_disk
from pyscale.report.csv import write_csv
from pyscale.report.markdown import write_markdown
from pyscale.report.methods import write_methods
from pyscale.report.results import Results
from pyscale_stages.atomic import write_atomically

PAGE_NAME = "report.html"
VALIDATION_NAME = "validation.json"


def write_report(folder: Path, results: Results) -> list[Path]:
    """Write tables, figures, text and page; each file appears whole or not at all."""
    # What draws charts takes half a second to import, which other commands need not wait for.
    from pyscale.report.page.write import write_page

    with writing_into(folder):
        return [
            *write_csv(folder, results),
            *write_figures(folder, results),
            write_markdown(folder, results),
            *write_methods(folder, results),
            write_page(folder, results),
            *write_validation(folder, results),
        ]


def write_figures(folder: Path, results: Results) -> list[Path]:
    """Write the figures for print; what draws them takes long to import."""
    from pyscale.report.figures import write_figures as write

    return write(folder, results)


def write_validation(folder: Path, results: Results) -> list[Path]:
    """Write all verdicts of a validation; without any, remove an earlier file."""
    path = folder / VALIDATION_NAME
    if results.validation is None:
        path.unlink(missing_ok=True)
        return []
    write_atomically(path, results.validation.model_dump_json(indent=1) + "\n")
    return [path]


@contextmanager
def writing_into(folder: Path) -> Iterator[None]:
    """Make a folder for files of a report, and say in a sentence where that is not possible."""
    refusal = f"the report cannot be written into {folder} ({{why}}): name another folder by --out"
    with refused_by_disk(refusal):
        folder.mkdir(parents=True, exist_ok=True)
        yield
