"""What a step of the user's own needs: its program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale_stages.command.environment import container_program, found_program, versions_of
from pyscale_stages.command.params import CommandParams
from pyscale_stages.needs import Needs

if TYPE_CHECKING:
    from pyscale_stages.trying import Trying


def look(params: CommandParams, _device: str, here: bool) -> None:
    """Find the program and its version; of an image that will be pulled, what runs it."""
    if not here:
        return
    image = params.image
    if params.pulled_from is not None and image is not None and not image.exists():
        container_program(image)
        return
    found_program(params)
    versions_of(params)


def try_out(trying: Trying) -> None:
    """Find the program."""
    trying.step("find the program")
    where = found_program(trying.params)
    trying.ok("works", f"the program of the step is there: {where}", where)


NEEDS = Needs(look=look, try_out=try_out)
