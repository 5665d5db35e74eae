"""What a step of the user's own needs: its program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyscale_stages.command.environment import found_program, versions_of
from pyscale_stages.command.params import SCRIPTS, CommandParams, fields_of
from pyscale_stages.declaration import Needs
from pyscale_stages.errors import BadInput

if TYPE_CHECKING:
    from pyscale_stages.trying import Trying


def look(params: CommandParams, _device: str, here: bool) -> None:
    """Find the program and its version."""
    _refuse_absent_script(params, here=here)
    if not here:
        return
    found_program(params)
    versions_of(params)


def _refuse_absent_script(params: CommandParams, *, here: bool) -> None:
    """Raise where the script that an interpreter is to run is not there."""
    words = [word for text in params.command for word in text.split()]
    # What follows an option may be its value; code by -c, and modules by -m, are no files.
    named = next(iter(words[1:]), "")
    if Path(named).suffix not in SCRIPTS or fields_of(named):
        return
    # A path of its own may be one of the image, or of the nodes.
    if Path(named).is_absolute() and (params.image is not None or not here):
        return
    if not (params.folder / named).is_file():
        raise BadInput(
            f"the command runs {named}, which is not a file in {params.folder.absolute()}: correct "
            "its name, or write its path"
        )


def try_out(trying: Trying) -> None:
    """Find the program."""
    trying.step("find the program")
    where = found_program(trying.params)
    trying.ok("works", f"the program of the step is there: {where}")


NEEDS = Needs(look=look, try_out=try_out)
