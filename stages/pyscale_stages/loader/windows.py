"""Times batches: free of the other ranks, and in step with them.

Nothing is done between a clock's start and its end but what training does: wait for a batch,
copy it where asked, meet the other ranks. What the kernel counts is read before and after.

torch keeps `num_workers * prefetch_factor` batches asked for at any time, and so as many may lie
ready, whole, after any pause: as where ranks wait for each other. Batches that were loaded before
the clock started would be counted as if they had been loaded in no time. They are left out by
taking as many after the pause and before the clock (`excluded`); with `published` they are
counted, as the benchmark of wsistream does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyscale_stages.framefiles import files_of
from pyscale_stages.loader.batches import Batches
from pyscale_stages.loader.items import Places, pixels_of, places_in
from pyscale_stages.loader.processes import process_tree, used_between, uses_of
from pyscale_stages.loader.stage import LoaderParams
from pyscale_stages.loading import BatchWindow
from pyscale_stages.measure.pagecache import evict_all
from pyscale_stages.ranks.group import Group
from pyscale_stages.residency import LEAST_PROVED_FIRST, CacheState

Copy = Callable[[Any], None]
"""Copies a batch to a device and returns when it is there."""


@dataclass(frozen=True)
class Timed:
    """A window, and what its batches held: patches and places of each."""

    window: BatchWindow
    sizes: tuple[int, ...]
    places: tuple[Places | None, ...]
    start_unix_s: float


LATE = 0.1
"""Of the shortest window: how much later than the first rank the last one may start its clock."""


def late_start(starts_s: Sequence[float], walls_s: Sequence[float]) -> str:
    """Say in a sentence that ranks were not timed at one moment; empty where they were."""
    apart_s, shortest_s = max(starts_s) - min(starts_s), min(walls_s)
    if apart_s <= LATE * shortest_s:
        return ""
    return (
        f"the free windows of the ranks began {apart_s:.3g} s apart and the shortest took "
        f"{shortest_s:.3g} s, so the ranks did not share storage and cores all the time: time "
        "more batches, or use the values measured in step"
    )


def batches_to_time(params: LoaderParams) -> int:
    """Batches of a window, in whole rounds of the loader processes."""
    # Where it ended within a round, work on the others' next batches would be done and not counted.
    if params.opening == "published" or params.num_workers == 0:
        return params.batches
    return -(-params.batches // params.num_workers) * params.num_workers


def time_window(
    batches: Batches,
    params: LoaderParams,
    copy: Copy | None,
    slides: Sequence[str],
    group: Group | None = None,
) -> Timed:
    """Take batches as soon as they come or, in step with a group, as training does.

    In step each batch is taken when all ranks have had their last one. All ranks are to begin at
    one moment, from a meeting: the batches that are left out come after it, since queues fill
    again while a rank waits for the others. In step they are met for, too, so that all clocks
    start at one meeting.
    """
    pids = process_tree()
    meet = None if group is None else group.meet
    if group is not None:
        group.meet()
    cache = evict_slides(slides) if params.cold_windows else None
    excluded = batches.ready_at_most if params.opening == "excluded" else 0
    for _ in range(excluded):
        batches.take()
        if meet is not None:
            meet()
    n_batches = batches_to_time(params)
    now = time.perf_counter
    waits_s: list[float] = []
    copies_s: list[float] = []
    steps_s: list[float] = []
    sizes: list[int] = []
    places: list[Places | None] = []
    before = uses_of(pids)
    start_unix_s = time.time()
    start_s = now()
    for _ in range(n_batches):
        asked_s = now()
        batch = batches.take()
        had_s = now()
        waits_s.append(had_s - asked_s)
        if copy is not None:
            copy(batch)
            copies_s.append(now() - had_s)
        sizes.append(len(pixels_of(batch)))
        places.append(places_in(batch))
        if meet is not None:
            meet()
            steps_s.append(now() - asked_s)
    wall_s = now() - start_s
    use = used_between(before, uses_of(pids))
    return Timed(
        window=BatchWindow(
            wall_s=wall_s,
            waits_s=tuple(waits_s),
            steps_s=tuple(steps_s),
            copies_s=tuple(copies_s),
            patches=sum(sizes),
            cache=cache,
            prefetched_batches=excluded,
            read_bytes=use.read_bytes,
            storage_read_bytes=use.storage_read_bytes,
            cpu_s=use.cpu_s,
        ),
        sizes=tuple(sizes),
        places=tuple(places),
        start_unix_s=start_unix_s,
    )


def evict_slides(slides: Iterable[str]) -> CacheState:
    """Drive slides out of the page cache of this node."""
    files = [file for slide in slides for file in files_of(Path(slide))]
    states = (eviction.state for eviction in evict_all(files))
    return min(states, key=LEAST_PROVED_FIRST.index, default="unsupported")
