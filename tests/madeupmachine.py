"""Results of a run of the suite `system` that nobody measured, made up.

`made_up()` gives its `Results`, `timings_of()` the table of timings alone, `PLACES` what was said
of the places. By default two nodes did it; with `pipeline` one stage that reads a movie was
measured beside, at N = 1 and 2. What is in it, so that a test can count on it:

- six blocks, so that each test was timed by six processes, one after the other
- storage on each node: cold, warm and direct reads, `parallel_read_cold` by 1, 2
  and 4 readers, writing with its steps, metadata; `particle_random_read_direct` cannot run,
  because the filesystem refuses; of `movie_read_eer_cold` nothing proves that it was cold; node3
  (with `nodes=3`) reads at half the rate of the others
- decompress on each node: reading and decoding, on 1 and 2 threads, of three codecs; of
  `tiff_jpeg2000` the library is missing
- kernels on each node: the processor, and two GPUs of one name where `gpus` is true; first calls
  apart, steps, a transfer that a processor does not make, one result that is wrong (`fsc_tight` on
  GPU 1), and `matrix_product` in 3 blocks only
"""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl

from pyscale.analysis.machine.findings import machine_findings, machine_tests
from pyscale.report.cryosparclike import Measured
from pyscale.store.tables import timing_schema
from runbuilder import RunBuilder

GPU = "NVIDIA H200"
HARDWARE = "Xeon Gold 6338, 32 cores, 256 GiB"
MB = 1e6
BLOCKS = 6
PLACE = {
    "place_filesystem": "nfs4",
    "place_device": "remote",
    "place_options": "rw,vers=4.2,rsize=1048576",
}
MOVIE_BYTES = 96 * 10**6
OF_ALL = {"hardware": (HARDWARE,), "threads": 4, "input_storage": "nfs4 on remote"}
STORAGE = {
    # test: readers, rate in MB/s, bytes, state of the page cache
    "movie_read_eer_cold": (1, 410.0, 24 * MB, "evicted-unverified"),
    "movie_read_tiff_cold": (1, 480.0, 48 * MB, "verified-cold"),
    "particle_sequential_read_cold": (1, 500.0, 262 * MB, "verified-cold"),
    "particle_sequential_read_direct": (1, 350.0, 262 * MB, "direct"),
    "particle_sequential_read_warm": (1, 9000.0, 262 * MB, "warm"),
    "particle_random_read_cold": (1, 120.0, 262 * MB, "verified-cold"),
    "parallel_read_cold": ((1, 2, 4), 500.0, 262 * MB, "verified-cold"),
}
"""With so many readers the rate grows by 60 % with each doubling."""
CODECS = {"mrc": 4000.0, "tiff_lzw": 210.0, "tiff_zstd": 900.0}
"""Decoded MB/s on one thread."""
KERNELS = {
    # test: seconds on the processor, amount, unit, bottleneck, steps as shares
    "fft_3d": (0.5, 1.2e9, "flop", "gpu", {}),
    "fsc_tight": (
        *(1.2, 2.0, "map", "gpu"),
        {"put_map_on_device": 0.1, "apply_mask": 0.2, "fft": 0.5, "shells": 0.15},
    ),
    "memory_multi_linear10_max_C1": (2.0, 48.0, "image", "gpu", {}),
    "host_to_device_pinned": (0.02, 2.7e8, "B", "pcie", {}),
    "matrix_product": (0.04, 2.1e9, "flop", "gpu", {}),
}
ON_CPU = {"gpu": "cpu", "pcie": "memory"}
NO_TRANSFER = "not applicable: a processor computes in host memory, so nothing is transferred"


def made_up(nodes=2, *, gpus=True, pipeline=False):
    """Analyse a run of the suite on so many nodes; see the text on top."""
    run = RunBuilder()
    names = [f"node{number + 1}" for number in range(nodes)]
    entries = ("storage", "decompress", "kernels_cpu", *(("kernels_cuda",) if gpus else ()))
    spent = {"import": 0.5, "read": 3.0, "compute": 9.0}
    asis = {"cache_asked": "asis", "cache_state": "asis", "nodes": names}
    for block, entry in product(range(1, BLOCKS + 1), entries):
        device = "cuda" if entry == "kernels_cuda" else "cpu"
        run.trial(entry, [spent] * nodes, block=block, device=device, **asis, **OF_ALL)
    if pipeline:
        _pipeline(run)
    machine = machine_findings(
        timings_of(nodes, gpus=gpus),
        {
            name: PLACE | ({"device_0": f"{GPU} #0", "device_1": f"{GPU} #1"} if gpus else {})
            for name in names
        },
        measuring=entries,
    )
    results = run.results("suite system, on a made-up machine", settings={"cache": "asis"})
    return replace(results, kinds=(machine,))


ABOUT_THE_RUN = Measured(
    version="0.1.0",
    created_at=1773747744.0,
    movies=3,
    params={"storage": {"particles": 1000}, "kernels": {"poses": 64}},
    folder="/scratch",
    stamps={
        "node1": {
            "kernel": "Linux 6.1",
            "kernel_version": "#1 SMP 2026",
            "open_files": [1024, 4096],
            "gpus": [{"bus_id": "0000:02:00.0"}, {"bus_id": "0000:03:00.0"}],
            "cpu": {"model": "Xeon", "cores": 32, "architecture": "x86_64"},
            "memory": {"total_bytes": 256 * 2**30, "used_bytes": 2**30},
        }
    },
)
"""What files in the shape of CryoSPARC's say of it beside its tests."""
SIZES = {"storage": "a", "decompress": "b", "kernels_cpu": "c", "kernels_cuda": "d"}
"""Fingerprints of how large what entries did was."""


def measured(name, factor=1.0, sizes=SIZES, **how):
    """Results of a run that took so many times as long, and its timings."""
    timings = timings_of(how.get("nodes", 2), gpus=how.get("gpus", True)).with_columns(
        pl.col("wall_s") * factor
    )
    results = made_up(**how)
    context = results.context.model_copy(update={"run_id": name})
    (machine,) = results.kinds
    machine = replace(machine, tests=machine_tests(timings), sizes=sizes)
    return replace(results, context=context, kinds=(machine,)), timings


def timings_of(nodes=2, *, gpus=True):
    rows = [
        row
        for number, block in product(range(nodes), range(BLOCKS))
        for row in (
            *_storage(number, nodes, block),
            *_decompress(number, nodes, block),
            *_kernels(number, nodes, block, "kernels_cpu", (None,)),
            *(
                _kernels(*(number, nodes, block, "kernels_cuda"), (f"{GPU} #0", f"{GPU} #1"))
                if gpus
                else ()
            ),
        )
    ]
    return pl.DataFrame(rows, schema=timing_schema())


TIMING = {"suite": "system", "task": "w0", "device": None, "step": None, "repeat": 0, "at_once": 1}
TIMING |= {"amount": None, "unit": None, "cache": None, "why_not": "", "details": "{}"}
"""What a timing tells unless it says otherwise."""


def _base(number, nodes, block, kind, entry):
    return TIMING | {
        "trial": f"{entry}-n{nodes}-b{block + 1}",
        "stage": entry,
        "kind": kind,
        "workers": nodes,
        "block": block + 1,
        "task": f"w{number}",
        "node": f"node{number + 1}",
        "hardware": HARDWARE,
    }


def _noise(*seed):
    return np.random.default_rng([sum(map(ord, str(part))) for part in seed])


def _storage(number, nodes, block):
    base = _base(number, nodes, block, "storage", "storage")
    slower = 2.0 if number == 2 else 1.0
    for test, (readers, rate, amount, cache) in STORAGE.items():
        for at_once in readers if isinstance(readers, tuple) else (readers,):
            noise = _noise(test, at_once, block, number).lognormal(0, 0.02)
            wall_s = amount / MB / rate / 1.6 ** np.log2(at_once) * slower * noise
            details = {"block_bytes": 1048576.0}
            if "random" in test:
                details |= {
                    "reads_per_s": 1000 / wall_s,
                    "latency_p50_s": 0.0004 * noise,
                    "latency_p95_s": 0.0021 * noise,
                    "latency_p99_s": 0.009 * noise,
                }
            yield base | {
                "test": test,
                "at_once": at_once,
                "wall_s": wall_s,
                "amount": amount,
                "unit": "B",
                "bottleneck": "memory" if test.endswith("warm") else "storage",
                "cache": cache,
                "details": json.dumps(details),
            }
    yield base | {
        "test": "particle_random_read_direct",
        "wall_s": None,
        "bottleneck": "storage",
        "why_not": "the filesystem refuses O_DIRECT",
    }
    for step, wall_s in ((None, 0.8), ("write", 0.3), ("flush", 0.5)):
        yield base | {
            "test": "particle_write",
            "step": step,
            "wall_s": wall_s * slower * (1 + block / 100),
            "amount": 262 * MB,
            "unit": "B",
            "bottleneck": "memory" if step == "write" else "storage",
        }
    for operation, each_s in (("create", 0.0009), ("list", 1e-6)):
        noise = _noise(operation, block, number).lognormal(0, 0.05)
        yield base | {
            "test": f"metadata_{operation}",
            "wall_s": 1000 * each_s * noise,
            "amount": 1000.0,
            "unit": "file",
            "bottleneck": "metadata",
            "details": json.dumps({"files": 1000.0, "latency_p50_s": each_s * noise}),
        }


def _decompress(number, nodes, block):
    base = _base(number, nodes, block, "decompress", "decompress")
    for codec, rate in CODECS.items():
        yield base | {
            "test": codec,
            "step": "read",
            "wall_s": 0.03 * (1 + block / 100),
            "amount": 16 * MB,
            "unit": "B",
            "bottleneck": "storage",
            "cache": "verified-cold",
        }
        for at_once in (1, 2):
            noise = _noise(codec, at_once, block, number).lognormal(0, 0.01)
            yield base | {
                "test": codec,
                "step": "decode",
                "at_once": at_once,
                "wall_s": 32 / rate / (1.9 if at_once == 2 else 1) * noise,
                "amount": 32 * MB,
                "unit": "B",
                "bottleneck": "memory" if codec == "mrc" else "cpu",
                "details": json.dumps({"frames": 16.0, "busy_threads": float(at_once)}),
            }
    yield base | {
        "test": "tiff_jpeg2000",
        "step": "decode",
        "wall_s": None,
        "bottleneck": "cpu",
        "why_not": "imagecodecs is not installed here",
    }


def _kernels(number, nodes, block, entry, devices):
    for index, device in enumerate(devices):
        base = _base(number, nodes, block, "kernels", entry) | {"device": device}
        faster = 1.0 if device is None else 25.0
        for test, (on_cpu_s, amount, unit, bottleneck, steps) in KERNELS.items():
            own = base | {
                "test": test,
                "at_once": 2 if "multi" in test else 1,
                "bottleneck": ON_CPU[bottleneck] if device is None else bottleneck,
            }
            if test == "matrix_product" and block >= 3:
                continue
            if device is None and bottleneck == "pcie":
                yield own | {"wall_s": None, "why_not": NO_TRANSFER}
                continue
            own |= {"amount": amount, "unit": unit}
            wrong = test == "fsc_tight" and index == 1
            for repeat in range(2):
                first = repeat == 0
                noise = _noise(test, 0 if first else block + 1, number, index).lognormal(0, 0.01)
                wall_s = on_cpu_s / faster * noise + (0.3 if first else 0.0)
                told = {"first_call": float(first)} | ({} if device else {"threads": 4.0})
                judged = {"checksum": 12.5, "error": 0.02 if wrong else 1e-6, "tolerance": 1e-3}
                yield own | {
                    "repeat": repeat,
                    "wall_s": wall_s,
                    "details": json.dumps(told | judged),
                }
                for step, share in steps.items():
                    moved = step == "put_map_on_device"
                    on = {"bottleneck": "pcie" if moved else own["bottleneck"]}
                    off = moved and device is None
                    yield (
                        own
                        | on
                        | {
                            "step": step,
                            "repeat": repeat,
                            "wall_s": None if off else wall_s * share,
                            "amount": None,
                            "unit": None,
                            "why_not": NO_TRANSFER if off else "",
                            "details": json.dumps(told | {"calls": 2.0}),
                        }
                    )


def _pipeline(run):
    """Six blocks of a stage that reads 96 MB in 0.4 s with one worker, and in 0.3 s with two."""
    for block in range(1, 7):
        for count, read_s in ((1, 0.4), (2, 0.3)):
            run.trial(
                "register_denoise",
                [{"import": 2.0, "read": read_s, "compute": 20.0 / count + block / 10}] * count,
                block=block,
                **OF_ALL,
                input_bytes=MOVIE_BYTES,
                read_bytes=2 * MOVIE_BYTES,
            )
