"""Every flag of every kind of result: its code, letter, weight and sentence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

import polars as pl
from pydantic import Field

from pyscale.analysis.drift import SIZE
from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.losses import GROUP
from pyscale.analysis.workers import CLOCK_TOLERANCE_S
from pyscale_stages.contract import Record
from pyscale_stages.reconstruction import DENOISER_TOLERANCE, GRADIENT_TOLERANCE

Weight = Literal["invalid", "unchecked", "doubt", "neutral"]


class Flag(Record):
    """A doubt about a number."""

    code: str
    letter: str = Field(description="The same in every table")
    weight: Weight = Field(
        description="invalid: no ratio holds, as of other work or of workers one after another; "
        "unchecked: perhaps of other work; doubt: the answer could be another; neutral: that "
        "cannot be"
    )
    short: str = Field(description="In a few words")
    sentence: str


STRAGGLING = 0.2
"""A slowest rank that is this far below the median of the ranks is a straggler."""
FROM_MEMORY = 0.01
"""Of what is read, a share from block devices below which memory gave nearly all."""
MOST_REST = 0.01
"""Of an iteration's wall time: components that leave more out, or count more twice, are wrong."""
UNEVEN = 0.8
"""A mean over the largest of the ranks' work below which they are called uneven."""


_TABLE: tuple[tuple[tuple[str, str, Weight, str], str], ...] = (
    (
        ("few-repeats", "n", "neutral", f"fewer than {repeats_needed()} trials"),
        f"Fewer than {repeats_needed()} timed trials: too few for a 95 % interval.",
    ),
    (
        ("first-call-only", "1", "neutral", "only a first call"),
        "Only the first call was timed, which includes one-time costs, so no time is given: raise "
        "repeats.",
    ),
    (
        ("unstable", "u", "doubt", "trials scatter"),
        "Trials scatter: standard deviation of 10 % of the mean or more, a trial 50 % or more away "
        "from the mean, or one further than 14.8 median absolute deviations from the median.",
    ),
    (
        ("first-trial", "f", "neutral", "the first trial stands apart"),
        "The first trial differs from the others, which agree: it warmed something up (a page "
        "cache, a compiled kernel, a clock frequency).",
    ),
    (
        ("drift", "d", "doubt", "wall times drifted over the run"),
        f"Wall times rose or fell by {100 * SIZE:g} % or more over the run, beyond chance; every "
        "comparison includes what changed meanwhile (temperature, other load, a filling disk).",
    ),
    (
        ("in-a-row", "y", "doubt", "each N was timed in a row"),
        "All trials of one N stand in a row, by their starts or else by the order of the rows: a "
        "change over time (temperature, other load) then looks like a difference between N; time "
        "the N in turns, and give `start`, or `block` where each N ran once in each.",
    ),
    (
        ("coarse-times", "z", "doubt", "times are rounded too coarsely"),
        "Wall times are rounded to a step that is large beside their scatter, and 1 % of the time "
        "or more: intervals are widened by it.",
    ),
    (
        ("superlinear", "s", "doubt", "efficiency above 1: was the baseline slow?"),
        "Efficiency is above 1 by more than the trials scatter: mostly the baseline was slow (a "
        "cold start, swapping, data too large for a cache), and then every speedup is too high.",
    ),
    (
        ("baseline-moved", "b", "doubt", "the baseline is not the fewest ranks"),
        "The baseline is not the fewest ranks requested: no trial with fewer ranks counts.",
    ),
    (
        ("warm-not-cold", "w", "doubt", "warm cache though not requested"),
        "The input was in the page cache, though a warm cache was not requested: trials read from "
        "memory, not from storage.",
    ),
    (
        ("from-memory", "m", "doubt", "batches came from memory, not from storage"),
        f"Cold cache requested, but less than {FROM_MEMORY:.0%} of the bytes of the timed batches "
        "came from block devices: unless the slides are on a network filesystem, whose bytes are "
        "not counted, they were in memory before, and the rate is not the storage's.",
    ),
    (
        ("evicted-unverified", "e", "neutral", "cold cache not proven"),
        "The input was evicted from the page cache; the eviction could not be verified.",
    ),
    (
        ("cache-uncontrolled", "c", "doubt", "page cache not controlled"),
        "The page cache was left as it was or cannot be inspected: trials may have read from "
        "storage or from memory.",
    ),
    (
        ("oversubscribed", "o", "doubt", "more workers than cores or GPUs"),
        "More workers, or ranks and loader processes, than available processor cores, or more "
        "workers than GPUs.",
    ),
    (
        ("disturbed", "l", "doubt", "other work ran on the machine"),
        "Other work ran on the machine just before or after a trial (a task of another run, or "
        "more than the cores had room for): the trial may have shared cores, memory and storage.",
    ),
    (
        ("workers-did-not-overlap", "v", "doubt", "workers barely overlapped"),
        "In at least one trial all workers ran together for less than half of the shortest "
        "worker's time: they shared memory and storage bandwidth less than N workers at once.",
    ),
    (
        ("workers-in-turn", "V", "invalid", "workers never all ran at once"),
        "In at least half of the trials there was no time at which all workers ran: so many "
        "workers at once were not measured, and their times give no speedup.",
    ),
    (
        ("clocks-disagree", "k", "neutral", "the nodes' clocks disagree"),
        f"By the clocks of the nodes a task began {CLOCK_TOLERANCE_S:g} s or more before its "
        "order was given, or ended as much after its merge's: queue wait, start stagger, overlap, "
        "gaps and the windows of each worker are unreliable.",
    ),
    (
        ("straggler", "g", "doubt", "one rank lags behind"),
        f"In the middle trial the slowest rank was more than {STRAGGLING:.0%} below the median "
        "of the ranks: all others wait for it.",
    ),
    (
        ("uneven", "i", "doubt", "ranks share the work unevenly"),
        f"In the middle trial the mean rank computed less than {UNEVEN:.0%} as long as the busiest "
        "one, for which all others wait.",
    ),
    (
        ("other-work", "a", "neutral", "tiles make ranks denoise extra pixels"),
        "Tiles overlap, so all ranks together denoise more pixels than the baseline: part of the "
        "lost efficiency is this extra work.",
    ),
    (
        ("rest", "t", "doubt", "components do not add up to the iteration"),
        f"On a rank more than {MOST_REST:.0%} of an iteration is in no component, or in two.",
    ),
    (
        ("steps-overlap", "p", "neutral", "steps may overlap"),
        "Several threads ran at once: steps may overlap, and their times do not sum to the whole.",
    ),
    (
        ("retried", "r", "neutral", "a retried trial is left out"),
        "A trial succeeded only on a retry; the timing excludes it.",
    ),
    (
        ("retried-counted", "R", "neutral", "a retried trial is counted"),
        "A trial succeeded only on a retry; the timing includes it, as requested.",
    ),
    (
        ("failed-trials", "F", "doubt", "a trial failed"),
        "A trial failed or did not finish; the timing excludes it.",
    ),
    (
        ("exhausted", "x", "doubt", "memory ran out in a trial"),
        "A trial ran out of memory.",
    ),
    (
        ("mixed-hardware", "h", "doubt", "trials ran on different hardware"),
        "Trials ran on different hardware from each other or from the baseline: the machines may "
        "cause part of the difference.",
    ),
    (
        ("disagrees", "D", "invalid", "the result differs from what it must equal"),
        "The result differs from the baseline's, from that of one rank, from other trials with the "
        "same seed or from the known one by more than the tolerance: its numbers are of other "
        "work.",
    ),
    (
        ("check-failed", "C", "unchecked", "the check of the output failed"),
        "The comparison with the baseline's output failed: whether the output agrees is unknown.",
    ),
    (
        ("not-compared", "q", "neutral", "not compared with one rank"),
        "The result of all ranks was not, or not wholly, compared with that of one rank "
        f"(tolerances: {GRADIENT_TOLERANCE:g} for the gradient, {DENOISER_TOLERANCE:g} for the "
        "denoised image).",
    ),
)

FLAGS = {
    code: Flag(code=code, letter=letter, weight=weight, short=short, sentence=sentence)
    for (code, letter, weight, short), sentence in _TABLE
}
"""In the order in which every table and text has them."""
SENTENCES = {code: flag.sentence for code, flag in FLAGS.items()}
LETTERS = {code: flag.letter for code, flag in FLAGS.items()}


def of_weight(weight: Weight) -> frozenset[str]:
    """Codes of all flags of one weight."""
    return frozenset(code for code, flag in FLAGS.items() if flag.weight == weight)


INVALIDATING, UNCHECKED = of_weight("invalid"), of_weight("unchecked")


def raised(holds: Mapping[str, object]) -> list[str]:
    """Codes of the flags that hold, in the order of `FLAGS`."""
    unknown = holds.keys() - FLAGS.keys()
    # A misspelt code would never be shown.
    if unknown:
        raise KeyError(f"not in the list of flags: {', '.join(sorted(unknown))}")
    return [code for code in FLAGS if holds.get(code)]


def flags_of(row: Mapping[str, Any]) -> list[str]:
    """Codes of all flags of a row, which are a list, or joined by commas."""
    flags = row["flags"] or []
    return [code for code in flags.split(",") if code] if isinstance(flags, str) else list(flags)


OF_TRIALS = frozenset(
    {
        *("oversubscribed", "disturbed", "workers-did-not-overlap", "workers-in-turn"),
        *("clocks-disagree", "retried"),
        *("retried-counted", "failed-trials", "mixed-hardware", "disagrees", "check-failed"),
    }
)
"""Flags of trials that matter whatever is measured in them: not those on wall times and inputs."""


def flags_of_trials(configurations: pl.DataFrame, stages: Iterable[str]) -> list[str]:
    """Codes of `OF_TRIALS` that the trials of some entries raise, in the order of `FLAGS`."""
    own = configurations.filter(pl.col("stage").is_in(list(stages)))
    found = OF_TRIALS.intersection(own["flags"].explode().drop_nulls())
    return [code for code in FLAGS if code in found]


def is_invalid(codes: Collection[str]) -> bool:
    """Whether a configuration with these doubts must not be compared with its baseline."""
    return not INVALIDATING.isdisjoint(codes)


def without_invalid(trials: pl.DataFrame, configurations: pl.DataFrame) -> pl.DataFrame:
    """Leave out the trials of invalid configurations, as the table made of them says."""
    one = [*GROUP, "workers"]
    invalid = configurations.filter("invalid").select(one)
    return trials.join(invalid, on=one, how="anti", nulls_equal=True, maintain_order="left")
