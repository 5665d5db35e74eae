"""The folder of a run may come from anybody, and is made safe before anything in it is used."""

import pytest

from pyscale.errors import UserError
from refusals import refused


def test_a_link_may_lead_to_the_runs_own_files(run):
    (run.path / "own").symlink_to("plan.json")
    (run.path / "tasks" / "above").symlink_to(run.path)
    run.make_safe()
    assert all((run.path / link).is_symlink() for link in ("own", "tasks/above"))


@pytest.mark.parametrize("place", [".", "tasks"])
def test_a_link_that_leads_out_of_the_run_is_refused(run, tmp_path, place):
    (run.path / place / "theirs").symlink_to(tmp_path)
    with refused(UserError):
        run.make_safe()


def test_links_of_submitit_into_the_folder_that_a_run_was_copied_from_are_removed(run, tmp_path):
    run.submissions.mkdir()
    script = tmp_path / "elsewhere" / "17_submission.sh"
    link = run.submissions / ".submission_file_0a1b.sh"
    link.symlink_to(script)
    within = run.submissions / ".submission_file_2c3d.sh"
    within.symlink_to(run.submissions / "18_submission.sh")
    run.make_safe()
    assert [link.is_symlink(), within.is_symlink()] == [False, True]


def test_what_others_might_write_into_is_closed_to_them(run):
    folders = (run.path, run.path / "tasks")
    for folder in folders:
        folder.chmod(0o777)
    run.make_safe()
    assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o755}
