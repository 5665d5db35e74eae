"""Loading of patches that nobody measured, made up: rates, diversity and memory are known.

`loading()` gives the table that a run of the stage `loader` leaves, and `made_up()` the results of
that run, by default on 1 and 2 ranks six times; with `pipeline` a stage that reads a movie was
measured beside, at N = 1 and 2. What is in it, so that a test can count on it:

- each rank's rate without waiting for others is `patches_per_s` of its entry, exactly so as the
  median over trials; the last rank's is `slowest` times that
- in step with the others a rank delivers `together` times what the slowest delivers free of them
- ranks lie on `nodes` nodes in turn; each node has `cores` cores, which its ranks share
- with `consumed_per_s` a model takes so many patches on each rank
- a failing entry has its error in all its rows, and null in all that was to be measured

`ENTRIES` are eight points of one grid: `pool1` is fastest and least diverse, `pool16` most diverse,
`pool4_visit4` is slower and less diverse than `pool4`, and `own` delivers the patches of
`pool8` more slowly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import polars as pl

from pyscale.analysis.ranks.loader import SETTINGS, loader_findings
from pyscale.store.rows import loading_schema
from pyscale_stages.loader.stage import LoaderParams
from runbuilder import RunBuilder, rank_header

GIB = 2**30
BATCHES = 50


@dataclass(frozen=True)
class Entry:
    """One point of a grid, and what it gives on one rank."""

    stage: str
    patches_per_s: float
    """Of a rank, without waiting for others."""
    effective_slides: float | None
    """Of a rank; None where patches say no place."""
    factory: str = "wsistream"
    reader: str = "auto"
    num_workers: int = 2
    pool_size: int = 8
    patches_per_slide: int = 100
    patches_per_visit: int = 1
    batch_size: int = 64
    prefetch_factor: int = 2
    pin_memory: bool = False
    patch_px: int = 256
    checksum: str | None = "5eed"
    consumed_per_s: float | None = None
    error: str | None = None
    """Why every trial of it fails."""

    @property
    def params(self):
        own = {name: getattr(self, name) for name in LoaderParams.model_fields if name in _FIELDS}
        return LoaderParams(**own | {"consumes_per_s": self.consumed_per_s})


_FIELDS = set(Entry.__dataclass_fields__)

ENTRIES = (
    Entry("pool1", 900.0, 1.0, pool_size=1, patches_per_slide=200, checksum="a1"),
    Entry("pool2", 860.0, 2.0, pool_size=2, checksum="a2"),
    Entry("pool4", 800.0, 3.9, pool_size=4, checksum="a4"),
    Entry("pool4_visit4", 780.0, 3.2, pool_size=4, patches_per_visit=4, checksum="a44"),
    Entry("pool8", 640.0, 7.2, pool_size=8, checksum="a8"),
    Entry("own", 400.0, 7.2, pool_size=8, factory="mine:patches", checksum="a8"),
    Entry("pool16", 520.0, 11.0, pool_size=16, checksum="a16"),
    Entry("pool16_workers8", 700.0, 10.5, pool_size=16, num_workers=8, checksum="a168"),
)


def loading(
    entries=ENTRIES,
    *,
    ranks=(1, 2),
    repeats=6,
    scatter=0.02,
    slowest=0.95,
    together=0.9,
    nodes=1,
    cores=32,
    cache_asked="cold",
    cache_state="verified-cold",
):
    """Give the table of loading of such a run, one row a rank of a trial.

    `scatter` is the largest relative difference of a trial's time from the median.
    """
    found = []
    for entry, count in product(entries, ranks):
        # Times that lie evenly about the median, in no order over the run.
        steps = np.linspace(-1, 1, repeats) if repeats > 1 else np.zeros(1)
        noise = 1 + scatter * np.random.default_rng(len(entry.stage) + count).permutation(steps)
        for block, rank in product(range(repeats), range(count)):
            header = _header(entry, count, block, rank) | {
                "node": f"node{rank % nodes + 1}",
                "cpus": list(range(cores)),
                "cache_asked": cache_asked,
                "cache_state": cache_state,
            }
            if entry.error is not None:
                found.append(header | {"status": "failed", "error": entry.error})
                continue
            slower = slowest if rank == count - 1 and count > 1 else 1.0
            worst = slowest if count > 1 else 1.0
            own_s = noise[block] / entry.patches_per_s
            step_s = own_s / worst / together if count > 1 else None
            found.append(header | _measured(entry, own_s / slower, step_s, cores))
    return pl.DataFrame(found, loading_schema(), orient="row")


def entries_like(entry, changes):
    return [replace(entry, **change) for change in changes]


def _header(entry, count, block, rank):
    params = entry.params.model_dump(mode="json")
    point = {"pool_size": entry.pool_size, "num_workers": entry.num_workers}
    header = rank_header(entry.stage, "loader", "loader", point, count, block, rank, params)
    return header | {name: params[name] for name in SETTINGS}


def _measured(entry, own_s, step_s, cores):
    """What a rank found that takes `own_s` for a patch, and `step_s` in step with others."""
    patches = BATCHES * entry.batch_size
    wait_s = own_s * entry.batch_size
    patch_bytes = 3 * 4 * entry.patch_px**2
    row = {
        "slides": 16,
        "cores": cores,
        "patch_bytes": patch_bytes,
        "free_wall_s": own_s * patches,
        "free_batches": BATCHES,
        "free_patches": patches,
        "free_prefetched": entry.num_workers * entry.prefetch_factor,
        "free_wait_p50_s": 0.9 * wait_s,
        "free_wait_p95_s": 1.6 * wait_s,
        "free_wait_p99_s": 2.5 * wait_s,
        "free_wait_max_s": 3.0 * wait_s,
        "free_read_bytes": patches * 40_000,
        "free_storage_read_bytes": patches * 36_000,
        "free_cpu_s": patches * 0.002,
        "pss_bytes": (1 + entry.num_workers) * GIB // 2,
        "rss_bytes": (1 + entry.num_workers) * GIB,
        "threads": "OMP_NUM_THREADS 1, MKL_NUM_THREADS 1, torch 1, OpenCV 1",
        "checksum": entry.checksum,
        "checksum_patches": entry.batch_size,
        "consumed_per_s": entry.consumed_per_s,
    }
    if step_s is not None:
        each_s = step_s * entry.batch_size
        row |= {
            "together_wall_s": step_s * patches,
            "together_batches": BATCHES,
            "together_patches": patches,
            "together_wait_p50_s": 0.8 * each_s,
            "together_wait_p95_s": 1.4 * each_s,
            "together_wait_p99_s": 2.0 * each_s,
            "together_step_p50_s": 0.95 * each_s,
            "together_step_p95_s": 1.5 * each_s,
            "together_step_p99_s": 2.2 * each_s,
        }
    if entry.effective_slides is not None:
        row |= {
            "diversity_patches": 2000,
            "slides_per_batch": min(entry.effective_slides * 1.2, 16.0),
            "distance_px": 9000.0,
            "effective_slides": entry.effective_slides,
        }
    return row


KEEP = 0.8


def made_up(entries=ENTRIES, *, ranks=(1, 2), repeats=6, pipeline=False, **told):
    """Analyse a run of these entries, of which `madeuploader.loading` is `told`."""
    phases = {"import": 3.0, "read": 1.0, "compute": 20.0}
    beside = {"import": 2.0, "read": 0.4} if pipeline else None
    run = RunBuilder().of_ranks(entries, ranks, repeats, phases, beside)
    table = loading(entries, ranks=ranks, repeats=repeats, **told)
    found = [loader_findings(table, keep=KEEP)]
    return replace(run.results("suite loader, made up"), kinds=found)


def consuming(per_s, entries=ENTRIES):
    """The entries beside training that takes so many patches a second on each rank."""
    return [replace(entry, consumed_per_s=per_s) for entry in entries]
