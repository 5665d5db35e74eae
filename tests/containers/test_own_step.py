"""A step of the user's own in an image that holds a shell and a few programs, and no pyscale."""

import pytest

from commandline import answer_of
from pyscale.store.folder import RunFolder
from pyscale.store.provenance import read_provenance
from pyscale.store.taskfiles import read_task

pytestmark = pytest.mark.slow

COPIES = "cat {file} > {output}/{name}.txt"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys, toy_image):
    """Run a step over four files of a folder, in the image."""
    monkeypatch.chdir(tmp_path)
    texts = tmp_path / "my texts, [new]"
    texts.mkdir()
    for number in range(4):
        (texts / f"{number}.txt").write_text(f"text {number}")

    def start(step, *more, image=toy_image, workers="1"):
        told = answer_of(
            capsys,
            *("pyscale", "run", "--step", step, "--shell", "--split", "files", "--data", texts),
            *("--image", image, "--workers", workers, "--repeats", "1", "--set", "retries=0"),
            *("--set", "keep_outputs=all", *more),
        )
        return told.code, told.out + told.err

    return start


def found(tmp_path):
    (path,) = (tmp_path / "runs").iterdir()
    return RunFolder(path)


@pytest.mark.smoke
def test_an_image_that_knows_nothing_of_pyscale_is_measured(run, tmp_path, toy_image):
    code, said = run(COPIES, "--runtime", "apptainer", workers="1,2")
    assert code == 0, said
    assert "Outputs: same bytes at every N." in said
    measured = found(tmp_path)
    output = measured.output(measured.plan.trial("step-n2-b1")) / "output"
    assert {path.name: path.read_text() for path in output.iterdir()} == {
        f"{number}.txt": f"text {number}" for number in range(4)
    }
    (window, *_) = measured.plan.trials
    result = read_task(measured.task(window, "w0")).result
    assert result is not None
    phases = [span.phase for span in result.spans]
    assert phases.index("container_start") < phases.index("compute")
    containers = read_provenance(measured.path).containers
    assert containers is not None
    (used,) = containers.images
    assert (used.path, used.size_bytes) == (toy_image, toy_image.stat().st_size)


def test_it_can_write_neither_its_input_nor_the_folder_of_the_user(run, tmp_path):
    code, said = run("touch {input}/new; touch {folder}/new; cat {files} > {output}/list.txt")
    assert code == 0, said
    assert not list(tmp_path.rglob("new"))
    measured = found(tmp_path)
    told = (measured.task(measured.plan.trial("step-n1-b1"), "w0") / "stderr").read_text()
    assert "Read-only file system" in told


def test_it_can_write_into_its_home_folder(run, tmp_path):
    code, said = run("set -e; cat {file} > ~/kept; cat ~/kept > {output}/{name}.txt")
    assert code == 0, said
    measured = found(tmp_path)
    output = measured.output(measured.plan.trial("step-n1-b1")) / "output"
    assert (output / "3.txt").read_text() == "text 3"


def test_what_can_be_written_is_told_where_a_program_tried_another_place(run):
    code, said = run("cat {file} {output} > /kept")
    assert code == 1
    assert "can write only to its output, to HOME and to /tmp" in " ".join(said.split())


def test_a_program_that_the_image_lacks_is_told_and_an_image_that_changed_is_not_taken(
    run, small_image, capsys
):
    code, said = run("no-such-program {file} {output}", image=small_image)
    assert code == 1
    assert "no-such-program" in said
    assert "not found" in said
    with small_image.open("ab") as file:
        file.write(b"x")
    told = answer_of(capsys, "pyscale", "resume", "latest")
    assert told.code == 2
    assert "mine.sif has sha256" in " ".join(told.err.split())


def test_ranks_in_an_image_know_where_they_meet(run, tmp_path):
    step = "test $RANK -gt 0 || echo $WORLD_SIZE $MASTER_ADDR > {output}; : {input}"
    ranks = ("--split", "ranks", "--output", "told.txt", "--check", "none")
    code, told = run(step, *ranks, workers="2")
    assert code == 0, told
    output = found(tmp_path).output(found(tmp_path).plan.trial("step-n2-b1"))
    assert (output / "told.txt").read_text() == "2 127.0.0.1\n"
