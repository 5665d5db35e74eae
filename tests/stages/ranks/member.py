"""One rank of a test, as a process of its own: what it does when it has met the others.

Run as `python member.py DEED NUMBER COUNT MEETING TIMEOUT_S`; prints what the deed gave as JSON.
"""

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from pyscale_stages.errors import BadInput, StageError
from pyscale_stages.ranks.group import joined


def talk(group):
    """Use every call."""
    group.meet()
    # Of another length in each rank.
    return group.all_gather({"number": group.number, "nothing": None, "text": "ä" * group.number})


def transport(group):
    """What carries tensors."""
    return group.transport


def addresses(group):
    """Return this process's own addresses of connections that stand."""
    import psutil

    group.meet()
    found = psutil.Process().net_connections(kind="tcp")
    standing = sorted({each.laddr.ip for each in found if each.status == "ESTABLISHED"})
    group.meet()
    return standing


def send_a_pickle(group):
    """Send from the first rank what prints a word if it is unpickled, in the way of torch."""
    import torch.distributed as dist

    class Trap:
        def __reduce__(self):
            return print, ("executed",)

    if group.number == 0:
        # It cannot read the answers of the others itself.
        with suppress(Exception):
            dist.all_gather_object([None] * group.count, Trap())
        return "sent"
    return group.all_gather("here")


def lose_the_last(group):
    """Kill this process where it is the last rank."""
    if group.number == group.count - 1:
        os.kill(os.getpid(), signal.SIGKILL)


def meet_without_the_last(group):
    """Lose the last rank, which is killed."""
    lose_the_last(group)
    group.meet()


def gather_without_the_last(group):
    """Lose the last rank while values are gathered."""
    lose_the_last(group)
    return group.all_gather("here")


def wait_for_the_last(group):
    """Wait for the last rank, which does not come until its stdin is closed."""
    sys.stderr.write("all have met\n")
    sys.stderr.flush()
    if group.number == group.count - 1:
        sys.stdin.read()
    group.meet()


def fail_in_the_first(group):
    """Lose the first rank by an error that its user can act on."""
    if group.number == 0:
        raise BadInput("slide 7 is no slide: take it away")
    group.meet()


def break_in_the_first(group):
    """Lose the first rank by a defect."""
    if group.number == 0:
        raise ZeroDivisionError("by nought")
    group.meet()


def part_early(group):
    """End the group inside the block, as training scripts do."""
    import torch.distributed as dist

    group.meet()
    dist.destroy_process_group()
    return "parted"


def load(group):
    """Take batches from loader processes of every kind, in step with the others."""
    sums = {}
    for start_method in ("fork", "spawn", "forkserver"):
        of_each = sums[start_method] = []
        for batch in batches(start_method):
            of_each.append(float(batch.sum()))
            group.meet()
    return group.all_gather(sums)


def load_and_die(group, start_method):
    """Lose the last rank while its loader processes live."""
    taken = batches(start_method)
    # One that was still being started would outlive its rank for ever.
    next(taken)
    group.meet()
    lose_the_last(group)
    group.meet()


def batches(start_method):
    """Four batches of a loader process."""
    from torch.utils.data import DataLoader

    of_processes = {"num_workers": 1, "multiprocessing_context": start_method}
    return iter(DataLoader(range(16), batch_size=4, **of_processes))


def deed(name):
    """Return the deed of a name; a start method may follow a colon."""
    name, _, start_method = name.partition(":")
    found = globals()[name]
    return (lambda group: found(group, start_method)) if start_method else found


def main(name, number, count, meeting, timeout_s):
    """Join the others, do the deed, and say what it gave."""
    try:
        with joined(int(number), int(count), Path(meeting), timeout_s=float(timeout_s)) as group:
            answer = {"given": deed(name)(group)}
            code = 0
    except StageError as error:
        answer = {"error": str(error)}
        code = error.exit_code
    sys.stdout.write(json.dumps(answer))
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
