"""A whole pipeline's tables, made up after published proportions."""

import numpy as np

from pyscale.report.context import ReportContext
from runbuilder import RunBuilder

IN_A_RUN = ReportContext(
    title="20260317T114224Z-k3f9",
    settings={"data": "hela-tracking, 80 frames", "executor": "local", "runtime": "native"},
    hardware=({"node": "node1", "CPU": "Intel Xeon Gold 6248", "cores": "40"},),
    lacking=("Only one movie was processed.",),
)
# Seconds of one worker on the whole movie, and of what each worker pays whatever its share.
STAGES = {
    "register_denoise": {"compute": 240.0, "import": 2.1, "quality": {"drift_error_px": 0.084}},
    "segment": {
        "compute": 96.0,
        "import": 3.4,
        "model_load": 6.0,
        "quality": {"ap_50": 0.931, "ap_75": 0.702},
    },
    "contact": {
        "compute": 14.0,
        "import": 1.2,
        "model_load": 2.0,
        "quality": {"contact_precision": 0.961, "contact_recall": 0.948},
    },
    "track": {
        "compute": 22.0,
        "import": 1.9,
        "quality": {"link_precision": 0.984, "link_recall": 0.991, "split_recall": 0.75},
    },
}


def pipeline(counts, repeats, seed=0, **every_trial):
    """All four stages on every worker count, with imbalance, inflation and noise."""
    random = np.random.default_rng(seed)
    run = RunBuilder()
    for block in range(repeats):
        for stage, cost in STAGES.items():
            for count in counts:
                drift = random.lognormal(0, 0.02)
                inflation = 1 + 0.06 * np.log2(count)
                workers = [
                    {
                        "python_start": 0.05 * random.lognormal(0, 0.1),
                        "import": cost["import"] * drift * random.lognormal(0, 0.05),
                        "model_load": cost.get("model_load", 0.0) * drift,
                        "read": 2.0 / count * random.lognormal(0, 0.1),
                        "compute": cost["compute"]
                        / count
                        * inflation
                        * drift
                        * (1 + 0.12 * random.random() * (count > 1)),
                        "write": 1.5 / count,
                        "unattributed": 0.01,
                    }
                    for _ in range(count)
                ]
                run.trial(
                    stage,
                    workers,
                    block=block,
                    start_s=sorted(0.2 * random.random(count)),
                    merge={"python_start": 0.05, "import": 0.9, "merge": 0.8 * drift},
                    agreement=0.997 if stage == "track" and count > 1 else 1.0,
                    identical=stage != "track",
                    quality=cost["quality"],
                    **every_trial,
                )
    return run.results()
