"""The rendered scripts: sound shell, and what a task would be given otherwise."""

import os
import shlex
import shutil
import subprocess

import pytest

from atleastone import some
from programs import put_program
from pyscale.commands.emitting import write_scripts
from pyscale.executors.submission import setup_lines
from pyscale.planning.sites import load_site
from pyscale.tomlfile import shipped_names
from renderedscripts import GPUS, of_image, of_ranks, of_the_machine, texts_for


@pytest.fixture
def shellchecked(tmp_path, missing):
    """Write scripts, hold them to shellcheck and to a plain layout, and count them."""
    if shutil.which("shellcheck") is None:
        missing("shellcheck", "run scripts/provide_slurm.sh as root, or install shellcheck")
    folder = tmp_path / "scripts"

    def check(texts):
        for text in texts.values():
            assert "\n\n\n" not in text
            assert not [line for line in text.splitlines() if line != line.rstrip()]
            assert text == "" or (text.endswith("\n") and not text.endswith("\n\n"))
        write_scripts(folder, texts)
        scripts = [*folder.rglob("*.sbatch"), *folder.rglob("*.sh")]
        done = subprocess.run(["shellcheck", *scripts], capture_output=True, text=True, check=False)
        assert (done.stdout, done.returncode) == ("", 0)
        return len(scripts)

    return check


@pytest.mark.slow
@pytest.mark.parametrize("runtime", ["native", "apptainer"])
@pytest.mark.parametrize("name", shipped_names("site"))
def test_every_script_passes_shellcheck(name, runtime, shellchecked):
    """Of them, those of two stages compute on the CPU all the same."""
    site = load_site(name)
    texts = texts_for(site, runtime=runtime, device="cuda")
    assert shellchecked(texts) == 4 + 4 + 4 + (3 if site.scheduler else 1)


def test_modules_are_loaded_before_unset_variables_end_a_script_and_paths_stay_one_word():
    name = "register_denoise-n1/windows.sbatch"
    lines = texts_for(load_site("modules"))[name].splitlines()
    assert lines.index("set -eo pipefail") < lines.index("module load apptainer")
    assert lines.index("module load apptainer") < lines.index("set -u")
    lines = texts_for(load_site("plain"))[name].splitlines()
    (line,) = [line for line in lines if line.startswith("input_frames=")]
    assert shlex.split(line) == ["input_frames=/data/my movie, [1].tif"]


@pytest.mark.parametrize("who_renders", [0, 1000])
def test_who_runs_a_script_says_whether_its_container_needs_a_user_namespace(
    monkeypatch, tmp_path, who_renders
):
    monkeypatch.setattr("os.geteuid", lambda: who_renders)
    texts = texts_for(load_site("plain"), runtime="apptainer")
    text = next(text for name, text in texts.items() if name.endswith("windows.sbatch"))
    begin = text[text.index("userns=\n") : text.index("# A mount in CSV")]
    (command,) = (line for line in text.splitlines() if line.startswith("apptainer run "))
    assert "--userns" not in command
    for user, is_root in ((0, True), (1000, False)):
        put_program(tmp_path, "id", f"echo {user}")
        words = f"set -u\n{begin}\necho {command.partition(' --pwd')[0]}"
        path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
        job = subprocess.run(
            ["bash", "-c", words], env={"PATH": path}, capture_output=True, text=True, check=True
        )
        assert ("--userns" in job.stdout.split()) is is_root


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


def test_names_of_modules_are_no_shell():
    site = load_site("plain").model_copy(update={"modules": ("gcc/12;id>f",)})
    begun = [text for name, text in texts_for(site).items() if name.endswith(".sbatch")]
    begun.append("\n".join(setup_lines(site, in_image=False)))
    assert all("module load 'gcc/12;id>f'\n" in f"{text}\n" for text in some(begun))
