"""A warm worker: it loads once, and each task is a fork of it, or done by itself and forgotten."""

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from movingsquares import write_bright_squares, write_moving_squares
from pyscale_stages.contract import TaskResult, WorkerRecord
from pyscale_stages.registry import load_stage
from stagetasks import run_verb

PLAIN = ("-m", "pyscale_stages")
CHANGED = """
import sys, time
main_s = time.monotonic()
from dataclasses import replace
from pyscale_stages import commandline, errors, registry, serving
def fails(task):
    raise errors.MissingPart("no such library")
stage = replace(registry.load_stage("contact"), {change})
registry.load_stage = serving.load_stage = lambda name: stage
sys.exit(commandline.main(sys.argv[1:], main_s))
"""
KEPT = CHANGED.format(change='why_unforkable=lambda params, device: "it is so"')
LOADS_NOTHING = CHANGED.format(change="preload=fails")


class Served:
    """A worker that runs, and what is said to it."""

    def __init__(self, home, program, stage):
        home.mkdir()
        self.stage = stage
        self.home = home
        options = ("--result", str(home / "worker.json"))
        self.process = subprocess.Popen(
            [sys.executable, *program, stage, "serve", *options, "--seed", "3"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=home,
        )
        self.first = self.hear()

    def hear(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def ask(self, folder, *arguments):
        self.tell(folder, *arguments)
        return self.hear()

    def tell(self, folder, *arguments):
        folder.mkdir(exist_ok=True)
        asked = {
            "folder": str(folder),
            "arguments": [self.stage, *map(str, arguments)],
            "spawn_monotonic_s": time.monotonic(),
        }
        self.process.stdin.write(json.dumps(asked).encode() + b"\n")
        self.process.stdin.flush()

    def window(self, folder, labels):
        """Do a window, and return its record."""
        options = ("--output", "out", "--result", "result.json", "--seed", 3)
        answer = self.ask(folder, "run", "--input", labels, *options)
        assert answer == {"returncode": 0}, (folder / "stderr").read_text()
        return TaskResult.model_validate_json((folder / "result.json").read_bytes())

    def record(self):
        return WorkerRecord.model_validate_json((self.home / "worker.json").read_bytes())

    def end(self):
        self.process.stdin.close()
        code = self.process.wait()
        self.process.stdout.close()
        return code


@pytest.fixture
def serve(tmp_path):
    started = []

    def start(*program, stage="contact"):
        started.append(Served(tmp_path / "worker", program or PLAIN, stage))
        return started[-1]

    yield start
    for served in started:
        served.process.kill()
        served.end()


@pytest.fixture
def labels(tmp_path):
    folder = tmp_path / "movie of Zürich, 日本"
    folder.mkdir()
    return write_moving_squares(folder / "labels.ome.tif")


def test_it_loads_once_and_each_task_is_a_fork_that_begins_when_it_was_asked_for(
    serve, labels, tmp_path
):
    """Whatever the path, and with what it uses alone in its record."""
    served = serve()
    assert served.first == {"ready": True}
    record = served.record()
    assert (record.stage, record.why_unforked, record.error) == ("contact", "", "")
    assert {span.phase for span in record.spans} == {"python_start", "import"}
    worker_s = sum(span.wall_s for span in record.spans)
    assert worker_s <= record.wall_s
    first, second = (served.window(tmp_path / name, labels) for name in ("w0 ü", "w1"))
    assert [one.origin for one in (first, second)] == ["fork", "fork"]
    assert first.outputs == second.outputs
    assert second.spans[0].start_monotonic_s >= first.spans[-1].end_monotonic_s
    assert first.counters.cpu_s < worker_s + first.wall_s
    imports = sum(span.wall_s for span in second.spans if span.phase == "import")
    assert imports < record.wall_s
    assert served.end() == 0


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["register_denoise", "segment", "contact", "track"])
def test_a_window_has_the_bytes_that_a_run_by_itself_gives(serve, tmp_path, stage):
    write = write_moving_squares if stage in {"contact", "track"} else write_bright_squares
    movie = write(tmp_path / "movie.ome.tif")
    warm = serve(stage=stage).window(tmp_path / "warm", movie)
    slot = load_stage(stage).inputs[0].name
    cold = run_verb(stage, "run", [(slot, movie)], output=tmp_path / "cold", seed=3)
    assert (cold.origin, warm.origin) == ("start", "fork")
    assert cold.outputs == warm.outputs
    assert cold.versions == warm.versions


def test_a_task_that_is_wrong_or_killed_leaves_the_worker_and_ends_with_it(serve, labels, tmp_path):
    served = serve()
    wrong = tmp_path / "wrong"
    assert served.ask(wrong, "run", "--nonsense") == {"returncode": 2}
    assert "unrecognized arguments: --nonsense" in (wrong / "stderr").read_text()
    beyond = tmp_path / "beyond"
    asked = ("--input", labels, "--frames", "0:9", "--output", "out", "--result", "result.json")
    assert served.ask(beyond, "run", *asked) == {"returncode": 2}
    assert "does not lie inside" in (beyond / "stderr").read_text()
    pipe = tmp_path / "never.tif"
    os.mkfifo(pipe)
    # Whoever opens it waits for somebody who writes.
    for_ever = ("run", "--input", pipe, "--output", "out")
    served.tell(tmp_path / "killed", *for_ever)
    forked(served.process.pid).send_signal(signal.SIGSEGV)
    assert served.hear() == {"returncode": -signal.SIGSEGV}
    assert served.window(tmp_path / "right", labels).status == "done"
    served.tell(tmp_path / "lost", *for_ever)
    child = forked(served.process.pid)
    served.process.kill()
    assert served.hear() is None
    psutil.wait_procs([child])


def test_a_process_that_cannot_be_forked_does_its_tasks_itself(serve, labels, tmp_path):
    served = serve("-c", KEPT)
    assert served.record().why_unforked == "it is so"
    results = [served.window(tmp_path / name, labels) for name in ("w0", "w1")]
    assert [one.origin for one in results] == ["kept", "kept"]
    assert results[0].outputs == results[1].outputs
    assert results[1].counters.cpu_s < sum(one.wall_s for one in results) + 1
    served.tell(tmp_path / "w2", "run", "--nonsense")
    assert served.hear() == {"returncode": 2}
    assert "unrecognized" in (tmp_path / "w2" / "stderr").read_text()


def test_what_cannot_be_loaded_is_told_and_left_to_the_tasks(serve, labels, tmp_path):
    served = serve("-c", LOADS_NOTHING)
    assert served.record().error == "no such library"
    assert served.window(tmp_path / "w0", labels).status == "done"


def forked(worker):
    """The fork of a worker that does a task."""
    process = psutil.Process(worker)
    while not (children := process.children()):
        pass
    return children[0]
