"""What a user says of a step of their own, its placeholders, and what is refused at once."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from string import Formatter
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, ValidationInfo, field_validator, model_validator

from pyscale_stages.contract import Device, Sharing, StageParams
from pyscale_stages.declaration import Method
from pyscale_stages.wording import did_you_mean

Value = str | Sequence[str]
"""What a name stands for: one word or several."""
PARAMS = "params."
"""What stands before the name of a parameter of the user's own."""


def fields_of(word: str) -> set[str]:
    """Names that a word holds in braces; doubled braces are braces."""
    try:
        parts = list(Formatter().parse(word))
    except ValueError as error:
        raise ValueError(
            f"{word!r} has a brace without a partner ({error}): write {{{{ for a brace itself"
        ) from error
    formatted = [field for _, field, spec, conversion in parts if spec or conversion]
    if formatted:
        raise ValueError(f"{word!r} formats {{{formatted[0]}}}: a placeholder is a name alone")
    return {field for _, field, _, _ in parts if field is not None}


def filled(words: Sequence[str], values: Mapping[str, Value], *, shell: bool) -> list[str]:
    """Put values into the place of names in the words of a command.

    A word stays one, whatever the values hold; only a list that is named alone is as many words.
    With `shell`, `sh` will split the only word: then values are quoted.
    """
    if shell:
        return ["/bin/sh", "-c", *(_filled(word, values, shlex.quote) for word in words)]
    found: list[str] = []
    for word in words:
        alone = values.get(word[1:-1]) if word[:1] + word[-1:] == "{}" else None
        found += [_filled(word, values, str)] if alone is None else _several(alone)
    return found


def _filled(word: str, values: Mapping[str, Value], written: Callable[[str], str]) -> str:
    parts = (
        (text, [] if field is None else _several(values[field]))
        for text, field, _, _ in Formatter().parse(word)
    )
    return "".join(text + " ".join(map(written, named)) for text, named in parts)


def _several(value: Value) -> Sequence[str]:
    return [value] if isinstance(value, str) else value


OF_ALL = (
    *("input", "input2", "input3", "output", "folder"),
    *("threads", "workers", "seed", "device"),
)
"""What a command may name of every task."""
OF_FRAMES = ("first", "stop", "frames")
"""What it may name of a window: its first frame and its end (excluded), and how many there are."""
OF_TILES = ("y0", "y1", "x0", "x1", "tile")
"""What it may name of a region: its rows and columns with the margin, and its number."""
OF_RANKS = ("rank", "ranks")
"""What it may name of processes that start at once: which it is, from 0, and their number."""
OF_FILES = ("files", "file", "name")
"""What it may name of its share of a folder: a list file, or one file at a time and its stem."""
OF_SPLITS = {
    **dict.fromkeys(OF_FRAMES, "frames"),
    **dict.fromkeys(OF_TILES, "tiles"),
    **dict.fromkeys(OF_RANKS, "ranks"),
    **dict.fromkeys(OF_FILES, "files"),
}
"""By what is named of a share: how the work must be shared."""
OF_MERGE = ("inputs", "output", "folder")
"""What a merge of the user's own may name; the first two it must."""
OF_CHECK = ("reference", "other", "folder")
"""What a check of the user's own may name; the first two it must."""
CHECKS = ("equal", "labels", "none")
IMAGES = (".tif", ".tiff")
MERGES = {
    **dict.fromkeys(IMAGES, "frames"),
    **dict.fromkeys((".csv", ".tsv", ".parquet"), "tables"),
    "": "folder",
}
"""How outputs are joined where nobody says it, by the ending of their name."""

SCRIPTS = {".py", ".R", ".jl", ".sh", ".pl", ".js", ".ijm", ".groovy", ".m", ".nf", ".smk"}
"""Endings of files that an interpreter runs, which tell more than the interpreter's name."""
SNAKEFILE = "Snakefile"
"""Name of one without an ending."""
TILE_PX = 512
JOINED = ("frames", "tables", "folder")


class CommandParams(StageParams):
    """A step of the user's own; what else is given are parameters that the command names."""

    # Parameters of the user's own program stand beside these.
    model_config = ConfigDict(extra="allow")

    shell: bool = Field(False, description="Whether `sh` runs the command, for pipes and the like")
    command: tuple[str, ...] = Field(
        min_length=1,
        description="What runs, with placeholders such as {input} and {output}; a text is split "
        "as a shell does, but no shell runs it",
    )
    folder: Path = Field(Path(), description="Folder that it runs in: the suite's, or the caller's")
    split: Literal["frames", "files", "tiles", "threads", "ranks", "none"] = Field(
        "frames",
        description="What workers share: the frames of a movie, files of a folder, or regions of "
        "an image; or they are the {threads} of one process, or ranks that start at once and meet; "
        "or nothing, and each does all of the work",
    )
    window: Literal["named", "whole", "file"] = Field(
        "named",
        description="Whether {input} is the whole movie, or a TIFF that pyscale cuts of the "
        "window's frames or the tile's region; named: a TIFF unless the command names the window "
        "or region by itself, as by {first} or {x0}",
    )
    tile_px: int = Field(TILE_PX, ge=16, description="Edge of a tile, where workers share these")
    margin_px: int = Field(
        0, ge=0, description="What a tile is read with around it, and which is cut off its output"
    )
    output: str = Field(
        "",
        pattern=r"^([A-Za-z0-9_][A-Za-z0-9_.-]*)?$",
        description="Name of what it writes; without an ending, a folder. By default output.tif, "
        "or the folder output where files are shared",
    )
    merge: str = Field(
        "",
        description="How outputs become one: frames, tables, folder, or a command of one's own "
        "with {inputs} and {output}; by the ending of the output where nothing is given",
    )
    offset: str | None = Field(
        None,
        description="Column of tables to which the window's first frame is added when they are "
        "joined",
    )
    check: str = Field(
        "equal",
        description="How outputs at other N are compared with the baseline's: equal (by pixels, "
        "rows or bytes), labels (by cells), none, or a command of one's own with {reference} and "
        "{other} that ends with 1 where they differ",
    )
    tolerance: float = Field(
        0.0, ge=0, description="Largest difference of pixels, or of numbers in tables, that is none"
    )
    environment: Path | None = Field(
        None, description="Prefix of the conda or virtual environment that it runs in"
    )
    modules: tuple[Annotated[str, Field(pattern=r"^[\w.+][\w.+/-]*$")], ...] = Field(
        (), description="Environment modules that are loaded for it, as `module load` names them"
    )
    image: Path | None = Field(None, description="Apptainer image that it runs in")
    packages: tuple[str, ...] = Field(
        (), description="Packages of its environment whose versions are recorded"
    )
    at_most_s: float | None = Field(
        None, gt=0, description="Seconds after which it is ended as hanging; None never ends it"
    )

    @field_validator("command", mode="before")
    @classmethod
    def _as_words(cls, given: Any, known: ValidationInfo) -> Any:
        if not isinstance(given, str):
            return given
        return (given,) if known.data.get("shell") else tuple(_words(given))

    @field_validator("image", mode="before")
    @classmethod
    def _is_a_file(cls, given: Any) -> Any:
        if "://" in str(given):
            raise ValueError(f"an image is a file: make one by `apptainer pull mine.sif {given}`")
        return given

    @model_validator(mode="after")
    def _can_be_filled(self) -> Self:
        named = {field for word in self.command for field in fields_of(word)}
        own = {f"{PARAMS}{name}" for name in self.own}
        of_share = {"files": OF_FILES, "tiles": OF_TILES}.get(self.split, OF_FRAMES)
        of_ranks = OF_RANKS if self.split == "ranks" else ()
        _refuse_unknown(named, {*OF_ALL, *of_share, *of_ranks, *own}, OF_SPLITS)
        for name in sorted(own - named):
            fields = {*type(self).model_fields, *(one.removeprefix(PARAMS) for one in named)}
            raise ValueError(
                f"{name.removeprefix(PARAMS)!r} is set, and the command names no {{{name}}}; "
                f"{did_you_mean(name.removeprefix(PARAMS), fields)}"
            )
        reads = {"files", "file"} if self.split == "files" else {"input"}
        if not named & {*reads, "input"}:
            raise ValueError(f"the command never names what it reads: use {_braced(reads)}")
        if "output" not in named:
            raise ValueError("the command never names where it writes: use {output}")
        if "files" in named and named & {"file", "name"}:
            raise ValueError("the command names {files} and {file}: it gets a list, or one file")
        if self.check == "labels" and Path(self.output_name).suffix.lower() not in IMAGES:
            raise ValueError(f'check = "labels" compares label images, and not {self.output_name}')
        if self.packages and self.image:
            raise ValueError("an image is known by its checksum: leave packages out")
        if self.modules and self.image:
            raise ValueError("modules are not seen in an image: leave modules or image out")
        if self.window == "file" and self.split == "files":
            raise ValueError('window = "file" cuts frames, and this step shares files')
        if self.split == "tiles":
            region = {*OF_TILES[:4]}
            if self.window != "file" and named & region and not region <= named:
                raise ValueError(
                    f"the command names a part of its region: use {_braced(region)}, or none of "
                    "them for a TIFF of the region"
                )
            if self.offset is not None:
                raise ValueError("offset counts frames, and tiles have none: leave it out")
        elif self.tile_px != TILE_PX or self.margin_px:
            raise ValueError('tile_px and margin_px are of tiles: add split = "tiles"')
        return self

    @model_validator(mode="after")
    def _can_be_joined_and_checked(self) -> Self:
        if not self.merge and self.joined is None and sharing(self) == "windows":
            raise ValueError(
                f"nothing says how windows of {self.output_name} become one: set merge to "
                f"{', '.join(JOINED)} or a command with {_braced(OF_MERGE[:2])}"
            )
        if self.merge and self.joined is None:
            _refuse_wrong_words("merge", self.merge, OF_MERGE, JOINED)
        if self.check not in CHECKS:
            _refuse_wrong_words("check", self.check, OF_CHECK, CHECKS)
        return self

    @property
    def is_cut(self) -> bool:
        """Whether {input} is a TIFF of the window, as the command would not know which it is."""
        named = {field for word in self.command for field in fields_of(word)}
        places = {"frames": {"first", "stop"}, "tiles": {*OF_TILES[:4]}}.get(self.split)
        if places is None or self.window == "whole":
            return False
        return self.window == "file" or not named & places

    @property
    def own(self) -> dict[str, Any]:
        """Parameters of the user's own program."""
        return dict(self.model_extra or {})

    @property
    def output_name(self) -> str:
        """Name of what it writes: a movie of windows, or a folder of files."""
        return self.output or ("output" if self.split == "files" else "output.tif")

    @property
    def writes_folder(self) -> bool:
        """Whether its output is a folder."""
        return not Path(self.output_name).suffix

    @property
    def joined(self) -> str | None:
        """How pyscale joins windows; None where a command of the user's does."""
        joined = self.merge or MERGES.get(Path(self.output_name).suffix.lower())
        if self.split == "tiles" and joined == "frames":
            return "tiles"
        return joined if joined in JOINED else None

    def words_of(self, text: str) -> Sequence[str]:
        """Words of a command of the user's own; with a shell it stays one text."""
        return (text,) if self.shell else _words(text)

    @property
    def a_call_per_file(self) -> bool:
        """Whether the command is called for each file by itself."""
        return any(fields_of(word) & {"file", "name"} for word in self.command)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a command line: {error}") from error


def _refuse_wrong_words(
    key: str, text: str, placeholders: Sequence[str], kinds: Iterable[str]
) -> None:
    """Raise where a key is neither one of some kinds nor a command with both placeholders."""
    named = {field for word in _words(text) for field in fields_of(word)}
    if not named:
        raise ValueError(
            f"{key}: {did_you_mean(text, kinds)} or write a command with "
            f"{_braced(placeholders[:2])}"
        )
    _refuse_unknown(named, {*placeholders})
    if not {*placeholders[:2]} <= named:
        raise ValueError(f"a {key} of one's own names {_braced(placeholders[:2])}")


def _refuse_unknown(
    named: set[str], known: set[str], elsewhere: Mapping[str, str] | None = None
) -> None:
    for name in sorted(named - known):
        if elsewhere and name in elsewhere:
            split = elsewhere[name]
            raise ValueError(
                f'{{{name}}} has a value with split = "{split}" alone: add that, or --split {split}'
            )
        raise ValueError(
            f"unknown placeholder {{{name}}} in the command; {did_you_mean(name, known)}"
        )


def _braced(names: Iterable[str]) -> str:
    return " and ".join(f"{{{name}}}" for name in sorted(names))


def sharing(params: CommandParams) -> Sharing:
    """How N workers share the work."""
    known: dict[str, Sharing] = {"threads": "threads", "ranks": "ranks", "none": "copies"}
    return known.get(params.split, "windows")


def method(params: CommandParams, device: Device) -> Method:  # noqa: ARG001 - the contract's
    """Name the user's program, or the script that it runs."""
    words = [word for text in params.command for word in text.split()]
    files = (Path(word) for word in words)
    script = next((f for f in files if f.suffix in SCRIPTS or f.name == SNAKEFILE), Path(words[0]))
    return Method(name=f"own step, {script.name}{' on cut TIFFs' * params.is_cut}")
