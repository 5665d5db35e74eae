"""The dataset registry: what can be fetched or made, from where, and how it lies on disk."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import (
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from pyscale.errors import UserError, problems_told
from pyscale_stages.contract import Record
from pyscale_stages.slides.synthetic import PARAMS_FILE as SLIDES_FILE
from pyscale_stages.slides.synthetic import SlidesParams
from pyscale_stages.synth.drifted import DriftedParams
from pyscale_stages.synth.params import SynthParams
from pyscale_stages.wording import did_you_mean

REGISTRY_FILE = "datasets.toml"
NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]*$"

DatasetName = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Kind = Literal["movie", "labels", "images", "slide", "slides", "weights"]
MadeParams = SynthParams | DriftedParams | SlidesParams
"""What a movie or slides are made by."""


class RemoteFile(Record):
    """One file of a dataset as its source serves it."""

    name: str = Field(pattern=r"^[^/\\.][^/\\]*$", description="File name, without a folder")
    size_bytes: int | None = Field(
        None, gt=0, description="Size; only of an archive, or without a checksum, it may be unknown"
    )
    sha256: Sha256 | None = Field(
        None,
        description="Published checksum; None where there is none: that of the first fetch holds",
    )
    unpack: bool = Field(
        False, description="It is a zip archive, for a folder named like it without its suffix"
    )

    @model_validator(mode="after")
    def _plain_files_have_a_size(self) -> Self:
        if self.size_bytes is None and self.sha256 and not self.unpack:
            raise ValueError("a file that is not unpacked needs size_bytes")
        return self

    @property
    def local_name(self) -> str:
        """Name inside the dataset's folder: of the file, or of the folder unpacked from it."""
        return self.name.partition(".")[0] if self.unpack else self.name


class Dataset(Record):
    """One entry of the registry."""

    title: str = Field(description="What it shows, in a few words")
    kind: Kind = Field(
        description="A movie, labels of a movie, images, one slide or several, or weights"
    )
    base_url: str | None = Field(
        None, pattern=r"^https?://.*/$", description="Address that file names are added to"
    )
    files: tuple[RemoteFile, ...] = Field(
        (), description="Each file as [name, size_bytes, sha256] or as a table"
    )
    synth: SynthParams | None = Field(
        None, description="What it is made by, where it is not fetched but a synthetic movie"
    )
    drifted: DriftedParams | None = Field(
        None, description="What it is made by, where it is a movie of another dataset's image"
    )
    slides: SlidesParams | None = Field(
        None, description="What they are made by, where it is synthetic slides"
    )
    movie: str = Field(description="File or folder that a run reads; . is the dataset's folder")
    truth: str | None = Field(
        None, description="File or folder with the truth of the movie, in one of the known formats"
    )
    licence: str = Field(description="SPDX identifier, or the licence in words")
    licence_url: str = Field(pattern=r"^https?://", description="Where the licence is written")
    terms: str = Field("", description="What the licence asks of whoever uses the data")
    consent: bool = Field(False, description="Whether the terms ask for explicit consent")
    citation: str = Field(description="What to cite")
    doi: str | None = Field(None, description="DOI of the citation, without a prefix")
    axes: str = Field("", description="Axes of the movie as the stages read it, like TYX")

    @field_validator("files", mode="before")
    @classmethod
    def _name_the_columns(cls, value: object) -> object:
        """Give the short form of a file, an array, the names of its columns."""
        if not isinstance(value, list):
            return value
        columns = ("name", "size_bytes", "sha256")
        return [
            dict(zip(columns, file, strict=False))
            if isinstance(file, list) and len(file) <= len(columns)
            else file
            for file in value
        ]

    @model_validator(mode="after")
    def _can_be_fetched_or_made(self) -> Self:
        ways = (self.files, self.synth, self.drifted, self.slides)
        if sum(bool(way) for way in ways) != 1:
            raise ValueError("a dataset needs exactly one of files, synth, drifted and slides")
        if (self.synth or self.drifted) is not None and self.kind != "movie":
            raise ValueError('synth and drifted need the kind "movie"')
        if self.slides is not None and self.kind != "slides":
            raise ValueError('slides need the kind "slides"')
        if self.made is not None:
            return self
        local_names = [file.local_name for file in self.files]
        if len(set(local_names)) != len(local_names):
            raise ValueError("two files have the same name")
        if self.base_url is None:
            raise ValueError("files need a base_url")
        first, *_ = (*PurePosixPath(self.movie).parts, ".")
        if first not in {*local_names, "."} or ".." in self.movie:
            raise ValueError(f"movie {self.movie!r} is not one of the files")
        return self

    def address(self, file: RemoteFile) -> str:
        """Address of one of this dataset's files at its source."""
        return f"{self.base_url}{file.name}"

    @property
    def made(self) -> MadeParams | None:
        """What it is made by; None where it is fetched."""
        return self.synth or self.drifted or self.slides

    @property
    def origin_sha256(self) -> str:
        """Hash of all published checksums: another one, and other files are to be fetched."""
        words = "\n".join(f"{file.name} {file.sha256}" for file in self.files)
        return hashlib.sha256(words.encode()).hexdigest()

    @property
    def size_bytes(self) -> int | None:
        """Size of all downloads together; None where one is not known, or it is made here."""
        sizes = [file.size_bytes for file in self.files]
        if None in sizes or self.made is not None:
            return None
        return sum(size for size in sizes if size is not None)


class Registry(Record):
    """All datasets that are known by name."""

    datasets: dict[DatasetName, Dataset]

    @model_validator(mode="after")
    def _sources_are_fetched(self) -> Self:
        for name, dataset in self.datasets.items():
            source = self.datasets.get(dataset.drifted.source) if dataset.drifted else None
            if dataset.drifted is not None and (source is None or not source.files):
                raise ValueError(f"the source of {name} is not a dataset with files")
        return self

    def get(self, name: str) -> Dataset:
        """Entry of that name."""
        if name not in self.datasets:
            raise UserError(f"unknown dataset {name!r}: {did_you_mean(name, self.datasets)}")
        return self.datasets[name]


def load_registry(config_dir: Path) -> Registry:
    """Read `datasets.toml` of a configuration folder; a wrong key or value is named."""
    path = config_dir / REGISTRY_FILE
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"the dataset registry {path} cannot be read: {error}") from error
    with problems_told(Registry, f"{path} is wrong: "):
        return Registry.model_validate(entries)


SYNTH_FILE = "synth.json"
SYNTH_MOVIE = "movie.ome.tif"

MadeKind = Literal["movie", "slides"]
FILES: dict[MadeKind, str] = {"movie": SYNTH_FILE, "slides": SLIDES_FILE}
"""File in the folder of each kind that says by which parameters it was made."""
READS: dict[MadeKind, str] = {"movie": SYNTH_MOVIE, "slides": "."}
"""What a run reads of the folder of each kind; . is the folder itself."""


def made_kind(folder: Path) -> MadeKind | None:
    """Kind of what was made in a folder; None where nothing was."""
    for kind, file in FILES.items():
        if (folder / file).is_file():
            return kind
    return None


def made_by(folder: Path) -> MadeParams | None:
    """Parameters of what was made in a folder; None where nothing was, or by another version."""
    kind = made_kind(folder)
    if kind is None:
        return None
    params: TypeAdapter[MadeParams] = TypeAdapter(MadeParams)
    try:
        # Each kind of parameters is written with all its fields, and refuses those of others.
        return params.validate_json((folder / FILES[kind]).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
