"""Expected results of two made-up stages, trials that gave them, and what is found of both."""

from pyscale.validation.judging import Expected, MeasuredEntry, MeasuredTrial, judged

SAME, OTHER = "a" * 64, "b" * 64


def expected_of_two():
    """Two stages."""
    stage = {
        "params": {"model": "tiny"},
        "free": ["calls"],
        "outputs": {"out.tif": SAME},
        "at_least": {"ap": 0.89, "objects": 99},
        "at_most": {"objects": 101},
    }
    return Expected.model_validate(
        {
            "reference": {"machine": "a machine", "system": "a system", "software": "numpy 2.0.2"},
            "dataset": "validation-cells",
            "frames": 8,
            "seed": 0,
            "inputs": {"movie.ome.tif": SAME},
            "stages": {"segment": stage, "track": stage},
        }
    )


def trial(workers=1, sha256=SAME, *, same=True, **measures):
    """One complete trial that gave what is expected, but for what is said."""
    return MeasuredTrial(workers, {"out.tif": sha256}, {"ap": 0.9, "objects": 100} | measures, same)


def gave(**entries):
    """What both stages gave: what is expected, but for the trials that are given."""
    found = {"segment": [trial()], "track": [trial()]} | entries
    return {name: MeasuredEntry(trials, "") for name, trials in found.items()}


def found_of(why_unfit="", **entries):
    """Judge what both stages gave."""
    return judged(expected_of_two(), gave(**entries), why_unfit)
