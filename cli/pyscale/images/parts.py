"""All that a build lays into an image: wheels, lock, Debian packages and jars, all fetched."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyscale.errors import UserError
from pyscale.images.buildlog import BuildEvent, Listener
from pyscale.images.catalog import ImageDefinition, catalog
from pyscale.images.engine import Engine, find_engine
from pyscale.images.layerbuild import Workshop
from pyscale.images.listing import is_current
from pyscale.images.lockfile import ImageFolder
from pyscale.images.partlocks import JARS_RECORD, check_jars, jars_text
from pyscale.images.wheels import fetch_wheels
from pyscale_stages.atomic import write_atomically
from pyscale_stages.binds import ISOLATED
from pyscale_stages.errors import MissingPart
from pyscale_stages.hashing import sha256_of
from pyscale_stages.libraries import how_to_install


def fetch_parts(
    definition: ImageDefinition,
    base: Path,
    engine: Engine,
    folder: Path,
    listener: Callable[[str], None],
) -> Path:
    """Bring the parts of an image into `folder/NAME`; what is there already is kept.

    Returns: folder with `lock.txt`, `wheels/` and, where the image has such, `debian/` and `jars/`.
    """
    fetch_wheels(definition, folder, listener)
    if definition.maven:
        fetch_jars(definition, folder, listener)
    if definition.debian:
        fetch_debian(definition, base, engine, folder, listener)
    parts = folder / definition.name
    lock, copy = definition.lock_file.read_text("utf-8"), parts / "lock.txt"
    # A folder that is complete may be one that only others can write.
    if not copy.is_file() or copy.read_text("utf-8") != lock:
        parts.mkdir(parents=True, exist_ok=True)
        write_atomically(copy, lock)
    return parts


DEBIAN_RECORD = "fetched.txt"
"""Says beside the packages what they were fetched for, and the hash of each."""

_FETCH = """
set -eu
apt='apt-get -qq -o Dir::State::Lists=/fetched/lists -o Dir::Cache=/fetched/cache
    -o APT::Sandbox::User=root -o Debug::NoLocking=1'
mkdir -p /fetched/lists/partial /fetched/cache/archives/partial
$apt update
$apt install --download-only --yes --no-install-recommends "$@"
"""


def fetch_debian(
    definition: ImageDefinition,
    base: Path,
    engine: Engine,
    folder: Path,
    listener: Callable[[str], None],
) -> None:
    """Bring an image's Debian packages, and what they need, into `folder/NAME/debian`.

    The base's own apt chooses and checks them, so that they fit what it has already. Packages
    that were fetched for the same base are kept and need no network.
    """
    packages = folder / definition.name / "debian"
    of_base = engine.ask("--containall", str(base), "dpkg-query", "--show")
    if of_base.returncode != 0:
        raise UserError(
            f"{base} is not a Debian system that images can use "
            f"({of_base.stderr.strip()[-200:]}): name a base that pyscale built, or none"
        )
    of_base_sha256 = hashlib.sha256(of_base.stdout.encode()).hexdigest()
    heading = f"{of_base_sha256} {' '.join(definition.debian)}"
    record = packages / DEBIAN_RECORD
    if record.is_file() and record.read_text("utf-8") == _record(packages, heading):
        return
    listener(f"fetching Debian packages: {', '.join(definition.debian)}")
    with _arriving(packages) as (scratch, fetched):
        shell = ("sh", "-c", _FETCH, "sh", *definition.debian)
        answer = engine.ask(*ISOLATED, "--bind", f"{scratch}:/fetched", str(base), *shell)
        if answer.returncode != 0:
            lines = [line for line in answer.stderr.splitlines() if line.startswith(("E:", "W:"))]
            reason = lines[0] if lines else answer.stderr.strip()[-300:]
            raise UserError(
                f"the Debian packages of {definition.name} cannot be fetched ({reason}): connect "
                "to the network, or name a folder that was filled on the same base by --wheels"
            )
        for package in sorted(scratch.glob("cache/archives/*.deb")):
            package.rename(fetched / package.name)
        (fetched / DEBIAN_RECORD).write_text(_record(fetched, heading), encoding="utf-8")


@contextmanager
def _arriving(final: Path) -> Iterator[tuple[Path, Path]]:
    """A scratch folder on the disk of `final`, and an empty one in it that takes its place."""
    folder = final.parents[1]
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{final.parent.name}-", dir=folder) as scratch:
        fetched = Path(scratch) / "arrived"
        fetched.mkdir()
        yield Path(scratch), fetched
        shutil.rmtree(final, ignore_errors=True)
        final.parent.mkdir(exist_ok=True)
        fetched.rename(final)


def _record(packages: Path, heading: str) -> str:
    files = sorted(packages.glob("*.deb"))
    return "".join([f"{heading}\n", *(f"{sha256_of(file)} {file.name}\n" for file in files)])


MAVEN_RECORD = "maven.txt"
"""Lists the coordinates beside the jars that they came to."""


def fetch_jars(definition: ImageDefinition, folder: Path, listener: Callable[[str], None]) -> None:
    """Bring the jars of an image's Maven coordinates, and all they need, into `folder/NAME/jars`.

    A folder that was put there by hand is taken as it is, if it holds each coordinate's own jar.
    """
    jars = folder / definition.name / "jars"
    present = {path.name for path in jars.rglob("*.jar")} if jars.is_dir() else set()
    by_file = {"-".join(one.split(":")[1:3]) + ".jar": one for one in definition.maven}
    lacking = [coordinate for file, coordinate in by_file.items() if file not in present]
    if not lacking:
        check_jars(definition, jars)
        return
    if present:
        raise UserError(
            f"{jars} lacks the jars of {', '.join(lacking)}: put them there with their "
            "dependencies, or remove the folder to fetch them again"
        )
    listener(f"asking Maven for {', '.join(definition.maven)}")
    with _arriving(jars) as (scratch, fetched):
        _resolve(definition, jars, scratch, fetched)
        write_atomically(fetched / MAVEN_RECORD, "".join(f"{c}\n" for c in definition.maven))
        write_atomically(fetched / JARS_RECORD, jars_text(fetched))
        check_jars(definition, fetched)


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
        for jar in environment.classpath:
            shutil.copyfile(jar, fetched / Path(jar).name)
    # The resolver has errors of several libraries, and no common one.
    except Exception as error:
        raise UserError(
            f"the jars of {definition.name} ({', '.join(definition.maven)}) could not be fetched "
            f"from Maven ({type(error).__name__}): connect to the network, or put them with "
            f"their dependencies into {jars}"
        ) from error


def buildable(
    folder: ImageFolder, wheels: Path | None, listener: Listener, *, force: bool
) -> tuple[list[ImageDefinition], dict[str, str]]:
    """Images for CPUs whose parts are within reach, and a sentence for each that is left out.

    Few clusters reach a Maven repository, while every build needs a package index: only what
    lacks the first is left out, and what lacks the second fails.
    """
    chosen, left_out = [], {}
    for definition in catalog().values():
        why = None
        if definition.device != "cpu":
            why = f"it is for {definition.device}: name it to build it"
        elif definition.maven and (force or not is_current(folder, definition)):
            parts = wheels or Workshop(folder.path, find_engine()).parts

            def hear(line: str, image: str = definition.name) -> None:
                listener(BuildEvent(image, "libraries", "said", line))

            try:
                fetch_jars(definition, parts, hear)
            except (UserError, MissingPart) as error:
                why = str(error)
        if why is None:
            chosen.append(definition)
        else:
            left_out[definition.name] = why
    return chosen, left_out
