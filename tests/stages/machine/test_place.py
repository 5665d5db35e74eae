"""What can go wrong in a place, each in one sentence, by every stage that measures one."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from pyscale_stages.errors import BadInput, ResourceExhausted, StageError
from pyscale_stages.kernels.particles import OnDisk
from pyscale_stages.machine.place import in_words, refuse_lack_of_space, scratch_folder
from pyscale_stages.timing import Timing
from refusals import refused

IN_MEMORY = Path("/dev/shm")


def failed(result, kind, exit_code):
    """The sentence of a task that failed as it should."""
    assert (result.error.kind, result.error.exit_code) == (kind, exit_code)
    assert "\n" not in result.error.message
    return result.error.message


def test_a_place_that_does_not_exist_or_is_a_file_is_refused(bench, tmp_path):
    (tmp_path / "file").touch()
    for name in ("nowhere", "file"):
        said = failed(bench.run("run", tmp_path / name), "BadInput", 2)
        assert f"{name} does not exist or is not a folder: name another one" in said


def test_a_read_only_filesystem_is_refused(bench, mount_in_memory, tmp_path):
    mounted = mount_in_memory(tmp_path / "mounted", "ro")
    said = failed(bench.run("run", mounted), "BadInput", 2)
    assert said.startswith(f"the place {mounted} is not writable")


def test_a_lack_of_space_is_told_before_anything_is_written_and_midway_and_left_clean(
    bench, mount_in_memory, tmp_path, monkeypatch
):
    mounted = mount_in_memory(tmp_path / "mounted", "size=4k")
    monkeypatch.setattr(tempfile, "tempdir", str(mounted))
    given = {"output": tmp_path / "out"}
    said = failed(bench.run("run", mounted, **given), "ResourceExhausted", 3)
    assert "the test files need" in said
    assert f"but {mounted}" in said
    assert list(mounted.iterdir()) == []
    # As where others fill it in the meantime.
    plenty = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: plenty)
    said = failed(bench.run("run", mounted, **given), "ResourceExhausted", 3)
    assert f"the filesystem of {mounted} is full, or its quota is used up" in said
    assert list(mounted.iterdir()) == []


@pytest.fixture
def in_memory(missing, monkeypatch):
    """A filesystem in memory, which holds the node's scratch folder."""
    if not IN_MEMORY.is_dir():
        missing("a filesystem in memory", "mount a tmpfs at /dev/shm")
    monkeypatch.setattr(tempfile, "tempdir", str(IN_MEMORY))


@pytest.mark.usefixtures("in_memory")
def test_on_a_filesystem_in_memory_nothing_is_called_cold(bench):
    result = bench.run("run", IN_MEMORY)
    assert result.error is None
    assert result.versions["place_filesystem"] == "tmpfs"
    states = {timing.cache for timing in result.of(Timing)} - {None, "warm"}
    assert states == {"unsupported"}
    direct = [timing for timing in result.of(Timing) if timing.test.endswith("_direct")]
    assert all(timing.wall_s is None for timing in direct)
    why_not = "tmpfs keeps its files in memory, so there is no cache to bypass"
    assert all(timing.why_not == why_not for timing in direct)
    assert bool(direct) == (bench.stage == "storage")


def cache_of(bench, place):
    """Whether particles were read from a cache device, or why not; and its filesystem."""
    result = bench.run("run", place, repeats=1)
    assert result.error is None
    if bench.stage == "storage":
        timed = {timing.test: timing for timing in result.of(Timing)}
        used = "cache_random_read_cold" in timed
        assert used == ("cache_sequential_read_cold" in timed)
        used = used or timed["particle_cache_copy"].why_not
    else:
        (used,) = {t.details.get("from_cache_folder") for t in result.of(Timing)} - {None}
    return used, result.versions.get("cache_filesystem")


@pytest.mark.usefixtures("in_memory")
def test_the_nodes_scratch_folder_is_the_cache_device_where_it_is_a_disk_of_its_own(
    bench_of, place, monkeypatch
):
    storage, kernels = bench_of("storage"), bench_of("kernels")
    refused = "the node's scratch folder (TMPDIR) {}: name a cache_folder of stages.storage"
    assert cache_of(storage, place) == (refused.format("lies in memory"), None)
    assert cache_of(kernels, place) == (0, None)
    monkeypatch.setattr("pyscale_stages.machine.place.IN_MEMORY", set())
    for bench in (storage, kernels):
        assert cache_of(bench, place) == (1, "tmpfs")
    plenty = shutil.disk_usage(place)._replace(free=0)
    own = shutil.disk_usage
    monkeypatch.setattr(shutil, "disk_usage", lambda at: plenty if at == IN_MEMORY else own(at))
    assert cache_of(storage, place) == (refused.format("has not the room of 31.3 kB"), None)
    monkeypatch.setattr(tempfile, "tempdir", str(place.parent))
    why_not = refused.format("lies on the filesystem that is measured")
    assert cache_of(storage, place) == (why_not, None)
    given = bench_of("kernels", cache_folder=str(place.parent))
    assert cache_of(given, place)[0] == 1
    assert list(place.iterdir()) == []


def test_nothing_outside_of_the_place_and_the_output_is_touched(bench, tmp_path):
    place = tmp_path / "lab" / "place"
    (place / "mine").mkdir(parents=True)
    for path in (place / "mine" / "movie.mrc", place.parent / "other.txt"):
        path.write_text("precious")

    def listing():
        found = ((path, path.stat()) for path in place.parent.rglob("*") if path != place)
        return sorted((str(path), now.st_mtime_ns, now.st_size) for path, now in found)

    before = listing()
    assert bench.run("run", place).error is None
    assert listing() == before
    left = {path.name for path in (tmp_path / "out").iterdir()}
    assert left == {"timings.parquet", "window.json"}
    assert {path.name for path in tmp_path.iterdir()} == {"lab", "out"}


def test_without_a_place_the_output_folder_is_measured_and_keeps_results_only(bench, tmp_path):
    result = bench.run("run", output=tmp_path / "deep" / "output")
    assert result.error is None
    assert result.versions["place_filesystem"]
    left = {path.suffix for path in (tmp_path / "deep" / "output").iterdir()}
    assert left == {".parquet", ".json"}


def test_room_is_added_up_where_two_folders_share_a_filesystem(tmp_path, monkeypatch):
    class Usage:
        free = 1_000

    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: Usage)
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    refuse_lack_of_space({one: 600}, "lower movies")
    with refused(ResourceExhausted):
        refuse_lack_of_space({one: 600, two: 600}, "lower movies")


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.EDQUOT, ResourceExhausted),
        (errno.EMFILE, ResourceExhausted),
        (errno.EROFS, BadInput),
        (errno.EIO, StageError),
    ],
    ids=["EDQUOT", "EMFILE", "EROFS", "EIO"],
)
def test_what_a_filesystem_answers_becomes_a_sentence(place, number, kind):
    with refused(kind) as raised, in_words(place, "lower movies"):
        raise OSError(number, os.strerror(number))
    assert "\n" not in str(raised.value)


def test_what_a_library_says_is_not_put_into_the_filesystems_mouth(place):
    with pytest.raises(OSError, match="libcudart"), in_words(place, "lower movies"):
        raise OSError("libcudart.so: cannot open shared object file")


TWICE = """
import pathlib, select, shutil, sys
from pyscale_stages.machine import place

def say(what):
    print(what, flush=True)
    # A signal that comes just before a wait is heard when the wait ends.
    while not select.select([sys.stdin], [], [], 0.1)[0]:
        pass
    sys.stdin.readline()

remove = shutil.rmtree
def slowly(folder, **more):
    say("removing")
    remove(folder, **more)

shutil.rmtree = slowly
with place.scratch_folder(pathlib.Path(sys.argv[1]), "storage", print) as folder:
    (folder / "stack").mkdir()
    (folder / "stack" / "file").touch()
    say("working")
print("done", flush=True)
"""


def python(*line):
    return subprocess.Popen(
        [sys.executable, "-c", *map(str, line)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


@contextmanager
def program(place):
    """A process that works in a scratch folder until it reads a line, and tells how far it is."""
    with python(TWICE, place) as process:
        hear(process, "working")
        assert [path.name for path in place.rglob("file")] == ["file"]
        yield process


def hear(process, what):
    assert process.stdout.readline().strip() == what


def go_on(process):
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (signal.SIGTERM, signal.SIGINT),
        (signal.SIGINT, signal.SIGTERM),
        (signal.SIGHUP, signal.SIGTERM),
    ],
)
def test_a_second_signal_does_not_stop_the_removal_that_the_first_began(place, first, second):
    with program(place) as process:
        process.send_signal(first)
        hear(process, "removing")
        process.send_signal(second)
        go_on(process)
        # Python ends itself by the signal after Ctrl-C, as a shell expects.
        assert process.wait() in {128 + first, -first}
    assert list(place.iterdir()) == []


def test_a_signal_while_finished_work_is_removed_does_not_stop_that(place):
    with program(place) as process:
        go_on(process)
        hear(process, "removing")
        process.send_signal(signal.SIGINT)
        go_on(process)
        assert process.wait() == 0
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_of_a_test_leaves_nothing(bench_of, place, monkeypatch, end):
    seen = []

    def ended(*_args):
        seen.extend(path.name for path in place.rglob("*"))
        signal.raise_signal(end)

    monkeypatch.setattr(OnDisk, "batch", ended)
    with pytest.raises(KeyboardInterrupt if end == signal.SIGINT else SystemExit):
        bench_of("kernels").run("run", place)
    assert "particles.raw" in seen
    assert list(place.iterdir()) == []


def test_answers_to_signals_come_back_and_what_is_not_to_be_heard_stays_unheard(place):
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    with scratch_folder(place, "storage", print):
        assert signal.getsignal(signal.SIGTERM) is not before[1]
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with scratch_folder(place, "storage", print):
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_what_cannot_be_removed_is_named(place, monkeypatch):
    monkeypatch.setattr("shutil.rmtree", lambda *_args, **_more: None)
    said = []
    with scratch_folder(place, "storage", said.append) as folder:
        pass
    assert said == [f"{folder} could not be removed: remove it by hand"]
