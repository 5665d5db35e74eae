"""Errors of loader processes, in one sentence of the rank that they serve."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from pyscale_stages.errors import (
    BadInput,
    MissingPart,
    ResourceExhausted,
    StageError,
    as_stage_error,
)
from pyscale_stages.loader.params import LoaderParams

_OURS = {kind.__name__: kind for kind in (BadInput, MissingPart, ResourceExhausted, StageError)}
_SHARED_MEMORY = (
    "unable to write to file </torch",
    "unable to allocate shared memory",
    "Bus error",
)


@contextmanager
def told(params: LoaderParams) -> Iterator[None]:
    """Translate what a data set or its loader raises; brackets nothing else."""
    try:
        yield
    except StopIteration as error:
        raise BadInput(
            f"the dataset of the factory {params.factory} ended before all batches were timed: "
            "let it give patches without end, or time fewer (--grid batches=...)"
        ) from error
    except Exception as error:
        raise _sentence(error, params) from error


def _sentence(error: Exception, params: LoaderParams) -> StageError:
    """Say what an error means to a user."""
    text = str(error)
    caught = text.startswith("Caught ")
    kind, said = _last_line(text) if caught else (type(error).__name__, text)
    if caught and kind in _OURS:
        return _OURS[kind](said)
    if any(words in text for words in _SHARED_MEMORY):
        return ResourceExhausted(
            "shared memory, which passes batches between loader processes, ran out: enlarge "
            "/dev/shm, or lower num_workers, prefetch_factor or batch_size"
        )
    known = as_stage_error(error)
    if known is not None:
        return known
    if "exited unexpectedly" in text or "killed by signal" in text:
        return StageError(
            f"a loader process of the factory {params.factory} died ({text.splitlines()[0]}), "
            "perhaps out of memory: give the task more, or lower num_workers"
        )
    if _is_of_pickling(error):
        return BadInput(
            f"the dataset of the factory {params.factory} cannot be sent to loader processes "
            f"({said}): make it of classes and functions at the top of a module, without lambdas "
            "and open files, or use --grid start_method=fork"
        )
    traceback.print_exception(error)
    return StageError(
        f"the dataset of the factory {params.factory} failed with {kind} ({said}): see its "
        "messages above"
    )


def _last_line(text: str) -> tuple[str, str]:
    """Kind and message of the error that a traceback ends with."""
    kind, _, said = text.strip().splitlines()[-1].partition(": ")
    return kind.rpartition(".")[2], said


def _is_of_pickling(error: Exception) -> bool:
    """Whether something could not be sent to another process."""
    return isinstance(error, pickle.PicklingError) or (
        isinstance(error, AttributeError | TypeError) and "pickle" in str(error)
    )
