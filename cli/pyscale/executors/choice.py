"""Choice of the executor of a run."""

from __future__ import annotations

from functools import cache

from pyscale.executors.local import LocalExecutor
from pyscale.executors.protocol import Executor
from pyscale.executors.slurm import SlurmExecutor
from pyscale.placement import local_placement
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal, Listener


def executor_for(run: RunFolder, listener: Listener | None = None) -> Executor:
    """The executor that a run's plan names.

    Parameters
    ----------
    run : RunFolder
    listener : callable, optional
        Hears what the executor itself has to tell, such as that Slurm does not answer.
    """
    if run.plan.site is not None:
        return SlurmExecutor(run, run.plan.site, Journal(run.journal_file, listener))
    return LocalExecutor(run.submissions, cache(local_placement))
