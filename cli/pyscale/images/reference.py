"""The place of an image in a registry: `oras://HOST/PATH[:TAG]`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from pyscale.errors import UserError
from pyscale.settings import without_login

SCHEME = "oras://"
DEFAULT_TAG = "latest"
_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d+)?|\[[0-9a-fA-F:]+\](?::\d+)?"
_PART = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?P<host>{_HOST})/(?P<path>{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?",
    re.ASCII,
)


@dataclass(frozen=True)
class Reference:
    """A place in a registry.

    `host`: name of the registry, with its port where it has one. `path`: repository in it.
    `digest`: digest of the manifest, which pins more than a tag does.
    """

    host: str
    path: str
    tag: str = DEFAULT_TAG
    digest: str | None = None

    def __str__(self) -> str:
        version = f"@{self.digest}" if self.digest else f":{self.tag}"
        return f"{SCHEME}{self.host}/{self.path}{version}"

    def below(self, name: str) -> Reference:
        """The place of an image of this name below this one, with the same tag."""
        return replace(self, path=f"{self.path}/{name}")


def parse_reference(text: str) -> Reference:
    """Read a reference."""
    found = _REFERENCE.fullmatch(text.removeprefix(SCHEME)) if text.startswith(SCHEME) else None
    if found is None:
        raise UserError(
            f"{without_login(text)!r} is not a valid registry address: write oras://HOST/PATH or "
            "oras://HOST/PATH:TAG, the path in small letters"
        )
    return Reference(found["host"], found["path"], found["tag"] or DEFAULT_TAG, found["digest"])
