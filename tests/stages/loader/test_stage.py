"""Tasks of the stage in this process: what one rank records."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import torch

from patchsets import READ_BYTES
from pyscale_stages.errors import EXIT_RESOURCE_EXHAUSTED
from pyscale_stages.loader.table import TYPES
from pyscale_stages.loading import Loading
from refusals import assert_held


def loading(result):
    assert result.error is None, result.error
    return result.of(Loading)[0]


def sentence(result):
    assert "\n" not in result.error.message
    return result.error.message


def test_one_rank_records_what_loading_gave_it(load):
    result = load(num_workers=2, pool_size=3, consumes_per_s=123.0)
    found = loading(result)
    assert (found.factory, found.slides, found.batch_size) == ("patchsets:numbered", 4, 4)
    assert found.patch_bytes == 3 * 8 * 8
    # Three batches are made up to two rounds of two loader processes.
    assert (found.free.patches, found.free.prefetched_batches) == (16, 4)
    assert found.together is None
    assert (found.diversity.patches, found.diversity.effective_slides) == (16, 4)
    assert found.pss_bytes < found.rss_bytes
    assert "MKL_NUM_THREADS 1, torch 1" in found.threads
    assert found.checksum_patches == 4
    assert found.consumed_per_s == 123.0
    assert result.counters.frames == 16
    assert {span.phase for span in result.spans} >= {
        "import", "model_load", "read", "compute", "write"
    }  # fmt: skip


@pytest.mark.parametrize("opening", ["excluded", "published"])
def test_a_cold_window_reads_from_storage_what_warming_up_has_read(load, slides, opening):
    for slide in slides.iterdir():
        slide.write_bytes(bytes(READ_BYTES))
    asked = {"factory": "patchsets:of_files", "opening": opening}
    warm = loading(load(**asked)).free
    cold = loading(load(**asked, cold_windows=True)).free
    assert (warm.cache, cold.cache) == (None, "verified-cold")
    assert cold.storage_read_bytes > warm.storage_read_bytes


def test_each_timed_batch_is_a_row(load, tmp_path):
    found = loading(load())
    table = pl.read_parquet(tmp_path / "out" / "loading.parquet")
    assert list(table.columns) == list(TYPES)
    assert table["wait_s"].to_list() == list(found.free.waits_s)
    assert table["window"].to_list() == ["free"] * 3
    assert table["slides"].to_list() == [4] * 3
    assert table["checksum"].to_list() == [found.checksum] * 3
    assert table["step_s"].null_count() == 3


def test_the_same_seed_gives_the_same_checksum_and_outputs_that_agree(bench, load):
    names = ("one", "two", "three")
    found = [
        loading(load(output=name, seed=seed)) for name, seed in zip(names, (1, 1, 2), strict=True)
    ]
    assert found[0].checksum == found[1].checksum != found[2].checksum
    one, two, three = (bench.folder / name for name in names)
    same, other = bench.agreement(one, two), bench.agreement(one, three)
    assert (same.same, same.score) == (True, 1)
    assert (other.same, other.score) == (False, 0)


def test_the_same_patches_have_one_checksum_from_any_loader_processes_as_bytes_or_floats(load):
    alone, helped = loading(load()), loading(load(num_workers=2, prefetch_factor=3))
    floats = loading(load(factory="patchsets:floating"))
    assert floats.checksum == helped.checksum == alone.checksum
    assert floats.patch_bytes == 4 * 3 * 8 * 8


def test_data_sets_without_places_or_with_an_end_are_timed_all_the_same(load):
    found = loading(load(factory="patchsets:pairs"))
    assert found.free.patches == 12
    assert found.diversity is None
    assert found.checksum is not None
    result = load(factory="patchsets:ending")
    # Five batches of 4, of 10 patches: 4, 4, 2, 4, 4.
    assert loading(result).free.patches == 10
    assert any("ended and was started again (times: 1)" in w for w in result.warnings)


def test_no_checksum_is_made_or_compared_where_none_is_wanted(bench, load):
    found = loading(load(checksum_batches=0))
    assert (found.checksum, found.checksum_patches) == (None, 0)
    output = bench.folder / "out"
    bench.refused("check", output, output)


def test_an_empty_folder_is_one_sentence(load, slides):
    for slide in slides.iterdir():
        slide.unlink()
    assert "holds no slides" in sentence(load())


@pytest.mark.parametrize(
    "params",
    [
        {"factory": "patchsets:empty"},
        {"factory": "patchsets:words"},
        {"to_device": True},
    ],
    ids=str,
)
def test_what_cannot_be_timed_is_one_sentence(load, params):
    assert_held(sentence(load(**params)))


def test_a_loader_process_that_dies_is_one_sentence(load):
    dying = load(factory="patchsets:dying", num_workers=1, batches=9)
    assert "a loader process of the factory patchsets:dying died" in sentence(dying)


@pytest.mark.skipif(torch.cuda.is_available(), reason="an NVIDIA GPU works here")
def test_a_missing_gpu_is_one_sentence(load):
    assert "the device cuda does not work here" in sentence(load(device="cuda"))


def test_pinned_memory_without_a_gpu_is_warned_of(load):
    if torch.accelerator.is_available():
        pytest.skip("this machine has a GPU")
    result = load(pin_memory=True)
    assert any("pin_memory has no effect" in warning for warning in result.warnings)


NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="no NVIDIA GPU works here")


@NO_GPU
@pytest.mark.parametrize("pin_memory", [False, True])
def test_each_copy_to_the_gpu_is_timed(load, pin_memory):
    result = load(device="cuda", to_device=True, pin_memory=pin_memory, num_workers=1)
    assert result.error is None, result.error
    free = result.of(Loading)[0].free
    assert len(free.copies_s) == len(free.waits_s)
    assert 0 < sum(free.copies_s) < free.wall_s


TESTS = Path(__file__).resolve().parents[2]
SMALL_SHARED_MEMORY = [
    *("unshare", "--user", "--map-root-user", "--mount", "sh", "-c"),
    'mount -t tmpfs -o size=8m tmpfs /dev/shm && exec "$@"',
    "sh",
]


@pytest.mark.slow
def test_shared_memory_that_is_too_small_is_one_sentence(slides, tmp_path, missing):
    if subprocess.run([*SMALL_SHARED_MEMORY, "true"], capture_output=True, check=False).returncode:
        missing("a process with shared memory of its own", "allow user namespaces")
    params = tmp_path / "params.json"
    # Four batches of 12 MB each may lie ready, in 8 MB.
    params.write_text(json.dumps({"factory": "patchsets:large", "batch_size": 4}))
    ended = subprocess.run(
        [
            *(*SMALL_SHARED_MEMORY, sys.executable, "-m", "pyscale_stages", "loader", "run"),
            *("--input", f"slides={slides}", "--output", str(tmp_path / "output")),
            *("--params", str(params)),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == EXIT_RESOURCE_EXHAUSTED
    assert "error: shared memory" in ended.stderr
    assert "enlarge /dev/shm, or lower num_workers" in ended.stderr
