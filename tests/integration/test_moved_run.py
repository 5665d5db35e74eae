"""A run whose folder goes away while it runs ends, and no folder of its name is made anew."""

import shutil

import pytest

from waitingforruns import living, only_run, wait_for_event

OPTIONS = ("--workers", "1,2", "--repeats", "1", "--only", "contact")


@pytest.mark.slow
@pytest.mark.parametrize("new_name", [None, "moved"])
def test_it_ends_in_a_sentence_and_can_be_finished_where_it_lies(
    home, start, pyscale, labels, held, new_name
):
    process = start("run", "labels", "--data", labels, *OPTIONS)
    wait_for_event("submitted", process)
    run = only_run()
    if new_name is None:
        shutil.rmtree(run.path)
    else:
        run.path.rename(home / new_name)
    held.let_go()
    _, said = process.communicate()
    assert process.returncode == 2
    assert f"{run.path} was moved or removed" in said
    assert "Traceback" not in said
    assert not run.path.exists()
    assert living(run) == []
    if new_name is not None:
        resumed = pyscale("run", "--resume", new_name)
        assert resumed.code == 0, resumed
