"""The dictionary of the columns of the tables: what each holds, and in which unit.

`python -m pyscale.report.columns` writes docs/columns.md from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import BaseModel

from pyscale.analysis.aggregate import meanings
from pyscale.analysis.comparison import comparison
from pyscale.analysis.declared import declared
from pyscale.analysis.grid.parts import part_schema
from pyscale.analysis.grid.points import point_schema
from pyscale.analysis.grid.versus import ratio_schema
from pyscale.analysis.losses import loss_table
from pyscale.analysis.machine.headroom import headroom_schema
from pyscale.analysis.machine.nodes import node_schema
from pyscale.analysis.machine.tests import test_schema
from pyscale.analysis.measured import point_schema as measure_points
from pyscale.analysis.ranks.components import scaling_schema
from pyscale.analysis.ranks.loader import point_schema as loader_schema
from pyscale.analysis.ranks.loader import rank_schema
from pyscale.analysis.ranks.reconstruct import point_schema as reconstruct_schema
from pyscale.analysis.scaling import configurations
from pyscale.analysis.spending import with_costs
from pyscale.analysis.starts import start_schema
from pyscale.analysis.trials import trial_table
from pyscale.report.csv import FILES, RARE_FILES
from pyscale.store.tables import FILES as STORED
from pyscale.store.tables import TABLES, span_schema, task_schema
from pyscale_stages.contract import Counters
from pyscale_stages.loader.params import LoaderParams
from pyscale_stages.loading import Loading
from pyscale_stages.measured import Measured
from pyscale_stages.reconstruction import Iteration, Reconstruction
from pyscale_stages.record import Record
from pyscale_stages.timing import Timing

PAGE = Path("docs/columns.md")

OUTPUTS = ("output_agreement", "output_tolerance", "output_identical", "output_measure")
"""What the table of versions has beside the comparison of their times."""


@cache
def _made() -> dict[str, list[str]]:
    """Columns of the tables that are made step by step, as a run without tasks has them."""
    tasks, spans = (pl.DataFrame(schema=schema()) for schema in (task_schema, span_schema))
    trials = trial_table(tasks, spans)
    return {
        "configurations": with_costs(configurations(trials), trials, None).columns,
        "losses": loss_table(trials).columns,
        "trials": trials.columns,
        "versions": [*comparison(trials, trials).columns, *OUTPUTS],
    }


SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "points": point_schema,
    "ratios": ratio_schema,
    "parts": part_schema,
    "starts": start_schema,
    "tests": test_schema,
    "nodes": node_schema,
    "headroom": headroom_schema,
    "loader": loader_schema,
    "loader_ranks": rank_schema,
    "measures": measure_points,
    "reconstruct": scaling_schema,
    "reconstruct_points": reconstruct_schema,
    **{STORED[name]: schema for name, (_, schema) in TABLES.items()},
}
RECORDS: dict[str, tuple[type[BaseModel], ...]] = {
    "tasks.parquet": (Counters,),
    "timings.parquet": (Timing,),
    "loading.parquet": (Loading, LoaderParams),
    "reconstruction.parquet": (Reconstruction, Iteration),
    "measures.parquet": (Measured,),
    "measures": (Measured,),
    "loader": (LoaderParams,),
    "loader_ranks": (Loading,),
    "reconstruct": (Reconstruction,),
    "reconstruct_points": (Reconstruction,),
}
"""Records that describe columns of a table; of several that have one, the last."""
FOLDED: dict[str, type[Record]] = {"loader": Loading, "reconstruct_points": Reconstruction}
"""Records whose numbers are in a table taken together over ranks and trials."""

UNITS = {
    "_per_s": "1/s",
    "_mp_s": "megapixels/s",
    "_s": "s",
    "_seconds": "worker-seconds",
    "_bytes": "bytes",
    "_j": "J",
    "_px": "px",
    "_db": "dB",
    "_hours": "h",
}
"""By the end of a column's name."""
OTHER_UNITS = {
    "busy_s": "worker-seconds",
    "idle_s": "worker-seconds",
    "useful_s": "worker-seconds",
    "unattributed_s": "worker-seconds",
    "gap_s": "worker-seconds",
    "prepare_s": "worker-seconds",
    "tasks.parquet.prepare_s": "s",
    "loss_s": "s",
    "growth_s": "worker-seconds",
    "seconds": "s",
    "mean_seconds": "s",
    "pixels": "px",
    "mpp": "um/px",
    "read_bytes_per_s": "bytes/s",
    "storage_bytes_per_s": "bytes/s",
    "gate_interior_px": "px",
    "cpu_s_per_patch": "s",
    "copy_s_per_batch": "s",
    "read_bytes_per_patch": "bytes",
    "storage_read_bytes_per_patch": "bytes",
    "core_hours_per_work": "h",
    "gpu_hours_per_work": "h",
    "energy_j_per_work": "J",
    "money": "`currency`",
    "money_per_work": "`currency`",
    "amount": "`unit`",
    "rate": "`unit`/s",
    "median_rate": "`unit`/s",
    "measures.value": "`unit`",
    "measures.parquet.value": "`unit`",
    "iops": "1/s",
}

MEANINGS = """
suite: Suite, or the name of the table
stage: Entry of the suite
algorithm: Algorithm that ran, with its version; empty for a table measured elsewhere
family: Entry of the suite with the grid that this is a point of
workers: N, the number of workers (or ranks) that ran at once
windows: Windows (shares of the frames) that a trial was cut into
joins: Whether its windows are joined to one output; a single one and copies of one work are not
repeats: Timed trials
trials: Timed trials
device: What computed: cpu, cuda or mps; in tests of the machine its name, empty for the processor
wall_s: Median wall time over the timed trials
wall_s_min: Shortest of the timed trials
wall_s_max: Longest of the timed trials
speedup: Wall time of the baseline over that at N, times the growth of the work
efficiency: Speedup times baseline workers over N
load_balance: Mean busy time of the workers over the wall time
computation_scaling: Useful compute of the baseline over that at N
useful_share: Useful compute over busy time
worker_seconds: N times the wall time
cache_state: Page cache of the input before it was read; of several states the least proved
agreement: Score of the output against the baseline's, 1 is full agreement; the lowest trial
agreement_tolerance: Smallest score that counts as the same
agreement_measure: What the score is
agreement_same: Whether the score is at least the tolerance
agreement_identical: Whether the output has the bytes of the baseline's
identical: Whether the output of every trial has the bytes of the baseline's
quality: JSON object: median of each measure against the truth
flags: Doubts, with semicolons or commas between; scaling_analysis.md explains each
warnings: What the stage warned of, with counts
result_doubted: Whether the result may be wrong for any of the warnings
baseline_workers: N of the baseline
merge_s: Wall time of the merge, part of the wall time
queue_s: Median wait of a worker from its submission to its start
queue_worst_s: Longest wait of a worker
start_stagger_s: Time between the starts of the first worker and the last
overlap: Share of the slowest worker's time in which all workers ran
gap_s: Time between the windows of one worker, summed over workers
karp_flatt: Serial fraction by Karp and Flatt
gustafson: Serial fraction by Gustafson, for weak scaling
work: Frames, or the unit of the table's column `work`
growth: Work over that of the baseline
scaling: How work grew with N: strong, weak or mixed
invalid: Whether the output is not the baseline's: the speedup compares two different results
nodes: Nodes that processed windows
peak_rss_bytes: Highest resident memory of a task
requested_memory_bytes: Memory that a task asked for
memory_to_request_bytes: Memory that is enough for a task
memory_used_share: Peak memory over what was asked for
cores_used: Cores that a task kept busy
requested_cpus: Cores that a task asked for
requested_gpus: GPUs that a task asked for
core_hours: Core-hours of a trial
core_hours_per_work: Core-hours of a unit of work
gpu_hours: GPU-hours of a trial
gpu_hours_per_work: GPU-hours of a unit of work
money: Price of a trial
money_per_work: Price of a unit of work
energy_j: Energy of a trial
energy_j_per_work: Energy of a unit of work
currency: Unit of money
part: Part of the time, such as compute, import or idle
growth_s: Growth of this part over the baseline's
trial: Name of the trial
block: Repeat, in which every configuration runs once
position: Place in the order of execution, from 0
attempt: How often the trial was begun
cache_asked: Page cache that was asked for: cold, warm or asis
failed: Whether a task failed; in tables of configurations, how many trials did
oversubscribed: Whether workers shared cores or a GPU
disturbed: Whether other work was seen on the node
hardware: Label of the node's hardware
prepare_s: Time of launchers before the stage's process started
longest_task_s: Longest time of a task
input_bytes: Size of the input of the windows
input_files: Files of the input of the windows
gpu_mean_utilisation: Mean use of the GPU, 0 to 1
busy_s: Time in tasks
slowest_s: Longest time of a worker, without the merge
shortest_s: Shortest time of a worker, without the merge
clock_error_s: By how much a time between two nodes may be wrong
check_failed: Whether the comparison of the output failed
warned: JSON list of what the tasks warned of
idle_s: Time in which workers waited for the slowest and for the merge
useful_s: Time of computing
unattributed_s: Time of tasks that no phase covers
complete: Whether all planned tasks ended well
valid: Whether the trial is timed
series: Values of the axes that tell lines of a grid apart
value: Value that is compared, such as a device
base: Value that it is compared with
base_stage: Point that it is compared with
threads: Cores of each worker
gpu_sharing: How workers share a GPU
model: Model of the segmentation
batch_size: Tiles in a batch of a segmentation; patches in a batch of a loader
point: JSON object: the place in the grid
pixels: Height times width of an image
megapixels: Pixels over 1e6
length_px: Square root of the pixels
calls: Calls that were timed
steady_s: Time of a call after the first of its process
first_s: Time of the first call of a process
start_s: Time of building the model
fresh_s: Building the model and the first call together
published_s: Mean of building and call together, as published measurements give it
published_s_low: Mean less one standard deviation over calls
published_s_high: Mean plus one standard deviation over calls
published_sd_s: Standard deviation over calls
published_calls: Calls of the published mean
throughput_mp_s: Megapixels a second of all workers together
objects: Objects found, such as cells
gpu_own_peak_bytes: Peak GPU memory that the task's own library held
gpu_peak_bytes: Peak GPU memory
gpu_energy_j: Energy of the GPU
cpu_energy_j: Energy of the processors
beside_ap_iou50: Average precision at an IoU of 0.5 against the output of the base
beside_ap_iou90: Average precision at an IoU of 0.9 against the output of the base
beside_objects: Objects in this output
beside_objects_base: Objects in the output of the base
measure: Time that is compared: steady, first, start or fresh
base_s: Time of the base
value_s: Time of the value
part_s: Time of the part in one call
share: Share, 0 to 1
part_ratio: Time of the part at the base over its own
kind: Stage that tests the machine: storage, decompress or kernels
node: Node
test: Test
step: Step of the test; empty for the whole
at_once: Readers or threads at once
whole: Whether the row stands for itself and not for a step of another
processes: Processes that timed it at once on the node
amount: What one call did, in `unit`
unit: Unit of amount, and of rate in a second
rate: Amount over time
percent: Share of the time of all tests of its kind, 0 to 1
bottleneck: What its speed depends on most
cache: Page cache of what was read
latency_p50_s: Median latency
latency_p95_s: Latency that 95 % do not exceed
latency_p99_s: Latency that 99 % do not exceed
iops: Reads in a second
error: First error; of kernels, deviation of the result
tolerance: Allowed deviation
why_not: Why it could not run
median_rate: Median rate of all nodes
outlier: Whether the node is below 0.8 or above 1.25 of the median, and its interval excludes 1
readers: Workers that read on this node at once
read_bytes: Bytes fetched of the input on this node
read_s: Time in which at least one worker read
read_bytes_per_s: Rate at which the stage read
test_readers: Readers of the storage test beside it
storage_bytes_per_s: Rate of the storage in the test beside it
proved: Whether nothing lay in the page cache, proved on both sides
loader_processes: Loader processes of all ranks
cores: Cores for all ranks
effective_over_inferred: Quotient of `patches_per_s` and `inferred_per_s`
slowest_rank: Number of the slowest rank
straggling: How far the slowest rank is below the median rank, 0 to 1
wait_p50_s: Median wait for a batch
wait_p95_s: Wait that 95 % of batches do not exceed
wait_p99_s: Wait that 99 % of batches do not exceed
on_front: Whether no comparable point is both as fast and as diverse and better in one
keeps_diversity: Whether it has the asked share of the most diverse point's effective slides
checksum: Checksum of what was delivered; "differs" where trials differ
feeds: Whether training is fed: yes, no or not sure
rank: Number of the rank
size_px: Side of the image
component: Component of an iteration; total is all of it
seconds: Median time of the slowest rank in an iteration
mean_seconds: Median over trials of the mean time of the ranks
normalised_efficiency: Efficiency for the same number of denoised pixels
loss_s: Time beyond ideal scaling
exhausted: Whether memory ran out
collectives_share: Share of the exchange of the gradient and the gathering of tiles
barrier_share: Share of waiting for other ranks
rest_share: Share that is in no component
balance: Mean over largest time of the ranks in gradient and denoiser
tiles_balance: Mean over largest number of tiles of the ranks
psnr_drift_db: PSNR less that of the baseline
psnr_interior_drift_db: PSNR inside tiles less that of the baseline
psnr_border_drift_db: PSNR at borders of tiles less that of the baseline
deviation_interior: Largest deviation from the baseline's image inside tiles, of its range
deviation_border: The same at borders of tiles
gate: Whether ranks together agree with one rank
base_repeats: Timed trials of the base version
new_repeats: Timed trials of the new version
base_wall_s: Median wall time of the base version
new_wall_s: Median wall time of the new version
p_adjusted: p of a difference, by Holm's method
p_beyond: p of a difference beyond the least that counts, by Holm's method
verdict: Verdict, such as same, slower or worse
reason: Why this verdict
base_flags: Doubts about the base version
new_flags: Doubts about the new version
base_invalid: Whether the output of the base version is not its baseline's
new_invalid: Whether the output of the new version is not its baseline's
base_quality: JSON object: median of each measure against the truth, base version
new_quality: The same of the new version
output_agreement: Score of the new version's output against the base version's
output_tolerance: Smallest score that counts as the same
output_identical: Whether both outputs have the same bytes
output_measure: What the score is
losses.worker_seconds: Time of the part, summed over the workers
trials.wall_s: Wall time of the trial
trials.agreement: Score of the output against the baseline's, 1 is full agreement
trials.quality: JSON object: measures against the truth
points.quality: Average precision at an IoU of 0.5 against the truth
ratios.ratio: Time of the base over that of the value: above 1 the value is faster
parts.part: Part of a call
parts.base_s: Time of the part in the call of the base
tests.wall_s: Median time of a call
tests.calls: Calls that were timed, without first calls
tests.error: Largest deviation of the result
nodes.nodes: Nodes that did the test
nodes.ratio: Rate over the median rate
headroom.share: Rate of reading over the rate of the storage: near 1 the storage gave what it can
loader_ranks.patches_per_s: Patches of the rank, without waiting for others
reconstruct.speedup: Time at the baseline over that at N
reconstruct.share: Share of the time of all ranks in iterations
reconstruct_points.wall_s: Median time of an iteration of the slowest rank
starts.stage: Entry whose windows are new processes
starts.warm_stage: Entry of the same work, whose windows are done by warm workers
starts.origin: fork or kept: what does a window of the warm one
starts.worker_start_s: From the start of a warm worker until it can take a window
starts.window_cold_s: Mean wall time of a window in a new process
starts.window_warm_s: Mean wall time of a window of a warm worker
starts.windows_to_repay: Windows after which a worker has saved its start
starts.movie_cold_s: Time to the result of one movie with new processes
starts.movie_warm_s: The same with warm workers, their start included
starts.movies_cold_s: Time to the results of 100 movies with new processes
starts.movies_warm_s: The same with warm workers, their start included once
starts.identical: Whether both starts gave the same bytes
task: Name of the task, like w0, merge or check
verb: What the task did: run, merge or check
lane: Worker that did it, from 0; empty for merge and check
status: done or failed
start: As planned: cold or warm
origin: Where the process came from that did it: start, fork or kept
worker: Warm worker that did it; empty for a new process
worker_start_s: Time of the start of the warm worker, which no task has in its time
submit_utc: When it was submitted
begin_utc: When its launcher began, on the clock of the machine that ran pyscale where that is known
start_utc: When its process began, on the same clock
end_utc: When its work ended, on the same clock
job_id: Job of the cluster
clock_offset_s: What was added to times of its node
requested_time_s: Time that a task asked for
input_storage: Filesystem that the input lies on, by type and device, like "nfs4 on remote"
beside_trial: Trial of another point or version whose output this one is set beside
beside_agreement: Score of that comparison
beside_tolerance: Smallest score that counts as the same
beside_measure: What that score is
beside_identical: Whether both outputs have the same bytes
beside_details: JSON object: the stage's measures of that comparison
image: Image that it ran in
image_sha256: Checksum of the image's file
phase: Phase of the task
frame: Frame of the movie
call: Which call of the process, from 0
cpus: Numbers of the cores that the rank was pinned to
settings: JSON object: all parameters of the stage
iteration: Which of the timed iterations, from 0
objective_s: Time of the value of the objective, as often as there were iterations, after the last
tasks.parquet.error: Why it failed
tasks.parquet.wall_s: From the start of the task's process to the end of its work
tasks.parquet.queue_s: Between its submission and the begin of its launcher
tasks.parquet.prepare_s: From there to the start of the process
tasks.parquet.quality: JSON object: measures against the truth
tasks.parquet.agreement: Score of the output against the baseline's, 1 is full agreement
tasks.parquet.warned: JSON list of what it warned of
spans.parquet.wall_s: Length of the phase
calls.parquet.part: Like network; empty for the whole call, `build` for building the model before it
calls.parquet.wall_s: Length of the part
calls.parquet.objects: Objects that the call found
calls.parquet.pixels: Height times width of what the call was given
loading.parquet.error: Why the rank failed
loading.parquet.exhausted: Whether memory ran out on this rank, by its own error or by Slurm
loading.parquet.cache_state: Of the slides before the trial, or the window they were evicted for
reconstruction.parquet.error: Why the rank failed
reconstruction.parquet.exhausted: Whether memory ran out on this rank, by its own error or by Slurm
measures.value: Median over the timed trials
over_baseline: Value over that at the fewest workers
worse: Whether it is worse than at the fewest workers beyond 5 % and chance; empty where unknown
versions.ratio: Wall time of the new version over that of the base: above 1 it is slower
"""

_PARSED = dict(line.split(": ", maxsplit=1) for line in MEANINGS.strip().split("\n"))
ROWS = {
    "configurations": "A row a stage and N.",
    "losses": "A row a part of the worker-seconds of a stage at one N.",
    "trials": "A row a trial.",
    "points": "A row a point of a grid.",
    "ratios": "A row a comparison of a point with its base.",
    "parts": "A row a part of a call.",
    "starts": "A row a stage and N that was measured with both starts.",
    "tests": "A row a test of the machine.",
    "nodes": "A row a test and node.",
    "headroom": "A row a stage that reads, and node.",
    "loader": "A row a configuration that loads patches.",
    "loader_ranks": "A row a rank of such a configuration.",
    "reconstruct": "A row a component of a reconstruction at one N.",
    "reconstruct_points": "A row a reconstruction at one N.",
    "measures": "A row a number that a stage measures, at one N.",
    "versions": "A row a configuration that two versions measured.",
    **{STORED[name]: f"{rows}." for name, (rows, _) in TABLES.items()},
}


def columns(table: str) -> list[str]:
    """Columns of a table by its key in `pyscale.report.csv`, as the exporter writes them."""
    found = list(SCHEMAS[table]()) if table in SCHEMAS else [*_made()[table]]
    if "stage" in found and table not in STORED.values():
        found.insert(found.index("stage") + 1, "algorithm")
    return found


def meaning(table: str, column: str) -> str:
    """Meaning of a column of a table."""
    records = [declared(record) for record in RECORDS.get(table, ())]
    described = {name: one.means for record in records for name, one in record.items()}
    folded = meanings(FOLDED[table]) if table in FOLDED else {}
    known = _PARSED | described | folded
    for name in (f"{table}.{column}", column):
        if name in known:
            return known[name]
    if column.startswith("phase_"):
        phase = column.removeprefix("phase_").removesuffix("_s").replace("_", " ")
        return f"Time in the phase {phase}, summed over workers"
    for end, which in (("_low", "Lower"), ("_high", "Upper")):
        if column.endswith(end):
            return f"{which} end of the 95 % interval of `{column.removesuffix(end)}`"
    raise KeyError(column)


def unit(table: str, column: str) -> str:
    """Unit of a column; empty for what has none."""
    name = column.removesuffix("_low").removesuffix("_high")
    for known in (f"{table}.{name}", name):
        if known in OTHER_UNITS:
            return OTHER_UNITS[known]
    if name.startswith("phase_"):
        return "worker-seconds"
    return next((known for end, known in UNITS.items() if name.endswith(end)), "")


def page() -> str:
    """The text of docs/columns.md."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "# Columns of the tables"
    yield ""
    yield "Generated by `cli/pyscale/report/columns.py` from the declarations of what is measured."
    yield "An empty cell is a number that was not measured or has no interval; intervals need six"
    yield "timed trials. The CSV files are the report's. The Parquet files lie beside it: there, a"
    yield "rank that failed has its error and no measurements; `free_…` is of batches taken without"
    yield "waiting for other ranks, `together_…` of those in step with them."
    for table, file in (FILES | RARE_FILES | {file: file for file in STORED.values()}).items():
        yield f"\n## {file}\n\n{ROWS[table]}\n\n| Column | Unit | Meaning |\n| --- | --- | --- |"
        for column in columns(table):
            means = meaning(table, column).replace("; None where", "; empty where")
            yield f"| `{column}` | {unit(table, column)} | {means} |"
    yield ""


if __name__ == "__main__":
    PAGE.write_text(page())
