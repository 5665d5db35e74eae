"""What a file looks like, for one that is not what it was said to be."""

from __future__ import annotations

import re
from pathlib import Path

from pyscale.errors import UserError

_SIGNS = (
    ("sacct", r"\A[^\n]*\bJobID\b"),
    ("nextflow", r"\A[^\n]*\btask_id\b|\A(?=[^\n]*\bstatus\b)[^\n]*\brealtime\b"),
    ("snakemake", r"\A(?:s\W|[^\n]*\bh:m:s\b)"),
    ("jobstats", r'\A\s*(?:JS1:|H4sI)|\A\s*\{(?=.*"nodes").*"total_time"'),
)
"""Formats, and what the beginning of a trace holds."""
_OTHERS = (
    (
        r"\A\s*<",
        "a web page, as of `nextflow -with-report`: give the trace of `nextflow -with-trace`",
    ),
    (
        r"CPU Efficiency:|Memory Efficiency:",
        "what seff prints, which tells too little: ask sacct of these jobs",
    ),
    (
        r"\A(?=[^\n]*\bworkers\b)[^\n]*\bwall_s\b",
        "a table of wall times: give it to `pyscale report --table`",
    ),
)


def refuse_others(path: Path, text: str, said: str) -> None:
    """Refuse a file that looks like something else than the format it was said to be in.

    Raises
    ------
    UserError
        If it does.
    """
    beginning = text[:100_000]
    like = [name for name, signs in _SIGNS if re.search(signs, beginning, re.DOTALL)]
    if said in like:
        return
    for signs, words in _OTHERS:
        if re.search(signs, beginning):
            raise UserError(f"{path} looks like {words}")
    if like:
        raise UserError(
            f"{path} looks like a trace of {like[0]}, not of {said}: "
            f"import it by `pyscale import {like[0]}`"
        )
