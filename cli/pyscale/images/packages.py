"""Code of stages that other packages have, for their images."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from pyscale.errors import UserError
from pyscale_stages.registry import others_stages


def folder_of_another(stage: str) -> Path:
    """Folder of the package that has a stage."""
    package = others_stages()[stage].module.partition(".")[0]
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(
            f"the stage {stage} is in the module {package}, but an image holds a package: put it "
            "into a folder with an __init__.py"
        )
    return Path(next(iter(spec.submodule_search_locations)))


def files_of_another(stage: str) -> dict[str, Path]:
    """Files of the package that has a stage, by their path inside its image."""
    folder = folder_of_another(stage)
    found = {
        path.relative_to(folder.parent).as_posix(): path
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    # By its metadata the stage is found, as it is here.
    distribution = others_stages()[stage].dist
    for file in (distribution.files if distribution else None) or ():
        if file.name in {"METADATA", "entry_points.txt"}:
            found[f"{file.parent.name}/{file.name}"] = Path(str(file.locate()))
    return found
