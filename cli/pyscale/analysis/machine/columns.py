"""Columns of the table of what a machine's tests gave."""

from __future__ import annotations

from typing import Any


def test_schema() -> dict[str, Any]:
    """Columns of `pyscale.analysis.machine.tests.machine_tests`.

    kind, stage, workers : str, str, int
        The stage (storage, decompress or kernels), the entry of the suite, and N: how many
        processes measured at once, each by itself.
    node, hardware : str
        Where, and the label of that node's hardware.
    device : str or None
        What computed, by name; None is the processor.
    test, step : str, str or None
        What was timed; of a step, which one inside the test.
    at_once : int
        Readers or threads that did it at once.
    whole : bool
        Whether it stands for itself: the whole of a test, or a step of a test that is timed in
        steps alone, as reading and decoding are.
    processes : int
        Processes of one trial that timed it on that node: with more than one, the machine gave so
        many times the rate, if all were at it together.
    repeats : int
        Trials that timed it, each in a process of its own, or in several at once: what is taken
        for independent.
    calls : int
        Repeats inside all of these processes, without first calls.
    first_s : float
        The first call of a process, which also pays for what is done once, in seconds: the median
        over trials; null where calls are not told apart.
    wall_s, wall_s_low, wall_s_high : float
        Of each process the median over its calls, in seconds, and of those of a trial; over trials
        the median, and its 95 % interval (see `pyscale.analysis.intervals`). Null where too few
        trials timed it, and where it cannot run. The interval is of the minutes of one run: it
        says nothing of another day.
    amount, unit : float, str
        How much was done in each call; null where it is not told, or not always the same.
    rate, rate_low, rate_high : float
        `amount` over time, in `unit` a second.
    percent : float
        Share, from 0 to 1, of what stands for itself: of the sum of `wall_s` over all of the same
        kind, workers, node and device. A test that was done with 1, 2 and 4 readers was done three
        times, and is three parts of that sum. Of another step: the sum of its calls over that of
        its test's, so that the steps of a test add up to 1, but for what no step holds.
    bottleneck : str
        What its speed depends on most; of a test with timed steps what its longest step does.
    cache : str
        Page cache of what was read: of all calls the state of which least was proved.
    latency_p50_s, latency_p95_s, latency_p99_s : float
        Of single reads or operations in seconds: of each process, then the median over trials.
    iops : float
        Reads in a second: the median over trials.
    error, tolerance : float
        Of the result, by the test's own measure: the largest of any call, and what is allowed.
    why_not : str
        Why it cannot run here, in words; empty where it did.
    flags : list of str
        Doubts; see `pyscale.analysis.machine.flags.SENTENCES`.
    """
    import polars as pl

    number = pl.Float64()
    return {
        "kind": pl.String(),
        "stage": pl.String(),
        "workers": pl.Int64(),
        "node": pl.String(),
        "hardware": pl.String(),
        "device": pl.String(),
        "test": pl.String(),
        "step": pl.String(),
        "at_once": pl.Int64(),
        "whole": pl.Boolean(),
        "processes": pl.Int64(),
        "repeats": pl.Int64(),
        "calls": pl.Int64(),
        "first_s": number,
        "wall_s": number,
        "wall_s_low": number,
        "wall_s_high": number,
        "amount": number,
        "unit": pl.String(),
        "rate": number,
        "rate_low": number,
        "rate_high": number,
        "percent": number,
        "bottleneck": pl.String(),
        "cache": pl.String(),
        "latency_p50_s": number,
        "latency_p95_s": number,
        "latency_p99_s": number,
        "iops": number,
        "error": number,
        "tolerance": number,
        "why_not": pl.String(),
        "flags": pl.List(pl.String()),
    }
