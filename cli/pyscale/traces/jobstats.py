"""jobstats' figures of jobs: JSON, or the same packed into sacct's AdminComment."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode
from collections.abc import Iterator
from json import JSONDecodeError
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from pyscale.errors import UserError, problems_told
from pyscale.traces.tasks import NO_TIME, Asked, TracedTask, stage_name
from pyscale_stages.wording import did_you_mean

PACKED = "JS1:"
# The first bytes of gzip, in base64.
GZIPPED = "H4sI"
"""How what is packed begins, for the mark may be left out."""
MOST_BYTES = 64 * 2**20
"""Of the JSON of one job; ten thousand nodes are told of in a few."""
WITHOUT_FIGURES = frozenset({"Short", "None"})
"""What stands in the place of the figures of a job that was too short, or not observed."""
ADVICE = "run `jobstats -j JOBID` again"
TOGETHER = "of all files"


class _Told(BaseModel):
    # What other releases tell beside is not read.
    model_config = ConfigDict(frozen=True, extra="ignore")


Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Node(_Told):
    cpus: Count | None = None
    total_memory: Count | None = None
    used_memory: Count | None = None
    total_time: Seconds | None = None


class JobFigures(_Told):
    """What jobstats tells of one job; null is what it does not."""

    nodes: dict[str, _Node]
    total_time: Seconds
    gpus: Count | None = None

    def over_nodes(self, name: str) -> int | None:
        """Sum of a figure of all nodes; None where one does not tell."""
        values = [getattr(node, name) for node in self.nodes.values()]
        return None if not values or None in values else round(sum(values))


def read_jobstats(path: Path, text: str, asked: Asked) -> list[TracedTask]:
    """Read figures of jobs: one or several JSON objects, or lines of packed ones.

    They tell neither names nor times of day, so the stage and N must be given.
    """
    found: list[JobFigures | None] = []
    if text.lstrip().startswith("{"):
        found += _unpacked(path, text)
    else:
        for number, line in enumerate(map(str.strip, text.split("\n")), start=1):
            where = f"{path}, line {number}"
            if line and not line.startswith((PACKED, GZIPPED)):
                raise UserError(f"{where} is not output of jobstats: {ADVICE}")
            found += [job_figures(where, PACKED + line.removeprefix(PACKED))] if line else []
    return [
        _task(path, f"{path} {place}" if len(found) > 1 else str(path), figures, asked)
        for place, figures in enumerate(found, start=1)
    ]


def _unpacked(path: Path, text: str) -> Iterator[JobFigures]:
    decoder, at = json.JSONDecoder(), 0
    while at < len(text.rstrip()):
        try:
            # `raw_decode` takes no blanks before a value.
            job, end = decoder.raw_decode(text, at + len(text[at:]) - len(text[at:].lstrip()))
        except (ValueError, RecursionError) as error:
            line = f" at line {error.lineno}" if isinstance(error, JSONDecodeError) else ""
            raise UserError(
                f"{path} is not JSON{line}: it may have been cut short, so {ADVICE}"
            ) from None
        yield _figures(str(path), job)
        at = end


def job_figures(where: str, comment: str | None) -> JobFigures | None:
    """Unpack what jobstats left in a job's AdminComment; None where it left nothing."""
    if comment is None or not comment.startswith(PACKED):
        return None
    packed = comment.removeprefix(PACKED)
    if packed in WITHOUT_FIGURES:
        return None
    try:
        job = json.loads(_inflated(b64decode(packed, validate=True)))
    except (EOFError, ValueError, RecursionError, zlib.error):
        raise UserError(
            f"{where}: jobstats' packed data (JS1:) is broken or was cut short: write it with "
            "`sacct -P`, which cuts nothing"
        ) from None
    return _figures(where, job)


def _inflated(packed: bytes) -> bytes:
    """Unpack gzip, as much as figures of a job ever are."""
    # Beside the size of its window, 16 tells zlib of the header of gzip.
    inflater = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    # A few bytes may be made to unpack to terabytes.
    told = inflater.decompress(packed, MOST_BYTES)
    if not inflater.eof:
        raise EOFError
    return told


def _figures(where: str, told: object) -> JobFigures:
    with problems_told(JobFigures, f"{where} is not output of jobstats (", f"): {ADVICE}"):
        return JobFigures.model_validate(told)


def _task(path: Path, name: str, figures: JobFigures | None, asked: Asked) -> TracedTask:
    advice = "import it from sacct, which has names of jobs and AdminComment too"
    stage = stage_name(str(path), None, asked, advice)
    if figures is None:
        return TracedTask(
            path, stage, TOGETHER, name, across_files=True, flaw="without figures of jobstats"
        )
    workers, column = None, asked.workers_column
    if column is not None:
        counts = {
            "cpus": figures.over_nodes("cpus"),
            "gpus": figures.gpus,
            "nodes": len(figures.nodes),
        }
        if column not in counts:
            advice = did_you_mean(column, counts)
            raise UserError(f"jobstats has no {column!r} for --workers: {advice}")
        workers = counts[column]
        if not workers:
            raise UserError(f"{path} has no {column} for --workers")
    return TracedTask(
        source=path,
        stage=stage,
        trial=TOGETHER,
        name=name,
        wall_s=figures.total_time,
        cpus=figures.over_nodes("cpus"),
        gpus=figures.gpus,
        cpu_s=figures.over_nodes("total_time"),
        requested_memory_bytes=figures.over_nodes("total_memory"),
        peak_memory_bytes=figures.over_nodes("used_memory"),
        node=",".join(figures.nodes) or None,
        workers=workers,
        # One job by one worker is a trial, several are its repeats.
        is_trial=workers is not None or asked.workers == 1,
        across_files=True,
        flaw=None if figures.total_time > 0 else NO_TIME,
    )
