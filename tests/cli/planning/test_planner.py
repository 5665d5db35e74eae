from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscale.errors import UserError
from pyscale.measuring.benchmark import plan_run
from pyscale.planning.grid import unfolded
from pyscale.planning.planner import warn_of_too_many_workers
from pyscale.planning.runsettings import settings_for
from pyscale.planning.suite import load_suite
from pyscale.planning.sweep import even_windows
from refusals import refused


def test_a_parameter_of_the_user_replaces_that_of_the_suite(make):
    # Those for a stage of another suite do no harm.
    plan = make(stages={"track": {"max_distance_px": 7.0}, "segment_ch1": {"channel": 1}})
    assert {t.params["max_distance_px"] for t in plan.trials if t.entry == "track"} == {7.0}
    assert all(t.params["channel"] == 0 for t in plan.trials if t.entry == "segment")


@given(frames=st.integers(1, 400), workers=st.integers(1, 64))
def test_windows_cover_the_movie_once_and_evenly(frames, workers):
    workers = min(workers, frames)
    windows = even_windows(frames, workers)
    assert [f for start, stop in windows for f in range(start, stop)] == list(range(frames))
    lengths = [stop - start for start, stop in windows]
    assert max(lengths) - min(lengths) <= 1


def test_a_worker_may_have_several_windows_that_are_merged(make):
    plan = make(chunks_per_worker=3)
    (trial, *_) = (t for t in plan.trials if t.workers == 2)
    assert trial.windows == even_windows(8, 6)
    assert trial.tasks == ("w0", "w1", "w2", "w3", "w4", "w5", "merge", "check")
    alone = plan.trial("contact-n1-b1")
    assert (alone.tasks, alone.output_task) == (("w0", "w1", "w2", "merge"), "merge")
    # No window is shorter than a frame.
    windows = {t.workers: t.windows for t in make(workers=(1, 4), chunks_per_worker=5).trials}
    assert windows == {1: even_windows(8, 5), 4: even_windows(8, 8)}


class TestOfAGrid:
    def test_trials_compute_as_their_points_say(self, sweep):
        plan = sweep({"device": ["cpu", "cuda"], "threads": [3]})
        found = {(t.entry, t.device, t.params["length_px"]) for t in plan.trials}
        assert found == {
            ("segment_2px_cpu", "cpu", 2),
            ("segment_2px_cuda", "cuda", 2),
            ("segment_full_cpu", "cpu", None),
            ("segment_full_cuda", "cuda", None),
        }
        assert {plan.threads_of(t) for t in plan.trials} == {3}
        # The run is called by the device beside the CPU.
        assert sweep({"device": ["cpu", "cuda"]}).settings["device"] == "cuda"
        assert sweep({"device": ["cpu"]}, device="cuda").settings["device"] == "cpu"

    def test_what_measures_the_node_on_a_gpu_moves_no_stage_there(self, make_of):
        pipeline, brief = load_suite("pipeline"), load_suite("system_brief")
        kernels = brief.stages["kernels"].model_copy(
            update={"grid": {"device": ("cpu", "cuda")}, "threads": 1}
        )
        stages = {"kernels": kernels, **pipeline.stages}
        both = pipeline.model_copy(update={"stages": stages})
        plan = make_of(unfolded(both, {}, device="cpu", cores=lambda *_: 1), device="cpu")
        assert {t.entry for t in plan.trials if t.device == "cuda"} == {"kernels_cuda"}
        assert plan.settings["device"] == "cpu"

    def test_only_the_first_block_is_set_beside_the_base_which_is_kept(self, sweep):
        plan = sweep({"device": ["cpu", "cuda"]}, workers=(1, 2))
        beside = {t.id: t.beside_trial for t in plan.trials if t.beside_trial}
        assert beside == {
            f"segment_{size}_cuda-n{n}-b1": f"segment_{size}_cpu-n{n}-b1"
            for size in ("2px", "full")
            for n in (1, 2)
        }
        assert plan.trial("segment_2px_cuda-n1-b1").tasks == ("w0", "beside")
        kept = {t.id for t in plan.trials if t.id.startswith("segment_2px") if plan.keeps_output(t)}
        assert kept == {f"segment_2px_{point}-b1" for point in ("cpu-n1", "cpu-n2", "cuda-n2")}
        # Nothing is set beside what is not measured.
        plan = sweep({"device": ["cpu", "cuda"]}, only=("segment_2px_cuda",))
        assert [(t.id, t.beside_trial) for t in plan.trials] == [
            ("segment_2px_cuda-n1-b1", None),
            ("segment_2px_cuda-n1-b2", None),
        ]
        assert sweep(only=("segment",)).trials == sweep().trials

    def test_each_worker_has_the_frames_that_the_suite_says(self, sweep):
        plan = sweep(workers=(1, 2))
        assert {(t.workers, t.movie_frames, t.windows) for t in plan.trials} == {
            (1, 1, ((0, 1),)),
            (2, 2, ((0, 1), (1, 2))),
        }
        assert not any(t.compared for t in plan.trials)

    def test_a_place_in_the_grid_stays_whatever_the_user_says_of_the_stage(self, sweep):
        plan = sweep(stages={"segment": {"length_px": 3, "min_size_px": 5, "calls": 4}})
        params = [t.params for t in plan.trials]
        assert {p["length_px"] for p in params} == {2, None}
        assert {(p["min_size_px"], p["calls"]) for p in params} == {(5, 4)}

    def test_a_crop_larger_than_the_frames_is_refused_or_left_out_with_its_point(
        self, sweep, dataset
    ):
        wide, small = (replace(dataset, shape_yx=shape) for shape in ((4, 9), (4, 4)))
        with refused(UserError):
            sweep({"length_px": [2, 5, 6, "full"]}, dataset=wide)
        assert sweep({"length_px": [4]}, dataset=wide)
        plan = sweep({"length_px": [4, 96]}, dataset=small, only=("segment_4px_cpu",))
        assert {t.params["length_px"] for t in plan.trials} == {4}


@pytest.mark.parametrize(("own_frames", "counts"), [("", {1, 2, 4, 8}), (3, {1, 2})])
def test_without_worker_counts_no_more_are_measured_than_the_movie_has_frames_for(
    tmp_path, monkeypatch, movie, own_frames, counts
):
    monkeypatch.chdir(tmp_path)
    each = f"frames_per_worker = {own_frames}\n" if own_frames else ""
    own = f'name = "own"\nsummary = "mine"\n{each}[stages.register_denoise]\n'
    (tmp_path / "own.toml").write_text(own + 'inputs = { frames = "movie" }\n')
    given = {"repeats": 1, "executor": "slurm", "site": "plain", "data": str(movie)}
    trials = plan_run("own.toml", settings_for("own.toml", given)).trials
    assert {trial.workers for trial in trials} == counts


@pytest.mark.parametrize(
    "changes",
    [
        {"workers": (1, 16)},
        {"only": ("segmnt",)},
        {"stages": {"segmnt": {}}},
        {"stages": {"track": {"max_distnce_px": 3}}},
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(make, changes):
    with refused(UserError):
        make(**changes)


@pytest.fixture
def planned(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def plan(only, workers, **flags):
        given = {"repeats": 1, "runs_folder": tmp_path / "runs", "workers": workers, **flags}
        return plan_run("reconstruct", settings_for("reconstruct", given), [only])

    return plan


def test_an_image_of_fewer_tiles_than_ranks_is_named_or_refused_where_none_has_enough(planned):
    (told,) = warn_of_too_many_workers(planned("colour_deblur", "1,8"))
    assert told.startswith(
        "colour_deblur_256px will fail with N = 8: 8 ranks cannot share the 4 tiles of 128 px of "
        "an image of 256 x 256 pixels: "
    )
    assert not list(warn_of_too_many_workers(planned("tomography_3d", "1,8")))
    with refused(UserError):
        list(warn_of_too_many_workers(planned("colour_deblur_256px", "1,8")))
    # One that is smaller than a tile is for one rank alone.
    small = {"grid": {"size_px": [64]}}
    assert not list(warn_of_too_many_workers(planned("colour_deblur", "1", **small)))
    with refused(UserError):
        list(warn_of_too_many_workers(planned("colour_deblur", "1,2", **small)))
