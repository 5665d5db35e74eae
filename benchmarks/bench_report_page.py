"""Claim: the page of a run with 2,000 tasks is made in 10 s, under 8 MB, and usable within 2 s.

The run has the records that tasks leave, two spans for each of 256 frames: the pipeline on N = 1
to 32 workers, seven times. `pyscale report` of it is timed as a process of its own. Its page is
opened from disk by a headless Chromium that has never seen it; it is usable when its first chart
is drawn and a click on a stage has changed that chart.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from browser.chromium import Visitor, find_chromium, running_chromium
from pretendedrun import make_run
from pyscale.store.folder import RunFolder

COUNTS = (1, 2, 4, 8, 16, 32)
BLOCKS = 7
FRAMES = 256
TASKS = 2_000
REPORTS = 3
VISITS = 7
REPORT_BAR_S = 10.0
PAGE_BAR_MB = 8.0
USABLE_BAR_S = 2.0

USABLE = """
() => new Promise((resolve) => {
  const stage = document.querySelector("input[name=stage]");
  const chart = document.querySelector("[data-chart=speedup]");
  new MutationObserver((_, observer) => {
    observer.disconnect();
    // Two frames later what has changed is on the screen.
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() / 1000)));
  }).observe(chart, { subtree: true, childList: true, attributes: true });
  stage.click();
})
"""
"""Seconds since navigation began at which a click on a stage has changed the chart."""


def main() -> int:
    """Print times and size with their ratios to the bars; fail where one is missed."""
    program = find_chromium()
    if program is None:
        print("no Chromium here: run scripts/provide_browser.sh as root")
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        run = make_run(Path(scratch), counts=COUNTS, repeats=BLOCKS, frames=FRAMES)
        n_tasks = sum(len(trial.tasks) for trial in run.plan.trials)
        assert n_tasks >= TASKS
        print(f"{n_tasks} tasks of {len(run.plan.trials)} trials")
        reports = [report(run) for _ in range(REPORTS)]
        page = run.report / "report.html"
        size_mb = page.stat().st_size / 1e6
        visits = [usable(program, page) for _ in range(VISITS)]
    wall_s = [took_s for took_s, _ in reports]
    cpu_s = statistics.median(used_s for _, used_s in reports)
    results = (
        told("pyscale report", wall_s, "s", REPORT_BAR_S, f", processors {cpu_s:.2f} s"),
        told("size of report.html", [size_mb], "MB", PAGE_BAR_MB),
        told("from navigation until usable", visits, "s", USABLE_BAR_S),
    )
    print("the claim holds" if all(results) else "the claim does not hold")
    return 0 if all(results) else 1


def told(what: str, values: Sequence[float], unit: str, bar: float, more: str = "") -> bool:
    """Print a median with its range and its ratio to the bar, and return whether it keeps it."""
    median = statistics.median(values)
    span = f"[{min(values):.2f}, {max(values):.2f}]" if len(values) > 1 else ""
    print(
        f"{what:<30} {median:6.2f} {unit:<3} {span:<14} bar {bar:g} {unit}, "
        f"ratio {median / bar:.2f}, repeats {len(values)}{more}"
    )
    return median <= bar


def report(run: RunFolder) -> tuple[float, float]:
    """Wall and processor seconds of `pyscale report` as a process of its own."""
    start = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "pyscale", "report", str(run.path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, code, used = os.wait4(process.pid, 0)
    wall_s = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(code)
    assert process.returncode == 0
    return wall_s, used.ru_utime + used.ru_stime


def usable(program: str, page: Path) -> float:
    """Seconds from navigation until the page answers, in a browser that has just been started."""
    with running_chromium(program) as browser:
        visitor = Visitor(browser)
        opened = visitor.open(page, until_drawn=False)
        opened.wait_for_selector("[data-chart=speedup] svg")
        seconds: float = opened.evaluate(USABLE)
        visitor.close()
        assert visitor.trouble == []
    return seconds


if __name__ == "__main__":
    sys.exit(main())
