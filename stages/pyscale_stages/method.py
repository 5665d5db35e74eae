"""The algorithm that a stage's parameters choose, as readers of a report name it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


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
