"""Tasks of stages that run in this process."""

import time

from pyscale_stages.contract import TaskSpec
from pyscale_stages.measure.spans import SpanRecorder
from pyscale_stages.registry import load_stage
from pyscale_stages.runner import run_task
from refusals import assert_held


def run_verb(stage, verb, inputs=(), **spec):
    """Run a verb of a stage on inputs by their slots; `spec`: further fields of the order."""
    order = TaskSpec(stage=stage, verb=verb, inputs=tuple(inputs), **spec)
    return run_task(load_stage(stage), order, SpanRecorder(time.monotonic()), None)


class Bench:
    """A stage that works in one folder.

    Options are fields of the order, like `frames` and `truth`, or else parameters of the stage;
    such a parameter that is named like a field is given in `params`.
    """

    def __init__(self, stage, folder, **usual):
        self.stage = stage
        self.folder = folder
        self.usual = usual

    def run(self, verb, *inputs, output="out", **options):
        """Run a verb; what it makes goes into a folder of that name."""
        slots = [slot.name for slot in load_stage(self.stage).inputs]
        names = slots if verb == "run" else [f"w{number}" for number in range(len(inputs))]
        params = self.usual | options
        spec = {name: params.pop(name) for name in options if name in TaskSpec.model_fields}
        params |= spec.pop("params", {})
        spec["output"] = None if verb == "check" else self.folder / output
        pairs = zip(names, inputs, strict=False)
        return run_verb(self.stage, verb, pairs, params=params, **spec)

    def done(self, verb, *inputs, output="out", **options):
        """Run a verb that succeeds; return the folder of its output."""
        result = self.run(verb, *inputs, output=output, **options)
        assert result.error is None, result.error
        return self.folder / output

    def windows(self, movie, *frames, **options):
        """Run windows of a movie; return the folders of their outputs."""
        return [
            self.done("run", movie, output=f"w{first}-{stop}", frames=(first, stop), **options)
            for first, stop in frames
        ]

    def refused(self, verb, *inputs, output="refused", **options):
        """Run a verb that is refused in the stored sentence and leaves nothing; return it."""
        error = self.run(verb, *inputs, output=output, **options).error
        assert error.exit_code == 2, error
        assert "\n" not in error.message
        assert not list((self.folder / output).glob("*"))
        assert_held(f"exit {error.exit_code}: {error.message}")
        return error.message

    def checked(self, *folders, **options):
        """Compare two outputs, or one with itself."""
        result = self.run("check", *(folders if len(folders) > 1 else folders * 2), **options)
        assert result.error is None, result.error
        return result

    def agreement(self, one, other, **options):
        found = self.checked(one, other, **options).agreement
        assert found is not None
        return found

    def quality(self, folder, truth, **options):
        return self.checked(folder, truth=truth, **options).quality
