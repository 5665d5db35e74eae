"""Where a user's own factory lies, so that an image, which has no PYTHONPATH, finds it too."""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from pyscale_stages.contract import Surroundings
from pyscale_stages.loader.params import LoaderParams

FOLDER_VARIABLE = "PYSCALE_FACTORY_FOLDER"
"""Names the folder that the module of a factory lies in."""


def folder_of_factory(params: LoaderParams) -> Surroundings:
    """Name the folder of PYTHONPATH that holds a user's own factory; shipped ones need none.

    A module that none of them holds is looked for where the task runs, which says what is absent.
    """
    module, colon, _ = params.factory.partition(":")
    if not colon:
        return Surroundings()
    top = module.partition(".")[0]
    for folder in filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        if PathFinder.find_spec(top, [folder]) is not None:
            path = Path(folder).absolute()
            return Surroundings(files=(path,), variables={FOLDER_VARIABLE: str(path)})
    return Surroundings()


def look_in_folder() -> None:
    """Let the module of a factory be imported from the folder that was named for it."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder and folder not in sys.path:
        sys.path.append(folder)
