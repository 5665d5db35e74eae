"""What has one N is told over sizes, all else over N."""

from madeuploader import ENTRIES
from madeuploader import made_up as made_up_loading
from madeupmachine import made_up
from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.machine.findings import MachineFindings


def test_points_at_one_n_are_left_out_of_all_that_is_about_n(both):
    left = both.about_workers()
    for table in (left.configurations, left.trials, left.losses, left.timeline):
        assert table.is_empty()
    assert (left.choices, left.limits, left.requests, left.fits, left.drifts) == (
        [],
        [],
        [],
        [],
        [],
    )
    assert left.every(GridFindings) == both.every(GridFindings)


def test_a_stage_without_a_grid_stays_whole(mixed):
    left = mixed.about_workers()
    assert left.configurations["stage"].unique().to_list() == ["track"]
    own = mixed.trials.filter(stage="track")
    assert left.trials.height == own.height
    assert left.timeline["trial"].n_unique() == own.height
    assert {choice.stage for choice in left.choices} == {"track"}


def test_points_at_several_n_scale_too(shared):
    assert shared.about_workers().configurations.height == shared.configurations.height


def test_without_a_grid_nothing_changes(full):
    assert full.about_workers() is full


def test_tests_of_the_machine_are_no_part_of_what_is_about_n():
    results = made_up(1, gpus=False, pipeline=True)
    left = results.about_workers()
    assert left.configurations["stage"].unique().to_list() == ["register_denoise"]
    assert left.trials["stage"].unique().to_list() == ["register_denoise"]
    assert {choice.stage for choice in left.choices} == {"register_denoise"}
    assert left.of(MachineFindings) is results.of(MachineFindings)
    kept = results.without_apart()
    assert kept["stage"].unique().to_list() == ["register_denoise"]


def test_loading_of_patches_is_no_part_of_what_is_about_n():
    results = made_up_loading(ENTRIES[:2], pipeline=True)
    assert results.apart == {"pool1", "pool2"}
    left = results.about_workers()
    for table in (left.configurations, left.trials, left.losses):
        assert table["stage"].unique().to_list() == ["register_denoise"]
    kept = results.without_apart()
    assert kept["stage"].unique().to_list() == ["register_denoise"]
