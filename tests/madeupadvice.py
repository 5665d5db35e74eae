"""What the analysis advises of a stage, and what limits it, without any run: made up.

`choice()` chooses N = 4 of 1, 2, 4 and 8, surely; `request()` is what to ask for there. `limits()`
says what limits scaling at N = 4, of causes that `cause()` makes. Any field can be replaced.
"""

from pyscale.analysis.advice import Choice
from pyscale.analysis.causes import Cause, Limits
from pyscale.analysis.resource_request import Request

GIB = 1 << 30
CURVE = {"suite": "demo", "stage": "segment", "device": "cpu"}
BASE = {"workers": 4, "baseline_workers": 1}


def choice(**changes):
    fields = {
        "objective": "knee",
        "candidates": (1, 2, 4, 8),
        "wall_s": 12.34,
        "wall_s_low": 12.0,
        "wall_s_high": 12.9,
        "repeats": 6,
        "speedup": 3.1,
        "speedup_low": 3.0,
        "speedup_high": 3.2,
        "efficiency": 0.775,
        "worker_hours": 0.0137,
        "share_chosen": 1.0,
        "scaling": "strong",
    }
    return Choice(**(CURVE | BASE | fields | changes))


def request(**changes):
    fields = {
        "workers": 4,
        "windows": 4,
        "cpus": 2,
        "gpus": 0,
        "work_per_window": 12.0,
        "memory_bytes": 3 * GIB,
        "peak_rss_bytes": 2 * GIB,
        "time_s": 600,
        "longest_task_s": 200.0,
    }
    return Request(**(CURVE | fields | changes))


def cause(code, efficiency, share_first, *, gain=None, seconds=2.0):
    """A cause without which the efficiency would be another; by default it was 0.5."""
    gain = efficiency - 0.5 if gain is None else gain
    told = {"gain": gain, "seconds": seconds, "share_first": share_first}
    return Cause(code=code, efficiency=efficiency, **told)


def limits(*causes, **changes):
    fields = {
        "trials": 6,
        "efficiency": 0.61,
        "causes": causes,
        "not_measured": (),
        "inflation": None,
        "cpu_growth": None,
        "gpu_use": None,
    }
    return Limits(**(CURVE | BASE | fields | changes))
