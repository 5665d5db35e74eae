"""Two processes that meet, as the command line starts them, and what joins their outputs."""

import polars as pl
import pytest

import startedranks

pytestmark = pytest.mark.slow
ASKED = {"num_workers": 1, "batches": 5}


@pytest.fixture
def run_ranks(tmp_path, slides, bench):
    """Start ranks at once, and wait for all of them."""

    def run(**params):
        words = ("--input", f"slides={slides}")
        given = bench.usual | ASKED | params
        return startedranks.run_ranks(tmp_path, 2, *words, stage="loader", params=given)

    return run


def test_ranks_share_the_slides_and_are_timed_in_step(run_ranks, bench):
    ranks = run_ranks()
    assert [rank.exit_code for rank in ranks] == [0, 0]
    for rank in ranks:
        found = rank.loading
        assert found.slides == 2
        assert found.free.patches == found.together.patches == 20
        assert len(found.together.steps_s) == 5
        assert found.free.steps_s == ()
        assert found.diversity.effective_slides == 2
    # In step, no rank is a whole step ahead of the other: neither where clocks start, at a
    # meeting before the first step of each, nor where they end, after a meeting in the last one.
    one, other = (rank.loading.together for rank in ranks if rank.loading.together)
    for longer, shorter in ((one, other), (other, one)):
        between_s = longer.wall_s - sum(longer.steps_s)
        ahead_s = longer.steps_s[0] + longer.steps_s[-1] + between_s
        assert longer.wall_s - shorter.wall_s <= ahead_s
    assert ranks[0].loading.checksum != ranks[1].loading.checksum
    # Each has a seed of its own, which decides how far apart patches lie.
    found = [rank.loading.diversity for rank in ranks]
    assert [diversity.distance_px for diversity in found if diversity] == [2, 4]
    zero, one = (rank.output for rank in ranks)
    assert bench.run("merge", one, zero, **ASKED).counters.frames == 80
    table = pl.read_parquet(bench.folder / "out" / "loading.parquet")
    assert table.group_by("rank", "window", maintain_order=True).len().rows() == [
        (0, "free", 5), (0, "together", 5), (1, "free", 5), (1, "together", 5)
    ]  # fmt: skip
    bench.refused("merge", zero, zero, **ASKED)


def test_a_rank_that_fails_ends_the_others(run_ranks, slides):
    # Of the sorted slides the second rank has the last one.
    (slides / "d.svs").rename(slides / "bad.svs")
    (slides / "a.svs").rename(slides / "z.svs")
    ranks = run_ranks(factory="patchsets:refusing", batches=9)
    assert [rank.exit_code for rank in ranks] == [1, 1]
    heard, failed = (rank.sentence for rank in ranks)
    assert failed.startswith("the dataset of the factory patchsets:refusing failed")
    assert "tile 3 is damaged" in heard


def test_more_ranks_than_slides_is_one_sentence(run_ranks, slides):
    for slide in sorted(slides.iterdir())[1:]:
        slide.unlink()
    ranks = run_ranks()
    assert [rank.exit_code for rank in ranks] == [2, 2]
    for rank in ranks:
        assert "has 1 slides, too few for 2 ranks" in rank.sentence
