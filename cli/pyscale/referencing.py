"""The commands `pyscale reference …`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

reference_app = typer.Typer(
    help="References: what others measured, shown beside your own results.",
    no_args_is_help=True,
)


def _known_names(incomplete: str) -> list[str]:
    """Names that a shell offers."""
    from pyscale.references.files import reference_files

    return [name for name in reference_files(_own_folder()) if name.startswith(incomplete)]


JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@reference_app.command("list")
def list_references(json: JsonOption = False) -> None:
    """List every reference: what was measured, of which stages, when, and by whom."""
    from pyscale.console import talk
    from pyscale.references.files import all_references, reference_files
    from pyscale.references.view import show_all

    own = _own_folder()
    show_all(all_references(own, talk), reference_files(own), as_json=json)


@reference_app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", autocompletion=_known_names)],
    json: JsonOption = False,
) -> None:
    """Show one: its source, hardware, date, caveats and numbers."""
    from pyscale.references.files import load_reference
    from pyscale.references.view import show_one

    show_one(load_reference(name, _own_folder()), as_json=json)


@reference_app.command()
def add(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run id or folder.")],
    name: Annotated[
        str | None, typer.Option(help="What to call it; the run's id where none is given.")
    ] = None,
) -> None:
    """Make a reference of a run, without names of people and hosts and without paths.

    Prints the file to look through, and to complete, before giving it to others.
    """
    from pyscale.console import talk
    from pyscale.references.adding import refuse_name, write_reference
    from pyscale.references.fromrun import reference_from
    from pyscale.settings import load_settings
    from pyscale.store.folder import find_run

    settings = load_settings()
    found = find_run(settings.runs_folder, run)
    chosen = found.plan.run_id.lower() if name is None else name
    refuse_name(chosen, settings.references_folder)
    made = reference_from(found, chosen)
    typer.echo(write_reference(made, settings.references_folder))
    alike = "work" if made.reference.same_work_only else "stages"
    talk(
        f"see it by `pyscale reference show {chosen}`; reports of other runs of the same {alike} "
        "now show it"
    )


def _own_folder() -> Path:
    from pyscale.settings import load_settings

    return load_settings().references_folder
