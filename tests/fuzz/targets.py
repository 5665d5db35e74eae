"""What is fuzzed: each target makes whole inputs once, and says how one is damaged and read.

To add a target, write its two functions and name them in `TARGETS`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fuzz.mutators import OF_TEXT, OF_TIFF, Mutator

MOST_FRAMES = 40
"""Frames that are read of a damaged movie: it may claim any number."""
MOST_PIXELS = 10**7


class Target(NamedTuple):
    """A kind of input."""

    make: Callable[[Path], None]
    """Writes whole inputs into a folder, each a file or folder of its own."""
    mutators: Sequence[Mutator]
    read: Callable[[Path], None]
    """Reads an input as a user would have it read."""


def damaged(target, whole, folder, random):
    """Put a damaged copy of one of the whole inputs into a folder."""
    source = random.choice(sorted(whole.iterdir()))
    copy = folder / source.name
    if source.is_file():
        files = [shutil.copyfile(source, copy)]
    else:
        shutil.copytree(source, copy)
        files = sorted(path for path in copy.rglob("*") if path.is_file() and path.stat().st_size)
    for file in random.sample(files, min(len(files), random.choice((1, 1, 3, 8)))):
        kind = random.randrange(40) if source.is_dir() else None
        if kind == 0:
            file.unlink()
        elif kind == 1:
            file.unlink()
            file.mkdir()
        else:
            file.write_bytes(random.choice(target.mutators)(file.read_bytes(), random))
    return copy


def make_movies(folder):
    """Stacks in every form that writers give them."""
    import tifffile

    frames = np.random.default_rng(1).integers(0, 999, (5, 24, 32), dtype=np.uint16)
    forms = {
        "plain": {"metadata": None},
        "shaped": {},
        "ome.ome": {"ome": True, "metadata": {"axes": "TYX"}},
        "imagej": {"imagej": True, "metadata": {"axes": "TYX"}},
        "bare": {"imagej": True, "metadata": {"axes": "TYX"}, "truncate": True},
        "zlib": {"compression": "zlib", "predictor": True},
        "lzw": {"compression": "lzw", "rowsperstrip": 8},
        "tiled": {"tile": (16, 16), "compression": "zstd"},
        "big": {"bigtiff": True, "byteorder": ">"},
    }
    for name, options in forms.items():
        tifffile.imwrite(folder / f"{name}.tif", frames, photometric="minisblack", **options)
    axes = {"metadata": {"axes": "TYX"}}
    tifffile.imwrite(folder / "page.tif", frames[:3].astype(np.uint8), **axes)
    tifffile.imwrite(folder / "real.tif", frames.astype(np.float32), photometric="minisblack")
    colours = frames[:, :, :30].astype(np.uint8).reshape(5, 24, 10, 3)
    tifffile.imwrite(folder / "rgb.tif", colours, photometric="rgb", compression="deflate")
    channels = frames[:4].reshape(2, 2, 24, 32)
    tifffile.imwrite(folder / "channels.ome.tif", channels, metadata={"axes": "TCYX"})
    (folder / "folder").mkdir()
    for number, frame in enumerate(frames):
        tifffile.imwrite(folder / "folder" / f"f{number}.tif", frame, photometric="minisblack")


def read_movie(path):
    """Read every frame, or the first of a movie that claims many."""
    from pyscale_stages.movie import Movie

    movie = Movie.open(path)
    if np.prod(movie.shape_yx) * movie.n_channels <= MOST_PIXELS:
        for _ in movie.frames(0, min(movie.n_frames, MOST_FRAMES)):
            pass


def make_slides(folder):
    """Slides that each reader opens."""
    import tifffile
    import zarr

    pixels = np.random.default_rng(1).integers(0, 255, (96, 128, 3), dtype=np.uint8)
    with tifffile.TiffWriter(folder / "pyramid.tif") as tiff:
        options = {"tile": (32, 32), "photometric": "rgb"}
        tiff.write(pixels, subifds=1, compression="jpeg", **options)
        tiff.write(pixels[::2, ::2], subfiletype=1, compression="jpeg", **options)
    for version in (2, 3):
        group = zarr.open_group(folder / f"v{version}.zarr", mode="w", zarr_format=version)
        group.create_array("0", data=pixels[..., 0], chunks=(64, 64))
        scale = [{"type": "scale", "scale": [0.5, 0.5]}]
        image = {"axes": [{"name": "y"}, {"name": "x", "unit": "micrometer"}],
                 "datasets": [{"path": "0", "coordinateTransformations": scale}]}  # fmt: skip
        attributes = {"multiscales": [image | {"version": "0.4"}]}
        group.attrs.update(attributes if version == 2 else {"ome": attributes})


def read_slide(path):
    """Read a region of each level."""
    from pyscale_stages.slides.opening import AnySlide

    slide = AnySlide("auto")
    slide.open(str(path))
    for level in range(slide.get_properties().level_count):
        slide.read_region(0, 0, level, 16, 16)
    slide.close()


def make_tables(folder):
    """Tables of wall times, of trials and of tasks."""
    trials = ["stage,workers,wall_s,repeat,work"]
    tasks = ["stage,workers,repeat,task,wall_s,start,end,cpus,node"]
    for workers in (1, 2, 4):
        for repeat in range(3):
            trials.append(f"segment,{workers},{60 / workers + repeat:.2f},{repeat},9{repeat}.5")
            tasks += [
                f"segment,{workers},{repeat},w{task},{60 / workers + task},"
                f"2026-03-17T11:0{repeat}:00,2026-03-17T11:0{repeat}:59,2,n{task}"
                for task in range(workers)
            ]
    (folder / "trials.csv").write_text("\n".join(trials))
    (folder / "tasks.csv").write_text("\n".join(tasks))


def read_table(path):
    """Advise from it, which analyses it as a report does."""
    from pyscale.api import advise

    advise(table=path, site="plain").model_dump_json()


def make_traces(folder):
    """Traces of every format, each named by it."""
    day = "2026-03-17T11:4"
    dates = [f"{day}0:24|{day}{n}:25|{day}{n}:59" for n in range(3)]
    sacct = ["JobID|JobIDRaw|State|Submit|Start|End|ElapsedRaw|TotalCPU|AllocCPUS|NTasks|NodeList|"
             "ReqMem|MaxRSS|AllocTRES|JobName"]  # fmt: skip
    for n, date in enumerate(dates):
        tres = "cpu=2,mem=2000M,node=1,gres/gpu=1"
        for step, name in (("", "segment"), (".batch", "batch")):
            told_of = f"COMPLETED|{date}|34|00:30.500|2|1|n1|2000M|110145536|{tres}"
            sacct.append(f"100_{n}{step}|{100 + n}{step}|{told_of}|{name}")
    (folder / "sacct").write_text("\n".join(sacct))
    fields = "task_id hash name status attempt submit duration realtime %cpu peak_rss cpus memory"
    nextflow = ["\t".join(fields.split())]
    for n in range(3):
        times = (f"2026-03-17 11:42:2{n}.5", "1m 10s", "1m", "97.5%", "2.5 GB", "2", "4 GB")
        nextflow.append("\t".join((f"{n}", f"ab/{n}", f"SEGMENT ({n})", "COMPLETED", "1", *times)))
    (folder / "nextflow").write_text("\n".join(nextflow))
    columns = ("s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\t"
               "jobid\trule_name\twildcards\tparams\tthreads\tresources")  # fmt: skip
    line = ("6.5\t0:00:06\t64.00\t77.88\t6.0\t6.0\t0.0\t-\t0.0\t5.50\t1\tsegment\t"
            "{'workers': '1'}\t{}\t2\t{'mem_mib': 287}")  # fmt: skip
    (folder / "snakemake").write_text(f"{columns}\n{line}\n")


OPTIONS = {"snakemake": {"workers": 1}}


def read_trace(path):
    """Import it; what is accepted must be a table that is accepted."""
    from pyscale.report.table import read_wall_times
    from pyscale.traces.command import import_traces

    out = path.with_name("table.csv")
    import_traces(path.stem, [path], out=out, **OPTIONS.get(path.stem, {}))
    try:
        read_wall_times(out)
    except Exception as error:
        raise AssertionError("the table of an accepted trace is refused") from error


NOT_SUITES = {"edges", "pyproject"}
"""Files of the example of a package: its suite names a stage that nobody installed."""


def make_settings(folder):
    """Suites, sites and files of settings, each in a folder of its own."""
    from pyscale.resources import shipped

    config = shipped("config")
    examples = Path(__file__).resolve().parents[2] / "docs" / "examples"
    own = {"suites": [file for file in examples.glob("*/*.toml") if file.stem not in NOT_SUITES]}
    for kind in ("suites", "sites"):
        for file in (*(config / kind).glob("*.toml"), *own.get(kind, ())):
            (folder / f"{kind}-{file.stem}").mkdir()
            shutil.copyfile(file, folder / f"{kind}-{file.stem}" / f"{kind}.toml")
    (folder / "settings").mkdir()
    shutil.copyfile(config / "defaults.toml", folder / "settings" / "pyscale.toml")


def read_settings(path):
    """Load it; of a site, write its batch scripts."""
    from pyscale.commands.emitting import render
    from pyscale.planning.sites import load_site
    from pyscale.planning.suite import load_suite
    from pyscale.settings import load_settings

    if (path / "suites.toml").exists():
        load_suite(str(path / "suites.toml"))
    elif (path / "sites.toml").exists():
        render(_plan(), load_site(str(path / "sites.toml")), [])
    else:
        with chdir(path):
            load_settings()


@cache
def _plan():
    from pyscale.planning.planentry import Dataset
    from pyscale.planning.planner import make_plan
    from pyscale.planning.suite import load_suite
    from pyscale.settings import Settings

    settings = Settings().model_dump(mode="json")
    movie = Dataset(Path("/data/movie.tif"), 8)
    return make_plan(load_suite("pipeline"), movie, run_id="r", settings=settings, workers=(2,))


def make_runs(folder):
    """A run with all its records."""
    from pretendedrun import make_run

    made = make_run(folder / "made", counts=(1, 2), repeats=2, frames=4).path
    made.rename(folder / "run")
    shutil.rmtree(folder / "made")


def read_run(path):
    """Ask for its state, its story, its results and its advice."""
    from pyscale.evaluation.results import results_of
    from pyscale.progress.statusview import show
    from pyscale.report.terminal import summary_of
    from pyscale.store.folder import find_run

    show(str(path), watch=False, as_json=True, log=False)
    show(str(path), watch=False, as_json=False, log=True)
    summary_of(results_of(find_run(path.parent, str(path))))


TARGETS = {
    "movies": Target(make_movies, OF_TIFF, read_movie),
    "slides": Target(make_slides, (*OF_TIFF, *OF_TEXT), read_slide),
    "tables": Target(make_tables, OF_TEXT, read_table),
    "traces": Target(make_traces, OF_TEXT, read_trace),
    "settings": Target(make_settings, OF_TEXT, read_settings),
    "runs": Target(make_runs, OF_TEXT, read_run),
}
