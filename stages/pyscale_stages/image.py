"""What a stage declares of its container image."""

from __future__ import annotations

from dataclasses import dataclass


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
