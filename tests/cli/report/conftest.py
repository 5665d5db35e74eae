"""A whole pipeline's tables, made up after published proportions."""

from dataclasses import replace

import numpy as np
import pytest

from pyscale.analysis.timeline import timeline_of
from pyscale.analysis.trials import trial_table
from pyscale.analysis.workers import worker_table
from pyscale.report.context import ReportContext
from pyscale.results import analysed
from runbuilder import RunBuilder

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


@pytest.fixture(scope="session")
def results_from():
    """What the analysis finds in the run of a builder."""
    return RunBuilder.results


@pytest.fixture(scope="session")
def full():
    """Four stages at N = 1, 2, 4 and 8, six repeats each."""
    return pipeline((1, 2, 4, 8), 6)


@pytest.fixture(scope="session")
def thin():
    """What a first look leaves: N = 1 and 2, two repeats each, warm, oversubscribed."""
    return pipeline((1, 2), 2, cache_state="warm", oversubscribed=True)


@pytest.fixture(scope="session")
def broken():
    """Two stages at N = 1, 2 and 4, six repeats each; track at N = 4 disagrees in its last one."""
    run = RunBuilder()
    for block in range(6):
        for stage in ("segment", "track"):
            for count in (1, 2, 4):
                bad = (stage, count, block) == ("track", 4, 5)
                run.trial(
                    stage,
                    [{"import": 2.0, "compute": (80.0 + block) / count}] * count,
                    block=block,
                    agreement=0.6231 if bad else 1.0,
                    same=not bad,
                )
    return run.results()


@pytest.fixture(scope="session")
def context():
    return ReportContext(
        title="20260317T114224Z-k3f9",
        settings={"data": "hela-tracking, 80 frames", "executor": "local", "runtime": "native"},
        hardware=({"node": "node1", "CPU": "Intel Xeon Gold 6248", "cores": "40"},),
        not_measured=("Only one movie was processed.",),
    )


@pytest.fixture(scope="session")
def results_of():
    """Analyse what a builder holds, the timeline too."""

    def analyse(run):
        trials = trial_table(run.tasks, run.spans)
        found = analysed(
            trials, ReportContext(title="a run"), workers=worker_table(run.tasks, run.spans)
        )
        return replace(found, timeline=timeline_of(run.tasks, run.spans, trials))

    return analyse


@pytest.fixture(scope="session")
def uneven(new_run, results_of):
    """Segment and track at N = 1 and 2, six repeats; at N = 2 one worker of segment is slow."""
    run = new_run()
    for block in range(6):
        late_s = 3.0 + 0.1 * block
        run.trial("segment", [{"read": 1.0, "compute": 10.0}], block=block, agreement=1.0)
        run.trial(
            "segment",
            [{"read": 0.5, "compute": 5.0}, {"read": 0.5, "compute": 5.0 + late_s}],
            block=block,
            merge={"merge": 0.25},
            nodes=("node2", "node1"),
            agreement=1.0,
        )
        run.trial("track", [{"compute": 4.0 + 0.1 * block}], block=block, agreement=1.0)
        run.trial("track", [{"compute": 2.0}] * 2, block=block, agreement=0.5, same=False)
    return results_of(run)
