"""Batch scripts as `--emit` renders them, and scripts of jobs as a run submits them."""

from pathlib import Path

from pyscale.commands.emitting import render
from pyscale.executors.submission import script_of
from pyscale.measuring.holding import held_parameters
from pyscale.planning.grid import unfolded
from pyscale.planning.planentry import Dataset
from pyscale.planning.planner import make_plan
from pyscale.planning.sites import Override, load_site
from pyscale.planning.suite import Suite, SuiteStage, load_suite
from pyscale.runtimes.starting import with_images
from pyscale.sbatch.held import held_trials
from pyscale.settings import Settings
from pyscale.store.provenance import ImageFile
from pyscale_stages.reading import Reading

GPUS = Override(device="cuda", gpus=4, options=("--gpus-per-task=a100:{gpus}",))
MOVIE = Path("/data/my movie, [1].tif")


def texts_for(site, suite="pipeline", movie=MOVIE, **changes):
    """Scripts of a suite that ships with pyscale."""
    return rendered(site, load_suite(suite), movie, **changes)


def rendered(site, suite, movie=Path("/data/movie.tif"), **changes):
    dataset = Dataset(movie, frames=8, reading=Reading(axes="TYX"))
    return scripts_of(site, planned(suite, dataset, **({"repeats": 2} | changes)))


def of_the_machine(site, workers=(1,), **changes):
    """Scripts of the suite `system` on a folder with a blank in its name."""
    suite = unfolded(
        load_suite("system"),
        {},
        device="cpu",
        cores=lambda _stage, _device: 4,
        fitted={"kernels": {"device": ("cpu", "cuda")}},
    )
    plan = planned(suite, None, workers, path=Path("/data/to measure"), **changes)
    return scripts_of(site, plan)


def of_ranks(site, **changes):
    """Scripts of one rank and of two that load patches of slides."""
    suite = load_suite("loader")
    one = {"loader": suite.stages["loader"].model_copy(update={"grid": {}, "threads": 2})}
    slides = Dataset(Path("/data/my slides"), frames=4)
    return scripts_of(site, planned(suite.model_copy(update={"stages": one}), slides, **changes))


def of_image(site, **changes):
    """Scripts of one rank and of two that share an image."""
    plan = planned(load_suite("reconstruct"), None, only=("tomography_3d",), **changes)
    return scripts_of(site, plan)


def planned(suite, dataset, workers=(1, 2), only=(), **changes):
    settings = Settings(**changes).model_dump(mode="json")
    return with_images(
        make_plan(suite, dataset, run_id="one", settings=settings, workers=workers, only=only)
    )


def scripts_of(site, plan):
    """Scripts of a plan, whose images lie somewhere."""
    images = [
        ImageFile(
            name=name,
            path=Path(f"/images/of us/{name}.sif"),
            size_bytes=1,
            modified_ns=1,
            sha256="ab" * 32,
            locked=True,
            git_commit="c0ffee",
            labels={},
        )
        for name in sorted({trial.image for trial in plan.trials if trial.image})
    ]
    return render(plan, site, images)


def grid():
    """A suite of two points of a grid."""
    frames = {"frames": "movie"}
    one = SuiteStage(stage="segment", inputs=frames, threads=1)
    four = SuiteStage(
        stage="segment", inputs=frames, threads=4, beside="one", params={"channel": 1}
    )
    return Suite(name="s", summary="", stages={"one": one, "four": four})


def own_ranks():
    """A suite of a step of the user's own that runs as ranks."""
    step = {"command": "mpi {input} {output}", "split": "ranks", "output": "out.txt"}
    return Suite.model_validate({"name": "mine", "summary": "Mine", "stages": {"mine": step}})


def held(site, **changes):
    """Scripts of the jobs of the pipeline, as a run submits them."""
    plan = planned(load_suite("pipeline"), Dataset(MOVIE, frames=8), **changes)
    return {
        one.trials[0].entry: script_of(held_parameters(plan, site, one, 60), Path("/my runs/one"))
        for one in held_trials(plan, site)
    }


PLAIN, MODULES = load_site("plain"), load_site("modules")
GRID_ENGINE = load_site("gridengine")
ON_SCRATCH = PLAIN.model_copy(update={"scratch": "/disk/$USER"})
MEASURED = MODULES.model_copy(update={"scratch": "/disk/$USER", "override": (GPUS,)})
IMAGES = {"runtime": "apptainer"}
ON_GPUS = IMAGES | {"device": "cuda"}
DISK = {"stages": {"storage": {"cache_folder": "/disk of the node"}}}
STEPS = ("windows.sbatch", "merge.sbatch")
SHOWN = {
    # Each configuration runs once however often it would be measured, and waits for what it reads.
    "pipeline": lambda: (
        texts_for(PLAIN, stages={"segment": {"min_size_px": 7}}, repeats=6),
        ("README.md", "register_denoise-n1/windows.sbatch", "segment-n2/params.json"),
    ),
    "two channels": lambda: (texts_for(PLAIN, "pipeline_two_channels"), ("submit.sh",)),
    # Of more windows than workers as many run at once as there are workers.
    "chunks": lambda: (
        texts_for(PLAIN, chunks_per_worker=2),
        ("README.md", *(f"segment-n2/{step}" for step in STEPS), "contact-n2/windows.sbatch"),
    ),
    # An image sees its task and its input and no more, and is pinned for the day of submission.
    "images": lambda: (
        texts_for(PLAIN, **IMAGES),
        ("submit.sh", "images.sha256", "segment-n2/windows.sbatch"),
    ),
    # GPUs are asked for where they compute and not to merge.
    "amd": lambda: (
        texts_for(load_site("amd"), **ON_GPUS),
        [f"segment-n2/{step}" for step in STEPS],
    ),
    "modules": lambda: (texts_for(MODULES, **ON_GPUS), ("segment-n2/windows.sbatch",)),
    # A folder to measure can be written and is never copied; jobs do not slow each other.
    "machine": lambda: (
        of_the_machine(MEASURED, (1, 2), **IMAGES, **DISK),
        ("README.md", "submit.sh", "storage-n1/windows.sbatch", "kernels_cuda-n1/windows.sbatch"),
    ),
    # On one node workers share its cores and GPUs; one job runs all scripts in their order.
    "gridengine": lambda: (
        texts_for(GRID_ENGINE, chunks_per_worker=2),
        ("README.md", "all.sh", "submit.sh", "workers.sh", "segment-n2/windows.sh"),
    ),
    "gridengine and ranks of an image on GPUs": lambda: (
        of_image(GRID_ENGINE, **ON_GPUS),
        ("all.sh", "submit.sh", "tomography_3d-n2/windows.sh", "tomography_3d-n2/merge.sh"),
    ),
    # Each point of a grid has its own script, parameters and cores; nothing is compared.
    "grid": lambda: (
        rendered(PLAIN, grid()),
        ("four-n1/params.json", "one-n1/windows.sbatch", "four-n2/merge.sbatch"),
    ),
    # One job starts all ranks, and one rank needs no other.
    "ranks": lambda: (
        of_ranks(PLAIN),
        ("README.md", "submit.sh", "loader-n1/windows.sbatch", "loader-n2/windows.sbatch"),
    ),
    # Slides are read where they lie, for it is their storage that is measured.
    "ranks in images": lambda: (of_ranks(ON_SCRATCH, **IMAGES), ("loader-n2/windows.sbatch",)),
    "ranks of an image": lambda: (
        of_image(PLAIN),
        ("README.md", "tomography_3d-n2/windows.sbatch"),
    ),
    "ranks of an image on GPUs": lambda: (
        of_image(PLAIN, **ON_GPUS),
        ("README.md", *(f"tomography_3d-n{n}/windows.sbatch" for n in (1, 2))),
    ),
    "ranks of a step": lambda: (
        rendered(PLAIN, own_ranks()),
        ("README.md", "mine-n2/windows.sbatch"),
    ),
    # Jobs carry the name of their run and are never requeued; stages on other nodes have their own.
    "jobs": lambda: (held(PLAIN, chunks_per_worker=3), None),
    "jobs of two kinds": lambda: (held(MODULES, device="cuda"), None),
}
"""Files that are written, and the names of those that are shown; None of all."""


def shown(kind):
    """Names of all files of a kind, and the text of some."""
    texts, names = SHOWN[kind]()
    parts = (f"==> {name} <==\n{texts[name]}" for name in names or texts)
    return "\n".join([*sorted(texts), *parts])
