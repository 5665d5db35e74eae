"""Slurm's limits that apply only after submission, and the users of an account."""

from __future__ import annotations

import getpass
from collections.abc import Iterator

from pyscale.doctor.findings import Finding, ok, problem
from pyscale.doctor.jobrequest import JobRequest
from pyscale.slurm.commands import ask, minutes_of, told

NO_ACCOUNTING = ("accounting_storage/none", "(null)")


def time_limit(request: JobRequest) -> Iterator[Finding]:
    """Compare a job's time with what its partition and its QOS allow.

    At most sites Slurm takes a job with more, which then waits for ever.
    """
    asked = request.options.get("time")
    if asked is None:
        return
    qos = request.options.get("qos")
    limits = {f"the partition {request.partition}": told(request.partition, "%l").split()}
    if qos is not None:
        longest, _, flags = _sacctmgr("show", "qos", qos, "format=maxwall,flags").partition("|")
        if "PartitionTimeLimit" in flags:
            limits.clear()  # Jobs of this QOS may exceed what the partition allows.
        limits[f"the QOS {qos}"] = longest.split()
    for where, values in limits.items():
        # A job for several partitions needs one of them alone.
        most = max((minutes_of(value) for value in values), default=float("inf"))
        if minutes_of(asked) > most:
            names = ", ".join(entry.name for entry in request.entries)
            yield problem(
                f"slurm.time.{request.entries[0].name}",
                f"a job of {names} asks for {asked}, but {where} allows {' or '.join(values)}",
                "lower time_min in the site's file, or name another partition or qos there",
            )


def account_of_user(account: str) -> Iterator[Finding]:
    """Look whether an account is one of this user's."""
    check, user = "slurm.account", getpass.getuser()
    if _configured("AccountingStorageType") in NO_ACCOUNTING:
        yield problem(
            check,
            f"the site's file names the account {account}, but this Slurm keeps no accounts",
            "leave account out of the site's file",
        )
        return
    known = sorted(set(_sacctmgr("show", "assoc", f"user={user}", "format=account").split()))
    if not known:
        return  # Where sacctmgr does not answer, --test-only has the last word.
    if account in known:
        yield ok(check, f"{user} may use the account {account}")
    else:
        yield problem(
            check,
            f"{user} may not use the account {account}; allowed: {', '.join(known)}",
            "name one of these in the site's file, or ask the staff",
        )


def most_of_an_array() -> str:
    """How large an array may be, to be added to a complaint; empty where Slurm does not tell."""
    most = _configured("MaxArraySize")
    return f"; MaxArraySize is {most}" if most.isdigit() else ""


def _sacctmgr(*words: str) -> str:
    """What the accounts say; empty where there are none or they do not answer."""
    answer = ask("sacctmgr", "--noheader", "--parsable2", *words)
    return answer.out if answer.code == 0 else ""


def _configured(option: str) -> str:
    """An option of Slurm's configuration; empty where Slurm does not tell."""
    for line in ask("scontrol", "show", "config").out.splitlines():
        name, _, value = line.partition("=")
        if name.strip() == option:
            return value.strip()
    return ""
