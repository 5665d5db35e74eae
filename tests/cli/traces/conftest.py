"""Traces as their tools write them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest

from pyscale.errors import UserError
from pyscale.traces.command import import_traces

START = 1_773_747_744
SACCT_COLUMNS = (
    "JobID|JobIDRaw|State|Submit|Start|End|ElapsedRaw|TotalCPU|AllocCPUS|NTasks|NodeList|ReqMem"
    "|MaxRSS|AllocTRES|ConsumedEnergyRaw|AdminComment|JobName"
)


class SacctTrace:
    """Lines of `sacct -P`, job by job; each has the step that runs its script."""

    def __init__(self) -> None:
        self._lines = [SACCT_COLUMNS]
        self._next = 100

    def job(
        self,
        job_id: str,
        name: str = "segment",
        *,
        raw: str | None = None,
        start: int = 0,
        wall: int = 60,
        state: str = "COMPLETED",
        submit: int = 0,
        cpus: int = 1,
        tasks: int = 1,
        memory: str = "2000M",
        gpus: int = 0,
        comment: str = "",
        node: str = "n1",
        energy: Sequence[int | str] = ("", ""),
    ) -> SacctTrace:
        """Add one job, or one element of an array, and its steps; `energy` is of job and step."""
        raw = raw or job_id
        begin, end = START + start, START + start + wall
        times = f"{START + submit}|{begin}|{end}|{wall}"
        tres = f"cpu={cpus},mem={memory},node=1" + (f",gres/gpu={gpus}" if gpus else "")
        self._lines += [
            f"{job_id}|{raw}|{state}|{times}|00:30.500|{cpus}||{node}|{memory}||{tres}"
            f"|{energy[0]}|{comment}|{name}",
            f"{job_id}.batch|{raw}.batch|{state}|{times}|00:30.500|{cpus}|1|{node}"
            f"||110145536|{tres}|{energy[1]}||batch",
        ]
        if tasks > 1:
            self._lines.append(
                f"{job_id}.0|{raw}.0|{state}|{times}|00:30.500|{cpus}|{tasks}|{node}"
                "||120145536||||prog"
            )
        return self

    def array(
        self, starts: Sequence[int], name: str = "segment", *, wall: int = 60, cpus: int = 1
    ) -> str:
        """Add an array whose elements began at these times; the last has the array's own id."""
        array = self._next
        self._next += len(starts)
        for index, start in enumerate(starts):
            raw = array if index == len(starts) - 1 else array + 1 + index
            self.job(f"{array}_{index}", name, raw=str(raw), start=start, wall=wall, cpus=cpus)
        return str(array)

    @property
    def text(self) -> str:
        return "\n".join(self._lines) + "\n"


@pytest.fixture
def sacct() -> SacctTrace:
    return SacctTrace()


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a file of a trace."""

    def call(text: str | bytes, name: str = "trace.txt") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return call


Imported = Callable[..., tuple[pl.DataFrame, str]]


@pytest.fixture
def imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Imported:
    """Import traces; return the table, and what was said of it."""

    def call(trace_format: str, *files: Path, **options: str) -> tuple[pl.DataFrame, str]:
        out = tmp_path / "table.csv"
        import_traces(trace_format, files, out=out, **options)  # type: ignore[arg-type]
        words = dict.fromkeys(("stage", "task", "trial"), pl.String)
        return pl.read_csv(out, schema_overrides=words), capsys.readouterr().err

    return call


@pytest.fixture
def refused(imported: Imported) -> Callable[..., str]:
    """Import what cannot be; return the one sentence that says why, which begins with the file."""

    def call(trace_format: str, path: Path, **options: str) -> str:
        with pytest.raises(UserError) as raised:
            imported(trace_format, path, **options)
        said = str(raised.value)
        assert said.startswith(str(path))
        assert "\n" not in said
        return said

    return call
