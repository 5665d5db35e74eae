"""The folder of a run may come from anybody, and is made safe before anything in it is used."""


def test_a_link_may_lead_to_the_runs_own_files(run):
    (run.path / "own").symlink_to("plan.json")
    (run.path / "tasks" / "above").symlink_to(run.path)
    run.make_safe()
    assert all((run.path / link).is_symlink() for link in ("own", "tasks/above"))


def test_links_of_submitit_into_the_folder_that_a_run_was_copied_from_are_removed(run, tmp_path):
    run.submissions.mkdir()
    script = tmp_path / "elsewhere" / "17_submission.sh"
    link = run.submissions / ".submission_file_0a1b.sh"
    link.symlink_to(script)
    within = run.submissions / ".submission_file_2c3d.sh"
    within.symlink_to(run.submissions / "18_submission.sh")
    run.make_safe()
    assert [link.is_symlink(), within.is_symlink()] == [False, True]
