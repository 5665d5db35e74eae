"""Fetches the Java archives of an image, so that neither its build nor its runs need Maven."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from pyscale.errors import UserError
from pyscale.images.catalog import ImageDefinition
from pyscale.images.partlocks import JARS_RECORD, check_jars, jars_text
from pyscale_stages.atomic import write_atomically
from pyscale_stages.errors import MissingPart
from pyscale_stages.libraries import how_to_install

RECORD_NAME = "maven.txt"
"""Lists the coordinates beside the jars that they came to."""


def fetch_jars(definition: ImageDefinition, folder: Path, listener: Callable[[str], None]) -> None:
    """Bring the jars of an image's Maven coordinates, and all they need, into `folder/NAME/jars`.

    A folder that was put there by hand is taken as it is, if it holds each coordinate's own jar.
    """
    jars = folder / definition.name / "jars"
    lacking = lacking_coordinates(definition.maven, jars)
    if not lacking:
        check_jars(definition, jars)
        return
    if jars.is_dir() and any(jars.rglob("*.jar")):
        raise UserError(
            f"{jars} lacks the jars of {', '.join(lacking)}: put them there with their "
            "dependencies, or remove the folder to fetch them again"
        )
    listener(f"asking Maven for {', '.join(definition.maven)}")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{definition.name}-", dir=folder) as scratch:
        fetched = Path(scratch) / "jars"
        _resolve(definition, jars, Path(scratch), fetched)
        write_atomically(fetched / RECORD_NAME, "".join(f"{c}\n" for c in definition.maven))
        write_atomically(fetched / JARS_RECORD, jars_text(fetched))
        check_jars(definition, fetched)
        shutil.rmtree(jars, ignore_errors=True)
        jars.parent.mkdir(exist_ok=True)
        fetched.rename(jars)


def lacking_coordinates(coordinates: tuple[str, ...], jars: Path) -> list[str]:
    """Coordinates `GROUP:ARTIFACT:VERSION` whose own jar is not in a folder or below it."""
    present = {path.name for path in jars.rglob("*.jar")} if jars.is_dir() else set()
    return [
        coordinate
        for coordinate in coordinates
        if f"{coordinate.split(':')[1]}-{coordinate.split(':')[2]}.jar" not in present
    ]


def _resolve(definition: ImageDefinition, jars: Path, scratch: Path, fetched: Path) -> None:
    try:
        import jgo
    except ModuleNotFoundError as error:
        raise MissingPart(
            f"fetching the jars of {definition.name} needs jgo, which is not installed here: "
            f"{how_to_install('track_trackmate')}, or put the jars into {jars}"
        ) from error
    try:
        environment = jgo.build("+".join(definition.maven), cache_dir=scratch / "cache")
        fetched.mkdir()
        for jar in environment.classpath:
            shutil.copyfile(jar, fetched / Path(jar).name)
    # The resolver has errors of several libraries, and no common one.
    except Exception as error:
        raise UserError(
            f"the jars of {definition.name} ({', '.join(definition.maven)}) could not be fetched "
            f"from Maven ({type(error).__name__}): connect to the network, or put them with "
            f"their dependencies into {jars}"
        ) from error
