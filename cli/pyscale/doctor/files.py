"""Checks of folders and data: space, permissions and page cache; presence and form of the data."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from shutil import disk_usage
from typing import Any

from pyscale.data.ensure import reading_from
from pyscale.data.registry import SYNTH_MOVIE, Registry, load_registry, made_kind
from pyscale.data.verify import dataset_path, name_and_file, presence
from pyscale.doctor.examined import firsts, folder_of
from pyscale.findings import Finding, ok, problem, refused, warning
from pyscale.planning.plan import Plan
from pyscale.resources import shipped
from pyscale_stages.atomic import naming
from pyscale_stages.errors import BadInput
from pyscale_stages.machine.place import with_spare
from pyscale_stages.measure import pagecache
from pyscale_stages.measure.mounts import filesystem_of
from pyscale_stages.movie import AS_IT_IS, Movie, refuse_cut_files
from pyscale_stages.reading import Reading
from pyscale_stages.registry import load_stage
from pyscale_stages.slides.reading import slide_files
from pyscale_stages.wording import plural, size_in_words

IN_MEMORY = {"tmpfs", "ramfs"}
FULL_DISK = "disk.room"
"""The check that finds too little room for what a run writes."""
LEAST_BYTES = 1 << 30
"""Room for the records and logs of a small run."""
SCRATCH_BYTES = 64 << 20
"""Room for compiled kernels and Java's small files."""
AMPLE = 8
"""Times the movie's size that the outputs of a whole run stay below."""
_TRIED_BYTES = 1 << 20


def disks(plan: Plan) -> Iterator[Finding]:
    """Try every folder that a run uses."""
    settings = ["runs_folder", "data_folder"]
    if plan.settings["runtime"] == "apptainer":
        settings.append("images_folder")
    for name in settings:
        yield folder(folder_of(plan, name), f"set {name} to another disk")
    yield folder(Path(tempfile.gettempdir()), "set TMPDIR to another disk", SCRATCH_BYTES)
    for name in ("runs_folder", "data_folder"):
        yield page_cache(folder_of(plan, name), plan.settings["cache"])


def folder(path: Path, otherwise: str, least_bytes: int = LEAST_BYTES) -> Finding:
    """Write into a folder, or into the nearest one that exists above it, and look at its disk.

    `otherwise`: what to do where it cannot be used.
    """
    there = nearest(path)
    reason = refusal(there)
    if reason:
        return problem("disk.folder", path, f"it cannot be written: {reason}", otherwise)
    disk = filesystem_of(there)
    free_bytes = disk.free_bytes or 0
    what = f"{disk.fs_type} with {free_bytes / 2**30:.1f} GiB free"
    if free_bytes < least_bytes:
        return problem(FULL_DISK, path, what, f"free space there, or {otherwise}")
    return ok("disk.folder", path, what)


def page_cache(path: Path, asked: str) -> Finding:
    """Find out by a file of its own which states of the page cache can be had on a disk."""
    there = nearest(path)
    if refusal(there):
        return ok("disk.page_cache", path, "not tried, as the folder is not writable")
    with naming(there), tempfile.NamedTemporaryFile(prefix=".pyscale-doctor-", dir=there) as file:
        file.write(os.urandom(_TRIED_BYTES))
        file.flush()
        eviction = pagecache.evict(Path(file.name))
    why = f" ({eviction.reason})" if eviction.reason else ""
    if eviction.state == "verified-cold":
        said = f"its files can be cold, proved by {eviction.after.method}{why}"
        return ok("disk.page_cache", path, said)
    said = f"its files cannot be made cold{why}"
    if eviction.state == "evicted-unverified":
        said = f"its files can be evicted, but a cold cache cannot be proved{why}"
    if asked == "cold":
        return warning("disk.page_cache", path, said, "use --cache warm or --cache asis")
    return ok("disk.page_cache", path, f"{said}; --cache {asked} does not need it")


def room(runs_folder: Path, movie_bytes: int) -> Iterator[Finding]:
    """Compare the free space of the runs' disk with the movie, which outputs are as large as."""
    free = free_bytes(runs_folder)
    if free >= AMPLE * movie_bytes:
        return
    finding = problem if free < movie_bytes else warning
    yield finding(
        FULL_DISK,
        runs_folder,
        f"its disk has {size_in_words(free)} left, and each stage's output is about "
        f"{size_in_words(movie_bytes)}",
        "free space there, or set runs_folder to another disk",
    )


def place(plan: Plan) -> Iterator[Finding]:
    """Look at the folder that is measured, where one is; the folder of the runs is made later."""
    path, other = plan.place, "give another folder by --set path=DIR"
    if path is None:
        return
    reason = refusal(nearest(path) if path == folder_of(plan, "runs_folder") else path)
    if reason:
        yield problem("disk.place", path, f"the place to measure is not usable: {reason}", other)
        return
    needed, free = written_bytes(plan), free_bytes(path)
    said = f"the tests write {size_in_words(needed)}, and its disk has {size_in_words(free)} left"
    if free >= needed:
        yield ok("disk.place", path, said)
    else:
        do = f"free space there, {other}, or lower stages.storage and stages.decompress"
        yield problem(FULL_DISK, path, said, do)


def written_bytes(plan: Plan) -> int:
    """Room that is wanted in the folder: what all workers of one entry write at once."""
    each_bytes, alone = [0], True
    for trial in firsts(plan):
        stage = load_stage(trial.stage)
        each_bytes.append(stage.room_bytes(stage.params.model_validate(trial.params)))
        alone &= stage.work == "each"
    # Beside a suite of something else one worker measures the machine.
    workers = max(trial.processes for trial in plan.trials) if alone else 1
    return workers * with_spare(max(each_bytes))


def out_of_nodes_sight(plan: Plan) -> Iterator[Finding]:
    """Look whether something that every node must see lies where each machine has its own."""
    seen_by_all = "put it where all nodes see it"
    runs = "set PYSCALE_RUNS_FOLDER (runs_folder in pyscale.toml) to a folder that all nodes see"
    environment = "install pyscale where all nodes see it"
    own = [Path(name).resolve() for name in ("/tmp", "/var/tmp", tempfile.gettempdir())]
    for what, path, otherwise in (
        ("the runs folder", folder_of(plan, "runs_folder"), runs),
        ("the movie", plan.movie, seen_by_all),
        ("this Python environment", Path(sys.prefix), environment),
    ):
        if path is None:
            continue
        existing = nearest(path).resolve()
        in_memory = filesystem_of(existing).fs_type in IN_MEMORY
        if in_memory or any(existing.is_relative_to(name) for name in own):
            yield warning(
                "disk.shared",
                path,
                f"{what} is in a folder that is usually local to each machine, but every node "
                "must see it",
                otherwise,
            )


def refusal(path: Path) -> str:
    """Why a folder cannot be written, by really writing a file there; empty where it can."""
    try:
        with tempfile.NamedTemporaryFile(prefix=".pyscale-doctor-", dir=path) as file:
            file.write(b"\0" * 4096)
            file.flush()
            # Quotas and network filesystems refuse here, or not at all.
            os.fsync(file.fileno())
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            return "it is full, or this user's quota is used up"
        return (error.strerror or type(error).__name__).lower()
    return ""


def nearest(path: Path) -> Path:
    """The path, or the nearest folder above it that exists."""
    while not path.exists():
        path = path.parent
    return path


def free_bytes(folder: Path) -> int:
    """Room on the disk of a folder that need not be there yet."""
    return disk_usage(nearest(folder.absolute())).free


def data(plan: Plan) -> Iterator[Finding]:
    """Look for the data of a plan, by names and sizes, and open them as stages do."""
    if plan.suite.reads_data:
        yield _looked_at(plan, plan.settings["data"], plan.settings)
        for own in plan.own_data:
            yield _looked_at(plan, own.data, {})


def _looked_at(plan: Plan, name: str, settings: Mapping[str, Any]) -> Finding:
    registry, folder = load_registry(shipped("config")), folder_of(plan, "data_folder")
    path = dataset_path(name, registry, folder)
    if path is None:
        return _absent(name, registry, folder)
    if made_kind(path) == "movie":
        path /= SYNTH_MOVIE
    try:
        if plan.suite.data == "slides":
            return ok("data.found", path, plural(len(slide_files(path)), "slide"))
        entry = registry.datasets.get(name)
        movie = Movie.open(path, reading=reading_from(settings, entry))
        refuse_cut_files(movie)
    except BadInput as error:
        return refused("data.found", "", error)
    return ok("data.found", path.parent, movie.inventory.line(plan.channels))


def _absent(name: str, registry: Registry, folder: Path) -> Finding:
    name, _ = name_and_file(name, registry)
    dataset = registry.datasets.get(name)
    if dataset is None:
        return problem(
            "data.found",
            name,
            "neither a dataset nor an existing path",
            "name a dataset of `pyscale data list`, or a path, by --data",
        )
    state = presence(name, dataset, folder)
    if state == "changed":
        what = f"a file of it in {folder} has the wrong size"
        return problem("data.found", name, what, f"pyscale data verify {name}")
    what = f"{'missing' if state == 'absent' else 'incomplete'}: a run would fetch it first"
    return warning("data.found", name, what, f"pyscale data fetch {name}")


def first_frame(plan: Plan) -> Iterator[Finding]:
    """Read the first frame of the movie, where stages of pyscale read it, and count its channels.

    A run of an hour may come to the stage that asks for a channel only at its end.
    """
    path = plan.movie
    if path is None or not path.exists() or plan.suite.data not in {"movie", "labels"}:
        return
    if readers := plan.readers:
        yield from _readable(path, plan.reading or AS_IT_IS, readers)


def _readable(path: Path, reading: Reading, readers: Mapping[str, int | None]) -> Iterator[Finding]:
    try:
        movie = Movie.open(path, reading=reading)
        movie.read(0, 1)
    except BadInput as error:
        yield refused("data.found", "", error)
        return
    for entry, channel in readers.items():
        if channel is not None and channel >= movie.n_channels:
            yield problem(
                "data.channels",
                entry,
                f"its channel is {channel}, but {path} has "
                f"{plural(movie.n_channels, 'channel')}, counted from 0",
                f"set {entry}.channel to at most {movie.n_channels - 1}",
            )
