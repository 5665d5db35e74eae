"""Looks whether the program of a step is there, before anything runs."""

from __future__ import annotations

import os
import shutil

from pyscale_stages.command.container import engine_for
from pyscale_stages.command.params import CommandParams
from pyscale_stages.command.placeholders import fields_of
from pyscale_stages.command.run import environment_of
from pyscale_stages.errors import MissingPart


def found_program(params: CommandParams) -> str:
    """Where the program of a step lies, or the image that should have it.

    Raises
    ------
    BadInput, MissingPart
        If there is no such program, environment, image or container program.
    """
    if params.image is not None:
        engine_for(params.image)
        return str(params.image)
    path = environment_of(params).get("PATH", os.defpath)
    program = "/bin/sh" if params.shell else params.command[0]
    if fields_of(program):
        return program
    here = params.folder / program if os.sep in program else None
    found = shutil.which(str(here) if here else program, path=path)
    if found is None and here is not None and here.is_file():
        raise MissingPart(f"{here} may not be run: make it executable (`chmod +x`)")
    if found is None:
        raise MissingPart(
            f"the program {program!r} of the step is not found on this machine: install it, write "
            "its path, or name the environment or the image that has it"
        )
    return found
