"""The rendered scripts: sound shell, and what a task would be given otherwise."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Callable
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest

from pyscale.doctor.nodes import script
from pyscale.executors.submission import setup_lines
from pyscale.grid import unfolded
from pyscale.plan import Plan
from pyscale.planning import Dataset, make_plan
from pyscale.sbatch.emit import render, write_scripts
from pyscale.settings import Settings
from pyscale.sites import Override, Site, load_site
from pyscale.store.provenance import ImageFile
from pyscale.suite import Suite, SuiteStage, load_suite
from pyscale.tomlfile import shipped_names
from pyscale_stages.contract import TaskSpec

SHA256 = "ab" * 32
SRUN = """\
#!/usr/bin/env bash
set -u
ntasks=1 code=0 pids=()
while [[ $1 == --* ]]; do
    [[ $1 == --ntasks=* ]] && ntasks=${1#*=}
    shift
done
for ((rank = 0; rank < ntasks; rank++)); do
    SLURM_PROCID=$rank "$@" &
    pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || code=$?; done
exit "$code"
"""
Texts = dict[str, str]


def texts_for(
    site: Site,
    suite: str = "pipeline",
    movie: Path = Path("/data/my movie, [1].tif"),
    **changes: Any,
) -> Texts:
    return rendered(site, load_suite(suite), movie, **changes)


def rendered(
    site: Site, suite: Suite, movie: Path = Path("/data/movie.tif"), **changes: Any
) -> Texts:
    dataset = Dataset(movie, frames=8, axes="TYX")
    return scripts_of(site, suite, dataset, Settings(**({"repeats": 2} | changes)))


def scripts_of(
    site: Site,
    suite: Suite,
    dataset: Dataset | None,
    settings: Settings,
    workers: tuple[int, ...] = (1, 2),
    only: tuple[str, ...] = (),
) -> Texts:
    plan = make_plan(
        suite,
        dataset,
        run_id="one",
        settings=settings.model_dump(mode="json"),
        workers=workers,
        only=only,
    )
    return render(plan, site, images_of(plan))


def of_the_machine(site: Site, workers: tuple[int, ...] = (1,), **changes: Any) -> Texts:
    """Scripts of the suite `system` on a folder with a blank in its name."""
    suite = unfolded(
        load_suite("system"),
        {},
        device="cpu",
        cores=lambda _stage, _device: 4,
        fitted={"kernels": {"device": ("cpu", "cuda")}},
    )
    settings = Settings(path=Path("/data/to measure"), **changes)
    return scripts_of(site, suite, None, settings, workers)


def images_of(plan: Plan) -> list[ImageFile]:
    return [
        ImageFile(
            name=name,
            path=Path(f"/images/of us/{name}.sif"),
            size_bytes=1,
            modified_ns=1,
            sha256=SHA256,
            locked=True,
            git_commit="c0ffee",
            labels={},
        )
        for name in sorted({trial.image for trial in plan.trials if trial.image})
    ]


def directives(text: str) -> list[str]:
    return [line.removeprefix("#SBATCH ") for line in text.splitlines() if "#SBATCH" in line]


Shellchecked = Callable[[Texts], int]


@pytest.fixture
def shellchecked(tmp_path: Path, missing: Callable[[str, str], None]) -> Shellchecked:
    """Write scripts, hold them to shellcheck, and count them."""
    if shutil.which("shellcheck") is None:
        missing("shellcheck", "run scripts/provide_slurm.sh as root, or install shellcheck")
    folder = tmp_path / "scripts"

    def check(texts: Texts) -> int:
        write_scripts(folder, texts)
        scripts = [*folder.rglob("*.sbatch"), *folder.rglob("*.sh")]
        done = subprocess.run(["shellcheck", *scripts], capture_output=True, text=True, check=False)
        assert (done.stdout, done.returncode) == ("", 0)
        return len(scripts)

    return check


@pytest.mark.slow
@pytest.mark.parametrize("runtime", ["native", "apptainer"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("name", shipped_names("site"))
def test_every_script_passes_shellcheck(name, device, runtime, shellchecked):
    texts = texts_for(load_site(name), runtime=runtime, device=device)
    assert shellchecked(texts) == 4 + 4 + 4 + 1


GPUS = Override(device="cuda", gpus=4, gpu_type="a100")


@pytest.mark.parametrize("scratch", [None, "/disk/$USER"])
def test_a_folder_to_measure_can_be_written_and_is_never_copied(scratch):
    site = load_site("plain").model_copy(update={"scratch": scratch, "override": (GPUS,)})
    site = site.model_copy(update={"gpu_option": "--gres=gpu:{type}:{count}"})
    stages = {"storage": {"cache_folder": "/disk of the node"}}
    texts = of_the_machine(site, runtime="apptainer", stages=stages)
    script = texts["storage-n1/windows.sbatch"]
    assert "input_place='/data/to measure'\n" in script
    assert '    --mount "$(mount_of "$input_place")" \\\n' in script
    assert "    --mount \"$(mount_of '/disk of the node')\" \\\n" in script
    assert "cp -RL" not in script
    readme = texts["README.md"]
    assert readme.startswith("# system of the folder /data/to measure, as batch scripts\n")
    assert "the images and the folder to be measured; they need no pyscale" in readme
    assert "these are runs, not measurements" not in readme


def test_jobs_that_measure_the_machine_do_not_slow_each_other():
    site = load_site("modules").model_copy(update={"override": (GPUS,)})
    texts = of_the_machine(site, workers=(1, 2))
    calls = [line for line in texts["submit.sh"].splitlines() if " windows.sbatch" in line]
    names = [
        f"{entry}-n{n}"
        for entry in ("storage", "decompress", "kernels_cpu", "kernels_cuda")
        for n in (1, 2)
    ]
    assert calls == [
        f"submit {names[0]} windows.sbatch",
        *(
            f"when=afterany submit {name} windows.sbatch {before}"
            for before, name in pairwise(names)
        ),
    ]
    assert "afterany" not in texts_for(load_site("plain"))["submit.sh"]
    # One that measures a node asks for all of its GPUs.
    assert "--gres=gpu:a100:4" in directives(texts["kernels_cuda-n1/windows.sbatch"])
    assert not [d for d in directives(texts["kernels_cpu-n1/windows.sbatch"]) if "gpu" in d]


@pytest.mark.slow
def test_no_blank_lines_pile_up_and_none_ends_in_blanks():
    for name in shipped_names("site"):
        for runtime in ("native", "apptainer"):
            site = load_site(name)
            with_gpus = site.model_copy(
                update={"override": (GPUS,), "gpu_option": "--gpus={type}:{count}"}
            )
            texts = [texts_for(site, runtime=runtime), of_the_machine(with_gpus, runtime=runtime)]
            for text in chain.from_iterable(one.values() for one in texts):
                assert "\n\n\n" not in text
                assert not [line for line in text.splitlines() if line != line.rstrip()]
                assert text == "" or (text.endswith("\n") and not text.endswith("\n\n"))


def test_each_configuration_runs_once_however_often_it_would_be_measured():
    texts = texts_for(load_site("plain"), repeats=6)
    windows = [name for name in texts if name.endswith("windows.sbatch")]
    merges = [name for name in texts if name.endswith("merge.sbatch")]
    assert len(windows) == 8
    assert len(merges) == 4
    assert "--array=0" in directives(texts["segment-n1/windows.sbatch"])
    assert "--array=0-1" in directives(texts["segment-n2/windows.sbatch"])
    assert "frames=(0:4 4:8)\n" in texts["segment-n2/windows.sbatch"]


def test_each_point_of_a_grid_has_its_own_script_parameters_and_cores():
    """Nothing is compared: the scripts run, and measure nothing."""
    frames = {"frames": "movie"}
    one = SuiteStage(stage="segment", inputs=frames, threads=1)
    four = SuiteStage(
        stage="segment", inputs=frames, threads=4, beside="one", params={"channel": 1}
    )
    texts = rendered(
        load_site("plain"), Suite(name="s", summary="", stages={"one": one, "four": four})
    )
    for entry, threads in (("one", 1), ("four", 4)):
        script = texts[f"{entry}-n1/windows.sbatch"]
        assert f"--cpus-per-task={threads}" in directives(script)
        assert f"--threads {threads} \\\n" in script
        assert f"--cpus-per-task={threads}" in directives(texts[f"{entry}-n2/merge.sbatch"])
    assert json.loads(texts["four-n1/params.json"])["channel"] == 1
    assert not [name for name in texts if "beside" in name or "check" in name]


def test_of_more_windows_than_workers_as_many_run_at_once_as_there_are_workers():
    texts = texts_for(load_site("plain"), chunks_per_worker=2)
    assert "--array=0-1%1" in directives(texts["segment-n1/windows.sbatch"])
    assert "--array=0-3%2" in directives(texts["segment-n2/windows.sbatch"])
    assert "frames=(0:2 2:4 4:6 6:8)\n" in texts["segment-n2/windows.sbatch"]
    assert "for worker in {0..3}; do\n" in texts["segment-n2/merge.sbatch"]
    assert "for worker in {0..1}; do\n" in texts["segment-n1/merge.sbatch"]
    assert "4 x segment" in texts["README.md"]
    assert "merge/out" in texts["track-n1/windows.sbatch"]
    source = '"$PWD/segment-n1/merge/out/labels.ome.tif"'
    assert f"input_labels={source}\n" in texts["contact-n2/windows.sbatch"]


def test_jobs_wait_for_what_they_read_in_the_order_of_the_pipeline():
    submit = texts_for(load_site("plain"), suite="pipeline_two_channels")["submit.sh"]
    calls = [line.split()[1:] for line in submit.splitlines() if line.startswith("submit ")]
    assert calls[:4] == [
        ["register_denoise-n1", "windows.sbatch"],
        ["register_denoise-n2", "windows.sbatch"],
        ["register_denoise-n2", "merge.sbatch", "register_denoise-n2"],
        ["segment_ch0-n1", "windows.sbatch", "register_denoise-n1"],
    ]
    assert ["contact-n2", "windows.sbatch", "segment_ch0-n1", "segment_ch1-n1"] in calls
    first = {call[0]: position for position, call in reversed(list(enumerate(calls)))}
    assert all(
        first[needed] < first[call[0]] or needed == call[0] for call in calls for needed in call[2:]
    )


def test_parameters_axes_and_paths_reach_the_tasks_that_they_are_for():
    texts = texts_for(load_site("plain"), stages={"segment": {"min_size_px": 7}})
    assert json.loads(texts["segment-n2/params.json"])["min_size_px"] == 7
    text = texts["register_denoise-n1/windows.sbatch"]
    assert "--axes TYX" in text
    assert "--axes" not in texts["segment-n1/windows.sbatch"]
    # Blanks and brackets leave a path one word.
    (line,) = [line for line in text.splitlines() if line.startswith("input_frames=")]
    assert shlex.split(line) == ["input_frames=/data/my movie, [1].tif"]


def test_an_image_sees_its_task_and_its_input_and_no_more():
    text = texts_for(load_site("plain"), runtime="apptainer")["segment-n2/windows.sbatch"]
    for option in ("--containall", "--cleanenv", "--no-home"):
        assert option in text
    mounts = [line.strip(" \\") for line in text.splitlines() if "--mount" in line]
    assert mounts == [
        '[ ! -e "$valid" ] || beside=(--mount "$(mount_of "$valid" ,ro)")',
        '--mount "$(mount_of "$task")"',
        '--mount "$(mount_of "$params" ,ro)"',
        '--mount "$(mount_of "$input_frames" ,ro)"',
    ]
    assert f"export APPTAINERENV_PYSCALE_IMAGE_SHA256={SHA256}\n" in text
    assert "-m pyscale_stages" not in text


def test_the_images_are_pinned_for_the_day_of_submission():
    texts = texts_for(load_site("plain"), runtime="apptainer")
    assert f"{SHA256}  /images/of us/contact.sif\n" in texts["images.sha256"]
    assert "sha256sum --check --quiet images.sha256" in texts["submit.sh"]
    native = texts_for(load_site("plain"))
    assert "images.sha256" not in native
    assert "sha256sum" not in native["submit.sh"]


def test_gpus_are_asked_for_where_they_compute_and_not_to_merge():
    texts = texts_for(load_site("amd"), runtime="apptainer", device="cuda")
    windows, merge = texts["segment-n2/windows.sbatch"], texts["segment-n2/merge.sbatch"]
    assert "--gpus-per-node=1" in directives(windows)
    assert " --rocm " in windows
    assert not [line for line in directives(merge) if "gpu" in line]
    assert "--rocm" not in merge
    assert "singularity run" in merge
    nvidia = texts_for(load_site("modules"), runtime="apptainer", device="cuda")
    assert " --nv " in nvidia["segment-n2/windows.sbatch"]
    assert '"${!CUDA_VISIBLE_@}"' in nvidia["segment-n2/windows.sbatch"]


def test_modules_are_loaded_before_unset_variables_end_a_script():
    lines = texts_for(load_site("modules"))["segment-n1/windows.sbatch"].splitlines()
    assert lines.index("set -eo pipefail") < lines.index("module load apptainer")
    assert lines.index("module load apptainer") < lines.index("set -u")


def test_what_links_in_a_folder_of_frames_lead_to_is_seen_inside(tmp_path):
    real = tmp_path / "elsewhere" / "frame.tif"
    real.parent.mkdir()
    real.touch()
    movie = tmp_path / "movie"
    movie.mkdir()
    (movie / "frame.tif").symlink_to(real)
    text = texts_for(load_site("plain"), movie=movie, runtime="apptainer")
    mount = f"--mount type=bind,source={real},destination={real},ro"
    assert mount in text["register_denoise-n1/windows.sbatch"]
    staged = texts_for(load_site("modules"), movie=movie, runtime="apptainer")
    assert str(real) not in staged["register_denoise-n1/windows.sbatch"]


def of_ranks(site: Site, slides: Path = Path("/data/my slides"), **changes: Any) -> Texts:
    """Scripts of one rank and of two that load patches of slides."""
    settings = Settings(**changes)
    suite = load_suite("loader")
    one = {"loader": suite.stages["loader"].model_copy(update={"grid": {}, "threads": 2})}
    suite = suite.model_copy(update={"stages": one})
    return scripts_of(site, suite, Dataset(slides, frames=4), settings)


@pytest.mark.slow
@pytest.mark.parametrize("runtime", ["native", "apptainer"])
@pytest.mark.parametrize("scratch", [None, "/disk/$USER"])
def test_scripts_of_the_machine_and_of_ranks_pass_shellcheck(scratch, runtime, shellchecked):
    site = load_site("modules").model_copy(update={"scratch": scratch, "override": (GPUS,)})
    stages = {"storage": {"cache_folder": "/disk of the node"}}
    texts = of_the_machine(site, workers=(1, 2), runtime=runtime, stages=stages)
    texts |= {f"ranks/{name}": text for name, text in of_ranks(site, runtime=runtime).items()}
    image = of_image(load_site("plain"), runtime=runtime, device="cuda")
    texts |= {f"image/{name}": text for name, text in image.items()}
    assert shellchecked(texts) == (4 + 4 + 4 + 1) + (2 + 1 + 1) + 4


def test_one_job_starts_all_ranks_and_one_rank_needs_no_other():
    texts = of_ranks(load_site("plain"))
    alone, two = texts["loader-n1/windows.sbatch"], texts["loader-n2/windows.sbatch"]
    assert "--ntasks=2" in directives(two)
    assert not any(line.startswith("--array") for line in directives(two))
    assert "exec srun --ntasks=2 --cpus-per-task=2 --kill-on-bad-exit=1" in two
    assert '--rank "$SLURM_PROCID" --ranks 2 --meeting "$meeting"' in two
    assert "--array=0" in directives(alone)
    assert "--rank" not in alone
    for text in texts.values():
        assert "--frames" not in text
        assert "\n\n\n" not in text
    calls = [line for line in texts["submit.sh"].splitlines() if " windows.sbatch" in line]
    assert calls == [
        "submit loader-n1 windows.sbatch",
        "when=afterany submit loader-n2 windows.sbatch loader-n1",
    ]
    assert "The nodes need the slides and this Python environment" in texts["README.md"]
    assert "a folder for each rank" in texts["README.md"]


def test_ranks_of_a_step_of_ones_own_are_one_job_too():
    step = {"command": "mpi {input} {output}", "split": "ranks", "output": "out.txt"}
    suite = Suite.model_validate({"name": "mine", "summary": "Mine", "stages": {"mine": step}})
    texts = rendered(load_site("plain"), suite)
    two = texts["mine-n2/windows.sbatch"]
    assert "--ntasks=2" in directives(two)
    assert not any(line.startswith("--array") for line in directives(two))
    assert '--rank "$SLURM_PROCID" --ranks 2 --meeting "$meeting"' in two
    assert "rank of this job shares one piece of work with the others" in two
    assert "--frames" not in two
    assert "mine runs as ranks that work together" in texts["README.md"]


def test_slides_are_read_where_they_lie_for_it_is_their_storage_that_is_measured():
    site = load_site("plain").model_copy(update={"scratch": "/disk/$USER"})
    texts = of_ranks(site, runtime="apptainer")
    assert "cp -RL" not in texts["loader-n2/windows.sbatch"]
    assert '    --mount "$(mount_of "$meetings")" \\\n' in texts["loader-n2/windows.sbatch"]
    assert "GLOO_SOCKET" in texts["loader-n2/windows.sbatch"]
    assert "GLOO_SOCKET" not in texts["loader-n1/windows.sbatch"]


@pytest.mark.slow
def test_a_script_of_ranks_starts_itself_as_each_of_them(tmp_path):
    """`srun` only, which starts a command for each rank, is made up."""
    srun = tmp_path / "srun"
    srun.write_text(SRUN)
    srun.chmod(0o755)
    folder = tmp_path / "scripts"
    write_scripts(folder, of_ranks(load_site("plain"), slides=tmp_path / "absent"))
    done = subprocess.run(
        ["bash", "loader-n2/windows.sbatch"],
        cwd=folder,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_JOB_ID": "17", "SLURM_PROCID": "0"},
        capture_output=True,
        text=True,
        check=False,
        timeout=800,
    )
    assert done.returncode == 2, done.stderr
    specs = []
    for rank in ("w0", "w1"):
        record = json.loads((folder / "loader-n2" / rank / "result.json").read_text())
        specs.append(TaskSpec.model_validate(record["spec"]))
        assert str(tmp_path / "absent") in record["error"]["message"]
    assert [(spec.rank, spec.ranks, spec.frames) for spec in specs] == [(0, 2, None), (1, 2, None)]
    assert {spec.meeting for spec in specs} == {folder / "loader-n2" / "meeting" / "17.0"}


def of_image(site: Site, **changes: Any) -> Texts:
    """Scripts of one rank and of two that share an image."""
    suite, settings = load_suite("reconstruct"), Settings(**changes)
    return scripts_of(site, suite, None, settings, only=("tomography_3d",))


def test_what_ranks_that_share_an_image_need_is_no_data():
    native = of_image(load_site("plain"))
    told = " ".join(native["README.md"].split())
    assert "The nodes need this Python environment at its path" in told
    assert "tomography_3d runs as ranks that work together: what each rank measured" in told
    assert "page cache" not in told
    two = native["tomography_3d-n2/windows.sbatch"]
    assert "# Each rank of this job shares one piece of work with the others." in two
    assert '--rank "$SLURM_PROCID" --ranks 2 --meeting "$meeting"' in two
    in_images = of_image(load_site("plain"), runtime="apptainer", device="cuda")
    assert "The nodes need apptainer and the images; they need no" in in_images["README.md"]
    assert "NCCL_" in in_images["tomography_3d-n2/windows.sbatch"]
    assert "NCCL_" not in in_images["tomography_3d-n1/windows.sbatch"]


def test_names_of_modules_are_no_shell():
    site = load_site("plain").model_copy(update={"modules": ("gcc/12;id>f",)})
    begun = [text for name, text in texts_for(site).items() if name.endswith(".sbatch")]
    begun += ["\n".join(setup_lines(site, in_image=False)), script(Path("request.json"), site)]
    assert all("module load 'gcc/12;id>f'\n" in f"{text}\n" for text in begun)
