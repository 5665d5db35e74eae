"""What a stage declares beside its verbs: its algorithm, its container image, and what it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any


@dataclass(frozen=True)
class Image:
    """A container image: Debian 12 with its Python, the packages of every stage, and these."""

    requirements: tuple[str, ...] = ()
    """Python packages, as pip reads them."""
    cuda: tuple[str, ...] | None = None
    """Packages more of a variant `NAME-cuda`, whose libraries are for CUDA; None: there is none."""
    debian: tuple[str, ...] = ()
    """Debian packages."""
    maven: tuple[str, ...] = ()
    """Maven coordinates; their jars come to `/opt/pyscale/jars`."""
    imports: tuple[str, ...] = ()
    """Modules that its build imports, to refuse broken libraries; none: the stage's `modules`."""
    after_install: str = ""
    """Shell commands once the libraries are installed."""
    after_code: str = ""
    """Shell commands once the stage's code is there as well; run at each change of that."""


@dataclass(frozen=True)
class Method:
    """An algorithm: its short name, the packages that compute it, and what to cite for it."""

    name: str
    detail: str = ""
    """What else was chosen, such as a model; it follows the version."""
    versioned: str | None = None
    """Distribution whose version stands after the name."""
    packages: tuple[str, ...] = ()
    """Distributions that compute it; a Methods paragraph gives their versions."""
    cites: tuple[str, ...] = ()
    """Keys of `config/citations.bib`."""
    stand_in: str | None = None
    """A stand-in for a published model: its name, and what its times do not show."""

    def shown(self, versions: Mapping[str, str]) -> str:
        """Name it in a few words, with the version where that is recorded."""
        version = versions.get(self.versioned or "", "").partition("+")[0]
        major_minor = ".".join(version.split(".")[:2])
        numbered = f"{self.name} {major_minor}".rstrip()
        return f"{numbered}, {self.detail}" if self.detail else numbered


if TYPE_CHECKING:
    from pyscale_stages.trying import Trying


def _no_more(trying: Trying) -> None:
    trying.cuda_architecture()
    trying.ok("works", "its libraries can be imported, and it tells of no other part")


@dataclass(frozen=True)
class Needs:
    """Parts that a stage needs beside the libraries that it always imports."""

    of_choice: Mapping[tuple[str, str], tuple[tuple[str, ...], str]] = field(default_factory=dict)
    """Modules in place of the stage's own, and the extra that has them, where a parameter has a
    value that needs others."""
    deciding: tuple[str, ...] = ()
    """Parameters that decide, with the device, which parts are needed."""
    look: Callable[[Any, Any, bool], None] = lambda _params, _device, _here: None
    """Raises `StageError` where a part is absent, without importing a library: of given
    parameters and device, and whether tasks run here; elsewhere only files that all nodes see
    can be looked for."""
    try_out: Callable[[Trying], None] = _no_more
    """Does a little work in the interpreter of a task, and tells what it finds."""
