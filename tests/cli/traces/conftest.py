"""Traces as their tools write them."""

import polars as pl
import pytest

from pyscale.errors import UserError
from pyscale.traces.command import import_traces
from refusals import refused as refused_in_words

START = 1_773_747_744
SACCT_COLUMNS = (
    "JobID|JobIDRaw|State|Submit|Start|End|ElapsedRaw|TotalCPU|AllocCPUS|NTasks|NodeList|ReqMem"
    "|MaxRSS|AllocTRES|JobName"
)


class SacctTrace:
    """Lines of `sacct -P`, job by job; each has the step that runs its script."""

    def __init__(self):
        self._lines = [SACCT_COLUMNS]
        self._next = 100

    def job(
        self,
        job_id,
        name="segment",
        *,
        raw=None,
        start=0,
        wall=60,
        state="COMPLETED",
        submit=0,
        cpus=1,
        tasks=1,
        memory="2000M",
        gpus=0,
        node="n1",
    ):
        """Add one job, or one element of an array, and its steps."""
        raw = raw or job_id
        begin, end = START + start, START + start + wall
        times = f"{START + submit}|{begin}|{end}|{wall}"
        tres = f"cpu={cpus},mem={memory},node=1" + (f",gres/gpu={gpus}" if gpus else "")
        self._lines += [
            f"{job_id}|{raw}|{state}|{times}|00:30.500|{cpus}||{node}|{memory}||{tres}|{name}",
            f"{job_id}.batch|{raw}.batch|{state}|{times}|00:30.500|{cpus}|1|{node}"
            f"||110145536|{tres}|batch",
        ]
        if tasks > 1:
            self._lines.append(
                f"{job_id}.0|{raw}.0|{state}|{times}|00:30.500|{cpus}|{tasks}|{node}"
                "||120145536||prog"
            )
        return self

    def array(self, starts, name="segment", *, wall=60, cpus=1):
        """Add an array whose elements began at these times; the last has the array's own id."""
        array = self._next
        self._next += len(starts)
        for index, start in enumerate(starts):
            raw = array if index == len(starts) - 1 else array + 1 + index
            self.job(f"{array}_{index}", name, raw=str(raw), start=start, wall=wall, cpus=cpus)
        return str(array)

    @property
    def text(self):
        return "\n".join(self._lines) + "\n"


@pytest.fixture
def sacct():
    return SacctTrace()


@pytest.fixture
def write(tmp_path):
    """Write a file of a trace."""

    def call(text, name="trace.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return call


@pytest.fixture
def imported(tmp_path, capsys):
    """Import traces; return the table, and what was said of it."""

    def call(trace_format, *files, **options):
        out = tmp_path / "table.csv"
        import_traces(trace_format, files, out=out, **options)
        words = dict.fromkeys(("stage", "task", "trial"), pl.String)
        return pl.read_csv(out, schema_overrides=words), capsys.readouterr().err

    return call


@pytest.fixture
def refused(imported):
    """Import what cannot be; return the one sentence that says why, which begins with the file."""

    def call(trace_format, path, **options):
        with refused_in_words(UserError) as raised:
            imported(trace_format, path, **options)
        said = str(raised.value)
        assert said.startswith(str(path))
        assert "\n" not in said
        return said

    return call
