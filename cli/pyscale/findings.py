"""A finding: what is so, where, and what to do; doctor, preflight and refusals share it."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field

from pyscale_stages.contract import Record

Status = Literal["ok", "warning", "problem"]


class Finding(Record):
    """What one check found."""

    code: str = Field(pattern=r"^[a-z]+\.[a-z_]+$", description="Name of the check, stable")
    status: Status = Field(
        description="problem: a run would fail, or measure what was not meant; warning: it works, "
        "but slower or otherwise than one would think"
    )
    where: str = Field("", description="What it is about: an entry, a path; empty: this machine")
    what: str = Field(description="What is so")
    do: str = Field("", description="What to do; a command where there is one")

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.where, self.what, self.do)))


def ok(code: str, where: object, what: str) -> Finding:
    """All is well."""
    return Finding(code=code, status="ok", where=str(where), what=what)


def warning(code: str, where: object, what: str, do: str) -> Finding:
    """It works, but slower or otherwise than one would think."""
    return Finding(code=code, status="warning", where=str(where), what=what, do=do)


def problem(code: str, where: object, what: str, do: str) -> Finding:
    """A run would fail, or measure what was not meant."""
    return Finding(code=code, status="problem", where=str(where), what=what, do=do)


def refused(code: str, where: object, error: object) -> Finding:
    """A problem in the words of an error: what is wrong, then what to do."""
    text = bare = str(error)
    # The last colon that is in no quotation and no brackets parts them; from the inside out.
    while (hidden := _QUOTED.sub(lambda found: "_" * len(found[0]), bare)) != bare:
        bare = hidden
    place = bare.rfind(": ")
    what, do = (text, "") if place < 0 else (text[:place], text[place + 2 :])
    return problem(code, where, what, do)


_QUOTED = re.compile(r"\([^()]*\)|\"[^\"]*\"|`[^`]*`|(?<!\w)'[^']*'(?!\w)")
