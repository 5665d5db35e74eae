"""The commands `pyscale reference …`."""

from __future__ import annotations

from pathlib import Path

import typer

from pyscale.commandhelp import JSON, argument, group, helped, option

reference_app = group("List, show and add results of others.", "pyscale reference list")


def _known_names(incomplete: str) -> list[str]:
    """Names that a shell offers."""
    from pyscale.references.files import reference_files

    return [name for name in reference_files(_own_folder()) if name.startswith(incomplete)]


@reference_app.command("list", **helped("pyscale reference list"))
def list_references(json: bool = JSON) -> None:
    """List every reference, its stages, date and author."""
    from pyscale.references.files import all_references, reference_files
    from pyscale.references.view import show_all

    own = _own_folder()
    show_all(all_references(own), reference_files(own), as_json=json)


@reference_app.command(**helped("pyscale reference show NAME"))
def show(
    name: str = argument("NAME", default=..., autocompletion=_known_names),
    json: bool = JSON,
) -> None:
    """Show source, hardware and numbers of one."""
    from pyscale.references.files import load_reference
    from pyscale.references.view import show_one

    show_one(load_reference(name, _own_folder()), as_json=json)


@reference_app.command(**helped("pyscale reference add latest --name my-lab"))
def add(
    run: str = argument("RUN", "Id, unique start or end of one, or folder.", default=...),
    name: str | None = option("NAME", "Name for it.", show_default="the run's id"),
) -> None:
    """Make a reference of a run.

    It holds no names of people and hosts, and no paths.

    Prints the file to look through, and to complete, before giving it to others.
    """
    from pyscale.console import talk
    from pyscale.references.files import refuse_name, write_reference
    from pyscale.references.fromrun import reference_from
    from pyscale.settings import load_settings
    from pyscale.store.folder import find_run

    settings = load_settings()
    found = find_run(settings.runs_folder, run)
    chosen = found.plan.run_id.lower() if name is None else name
    refuse_name(chosen, settings.references_folder)
    made = reference_from(found, chosen)
    typer.echo(write_reference(made, settings.references_folder))
    talk(
        f"show it by `pyscale reference show {chosen}`; reports of other runs of the same work now "
        f"include it, and any report with --reference {chosen}"
    )


def _own_folder() -> Path:
    from pyscale.settings import load_settings

    return load_settings().references_folder
