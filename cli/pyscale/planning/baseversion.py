"""The version of a suite's stages that `--against` measures beside them: the baseline."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue

from pyscale.analysis.grid.points import VERSION
from pyscale.errors import UserError
from pyscale.images.engine import find_engine
from pyscale.images.labels import PREFIX, labels_of
from pyscale.images.lockfile import LOCK_NAME
from pyscale.planning.suite import Suite, SuiteStage
from pyscale.planning.traits import shares_windows
from pyscale.tomlfile import read_toml
from pyscale_stages.contract import Record
from pyscale_stages.wording import did_you_mean

BASE = "_base"
"""What the name of an entry's base version ends with."""
OF_BASE = "@base"
"""The same of an image."""
WAYS = (
    "a folder with a Python environment (it has bin/python), a folder of images (it has "
    f"{LOCK_NAME}) or one .sif, or a .toml file with parameters under [stages.NAME]"
)


class Identity(Record):
    """What stages are made from in one environment or image."""

    python: str = Field(description="Version of Python")
    code_folder: Path = Field(description="Where tasks import pyscale_stages from")
    code_sha256: str = Field(description="Of all its Python files and their names")
    packages: dict[str, str] = Field(description="Versions of all installed distributions")


class BaseVersion(Record):
    """What a run measures its stages against."""

    kind: Literal["environment", "images", "parameters"]
    path: Path = Field(description="What --against named")
    params: dict[str, dict[str, JsonValue]] = Field(
        {}, description="Parameters that replace the run's, by entry or stage"
    )
    identities: dict[str, Identity] = Field(
        {},
        description="By `new` and `base` where tasks run natively, else by image",
    )

    @property
    def python(self) -> Path | None:
        """Interpreter of its tasks; None where that is the image's, or the run's own."""
        return self.path / "bin" / "python" if self.kind == "environment" else None

    def sif(self, image: str) -> Path:
        """File of an image by the name that a plan gives it."""
        if self.path.is_file():
            return self.path
        return self.path / f"{image.removesuffix(OF_BASE)}.sif"

    def __str__(self) -> str:
        """What it is, in words."""
        what = {
            "environment": "the Python environment",
            "images": "the image" if self.path.suffix == ".sif" else "the images of",
            "parameters": "the parameters of",
        }
        return f"{what[self.kind]} {self.path}"


class _Parameters(Record):
    """A file of parameters, in the shape that pyscale.toml gives them."""

    stages: dict[str, dict[str, JsonValue]] = Field(min_length=1)


def read_base(path: Path, runtime: str) -> BaseVersion:
    """Recognise what --against names."""
    given, path = path, path.expanduser().absolute()
    if path.suffix == ".toml" and not path.is_dir():
        found = read_toml("base", path, _Parameters)
        return BaseVersion(kind="parameters", path=path, params=found.stages)
    if (path / "bin" / "python").exists():
        if runtime != "native":
            raise UserError(
                f"--against {given} is a Python environment, but --runtime {runtime} runs stages "
                "in images: name a folder of images, or leave --runtime out"
            )
        return BaseVersion(kind="environment", path=path)
    if (path / LOCK_NAME).is_file() or (path.suffix == ".sif" and path.is_file()):
        if runtime == "native":
            raise UserError(
                f"--against {given} holds images, but --runtime native runs stages in this "
                "Python environment: add --runtime apptainer"
            )
        return BaseVersion(kind="images", path=path)
    why = "is not a version to measure against" if path.exists() else "does not exist"
    raise UserError(f"--against {given} {why}: give {WAYS}")


def with_base(suite: Suite, base: BaseVersion) -> Suite:
    """Add the base version of each stage whose N workers share a movie, right after it.

    Both read what the new version of the stage before left. Of parameters only the entries that
    they name have a base version.
    """
    own = suite.entries_that(shares_windows)
    if not own:
        raise UserError(
            "--against compares stages whose N workers share a movie, and the suite "
            f"{suite.name} has none: leave it out, or measure each version by its own run"
        )
    if base.kind == "parameters":
        _refuse_axes(suite, base, own)
        names = {name for entry in own for name in _names(suite, entry)}
        for name in base.params:
            if name not in names:
                raise UserError(
                    f"{base.path} sets parameters of [stages.{name}], which the suite "
                    f"{suite.name} does not measure; {did_you_mean(name, names)}"
                )
        own = frozenset(entry for entry in own if {*_names(suite, entry)} & base.params.keys())
    stages: dict[str, SuiteStage] = {}
    for entry, step in suite.stages.items():
        if entry not in own:
            stages[entry] = step
            continue
        name = f"{entry}{BASE}"
        if name in suite.stages:
            raise UserError(
                f"the suite {suite.name} has an entry {name}, which is also the name of the "
                f"baseline of {entry}: rename one of the two"
            )
        # A point of a grid is one of the axis of versions too.
        new, older = (
            step.point | {VERSION: version} if step.point else {} for version in ("new", "base")
        )
        stages[entry] = step.model_copy(update={"point": new})
        stages[name] = step.model_copy(
            update={
                "point": older,
                "stage": suite.stage_name(entry),
                "family": step.family or entry,
                "version_of": entry,
                "beside": f"{step.beside}{BASE}" if step.beside else None,
            }
        )
    return suite.model_copy(update={"stages": stages})


def without_base(suite: Suite) -> Suite:
    """The suite to which `with_base` added entries."""
    stages = {
        entry: step.model_copy(
            update={"point": {axis: v for axis, v in step.point.items() if axis != VERSION}}
        )
        for entry, step in suite.stages.items()
        if step.version_of is None
    }
    return suite.model_copy(update={"stages": stages})


def refuse_in_vain(base: BaseVersion, stages: set[str]) -> None:
    """Refuse a base of no stage that is measured, or one image as that of several."""
    if not stages:
        raise UserError(
            f"--against {base.path} changes nothing that is measured: name another stage by --only"
        )
    if base.kind != "images" or not base.path.is_file():
        return
    stage = labels_of(base.path, find_engine()).get(f"{PREFIX}stage", "another program")
    others = sorted(stages - {stage})
    if others:
        raise UserError(
            f"--against {base.path} is an image of {stage}, but the run also measures "
            f"{' and '.join(others)}: add --only {stage}, or name a folder of images"
        )


def _refuse_axes(suite: Suite, base: BaseVersion, entries: Collection[str]) -> None:
    """Raise where a parameter of the base is an axis of a grid, whose points stay as they are."""
    for entry in entries:
        step = suite.stages[entry]
        given = {n for name in _names(suite, entry) for n in base.params.get(name, {})}
        for axis in sorted(given & step.point.keys()):
            raise UserError(
                f"{base.path} sets {axis} of {step.family}, an axis of its grid in this run: "
                "choose one value of it by --grid, or remove it from the file"
            )


def _names(suite: Suite, entry: str) -> tuple[str, ...]:
    """Names by which settings may mean an entry, the most general first."""
    return (suite.stage_name(entry), suite.stages[entry].family or entry, entry)
