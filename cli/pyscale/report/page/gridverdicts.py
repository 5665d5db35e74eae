"""The verdict on each sweep of a grid, for the first screen: numbers tied to the CSVs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyscale.report.grid import ratios
from pyscale.report.grid.sweep import Line, Sweep
from pyscale.report.grid.told import not_compared
from pyscale.report.grid.trust import trust_in_sweep
from pyscale.report.grid.words import plural, size, the
from pyscale.report.page.answers import Answer, Answered
from pyscale.report.page.values import POINTS, RATIOS, Cell
from pyscale.report.wording import listing, percent, ratio

LONGEST_NAME = 12
"""Letters of a line's name that stand beside its answer; a longer one stands in it."""


def sweep_verdicts(found: Sequence[Sweep]) -> list[Answered]:
    """Say of each sweep how much faster, what limits it, and whether that can be trusted."""
    return [Answered.of(sweep.name, _answers(sweep), trust_in_sweep(sweep)) for sweep in found]


def ran(found: Sequence[Sweep]) -> str:
    """Say which points there are, in a line."""
    return "; ".join(map(_ran, found))


def _ran(sweep: Sweep) -> str:
    sizes = sorted({row["length_px"] for row in sweep.points if row["length_px"] is not None})
    ends = [sizes[0], sizes[-1]] if len(sizes) > 1 else sizes
    over = f" ({' to '.join(f'{length:.0f}' for length in ends)} px)" if sizes else ""
    trials = sorted({row["trials"] for row in sweep.points})
    each = f"{trials[0]} to {trials[-1]}" if len(trials) > 1 else f"{trials[0]}"
    lines = listing(line.name for line in sweep.lines if line.name != sweep.name)
    return (
        f"{sweep.name} at {plural(len(sizes), 'size')}{over}{f' on {lines}' if lines else ''}, "
        f"{each} timed trial{'' if trials == [1] else 's'} of each"
    )


def _answers(sweep: Sweep) -> Iterator[Answer]:
    if not sweep.is_timed:
        return
    for line in sweep.compared:
        yield _faster(sweep, line)
    for line in sweep.compared:
        yield from _limit(sweep, line)
    if sweep.compared:
        return
    yield from _times(sweep)
    if lacking := not_compared(sweep):
        yield Answer(
            question="Speedup", answers="speedup", head=("Not known",), rest=(": ", lacking)
        )


def _faster(sweep: Sweep, line: Line) -> Answer:
    row = sweep.ratios(line, sweep.measure)[-1]
    win, ceiling = sweep.win(line, sweep.measure), sweep.ceiling(line, sweep.measure)
    more = [
        *([] if win is None else [ratios.where_it_wins(win)]),
        *([] if ceiling is None else [ratios.in_short(ceiling)]),
    ]
    point, *interval = RATIOS.interval_cell(row, "ratio", ratio)
    is_long = len(line.name) > LONGEST_NAME
    told = (
        f" times as fast as {the(line.base)} at {size(row['length_px'])}"
        f"{f' on {line.name}' if is_long else ''}"
    )
    return Answer(
        question="Speedup" if is_long else line.name,
        answers="speedup",
        head=(point,),
        rest=(*interval, f"{told}; {'; '.join(more)}." if more else f"{told}."),
    )


def _limit(sweep: Sweep, line: Line) -> Iterator[Answer]:
    found = sweep.unaided(line.timed(sweep.measure)[-1])
    if found is None or found["bound"] is None:
        return
    head = ratios.unaided_parts(found)
    rest = (
        f", not sped up: {percent(found['share'])} of a call at {size(found['length_px'])}, so "
        f"that no more than {ratio(found['bound'])} times is possible."
    )
    yield Answer(
        question="Limit", answers="limit", head=(f"{head[:1].upper()}{head[1:]}",), rest=(rest,)
    )


def _times(sweep: Sweep) -> Iterator[Answer]:
    for line in sweep.lines:
        timed = line.timed(sweep.measure)
        if not timed:
            continue
        ends = timed if len(timed) < 2 else [timed[0], timed[-1]]
        column = f"{sweep.measure}_s"
        cells = [POINTS.cell(row, column)[0] for row in ends]
        more: list[Cell] = [(f" s at {size(row['length_px'])}",) for row in ends]
        tail = cells[1:]
        is_long = len(line.name) > LONGEST_NAME
        where = f" for a call on {line.name}." if is_long else " for a call."
        yield Answer(
            question="Time" if is_long else line.name,
            answers="time",
            head=(cells[0],),
            rest=(*more[0], *([" to ", tail[0], *more[1]] if tail else []), where),
        )
        rates = [POINTS.cell(row, "throughput_mp_s")[0] for row in ends]
        rest: Cell = (" to ", *rates[1:]) if rates[1:] else ()
        yield Answer(
            question="Speed",
            answers="throughput",
            head=(rates[0],),
            rest=(*rest, " megapixels per second."),
        )
        if told := ratios.mostly(sweep, timed[-1]):
            yield Answer(
                question="Mostly",
                answers="limit",
                head=(told,),
                rest=(f" of a call at {size(timed[-1]['length_px'])}.",),
            )
