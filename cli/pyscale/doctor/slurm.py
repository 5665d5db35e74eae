"""Checks of the cluster's Slurm, and of the jobs that a run would submit."""

from __future__ import annotations

from collections.abc import Iterator

from pyscale.doctor.elsewhere import LOWER_TIME, account_of_user
from pyscale.doctor.findings import (
    Finding,
    beside_the_point,
    judged,
    ok,
    problem,
    refused,
    warning,
)
from pyscale.doctor.jobrequest import MEMORY_OPTIONS, JobRequest, plan_requests
from pyscale.errors import UserError
from pyscale.planning.joboptions import WHOLE_CORES, as_words
from pyscale.planning.plan import Plan
from pyscale.planning.sites import Site
from pyscale.slurm.commands import (
    NEEDED,
    Answer,
    ask,
    nodes_of,
    sinfo,
    slurm_is_here,
    takes_jobs,
    told,
)
from pyscale_stages.wording import plural

PARTITION = "slurm.partition."
"""Begin of the names of checks of a partition."""


def slurm() -> Iterator[Finding]:
    """Ask Slurm what it can do; a run on this machine does not need it."""
    if not slurm_is_here():
        yield beside_the_point(
            "slurm.commands", "Slurm is not installed here; local runs do not need it"
        )
        return
    for found in (_commands(), _controller(), _accounting()):
        if found.status == "problem":
            yield beside_the_point(found.check, found.sentence, found.remedy)
            return
        yield found


def refusals(plan: Plan, site: Site) -> Iterator[Finding]:
    """Why Slurm would not carry out the jobs of a plan, the cause that helps most first."""
    if not slurm_is_here():
        yield problem(
            "slurm.commands",
            "Slurm's commands are not on PATH, but the run needs Slurm",
            "run this on a login node, load Slurm's module, or use --executor local",
        )
        return
    broken = [found for found in (_commands(), _controller()) if found.status == "problem"]
    if broken:
        yield from broken
        return
    for request in plan_requests(plan, site):
        account = request.options.get("account")
        submission = _submission(request)
        causes = [
            *_partition(request.partition),
            *_gpus(request),
            *_threads(request),
            *(account_of_user(account) if account else ()),
            submission,
        ]
        for found in causes:
            if found.status == "warning":
                yield found
            if found.status != "problem":
                continue
            # Nodes that are down or asleep take jobs later, where Slurm takes them now.
            waits = found.check.startswith(PARTITION) and submission.status == "ok"
            yield found.model_copy(update={"status": "warning"}) if waits else found


def _commands() -> Finding:
    answers = {name: ask(name, "--version") for name in NEEDED}
    absent = [name for name, answer in answers.items() if answer.code != 0]
    if absent:
        return problem(
            "slurm.commands",
            f"{', '.join(absent)} cannot be run ({answers[absent[0]].complaint})",
            "run this on a login node, or load Slurm's module",
        )
    version = answers["sinfo"].out.strip()
    return ok("slurm.commands", f"{version}: {', '.join(NEEDED)}")


def _controller() -> Finding:
    answer = sinfo("%R")
    if answer.code == 0:
        return ok("slurm.controller", f"the controller answers: {' '.join(answer.out.split())}")
    return problem(
        "slurm.controller",
        f"Slurm's controller does not answer ({answer.complaint})",
        "see the site's announcements; `scontrol ping` shows when it is back",
    )


def _accounting() -> Finding:
    # No job is asked about: all that counts is whether an answer comes.
    answer = ask("sacct", "--noheader", "--allocations", "--starttime=now", "--format=JobID")
    if answer.code == 0:
        return ok("slurm.accounting", "sacct answers")
    return warning(
        "slurm.accounting",
        f"sacct does not answer ({answer.complaint}): the end of a job is then known from its "
        "own records only",
        "nothing, if the site keeps no accounting; else ask the staff",
    )


def _partition(names: str) -> Iterator[Finding]:
    """Look whether the nodes of a partition, or of several, take jobs."""
    for name in names.split(","):
        check = f"{PARTITION}{name}"
        try:
            nodes = nodes_of(name)
        except UserError as error:
            yield refused(check, error)
            continue
        able = [state for state in nodes.values() if takes_jobs(state)]
        longest = told(name, "%l")
        sentence = (
            f"{len(able)} of {plural(len(nodes), 'node')} of {name} take jobs, "
            f"{'for any time' if longest == 'infinite' else f'for up to {longest}'}"
        )
        out = "name another partition; `sinfo -R` shows why nodes are out"
        yield ok(check, sentence) if able else problem(check, sentence, out)


def _threads(request: JobRequest) -> Iterator[Finding]:
    """Look whether a core of a partition is several CPUs to Slurm, and what jobs ask for."""
    # As in 2:16:2, sockets, cores of each and threads of each; a + follows where nodes differ.
    shapes = [shape.rstrip("+").split(":") for shape in told(request.partition, "%z").split()]
    threads = max(
        (int(shape[2]) for shape in shapes if shape[2:] and shape[2].isdigit()), default=1
    )
    if threads == 1:
        return
    has = f"a core of {request.partition} has {threads} threads, each a CPU to Slurm"
    asked = as_words({"hint": request.options.get("hint")})[0]
    yield judged(
        f"slurm.threads.{request.partition}",
        f"{has}; jobs ask for whole cores ({WHOLE_CORES})" if asked == WHOLE_CORES else has,
        (
            asked != WHOLE_CORES,
            ", and jobs do not ask for whole cores: workers may share one, or wait for each other",
            f"leave out what the site's options say of threads, or add {WHOLE_CORES} there",
        ),
    )


def _gpus(request: JobRequest) -> Iterator[Finding]:
    """Look whether a partition declares the GPUs that jobs ask for."""
    options = [f"{name}={value}" for name, value in request.options.items()]
    if request.device != "cuda" or not any("gpu" in option for option in options):
        return
    check, name = f"slurm.gpus.{request.partition}", request.partition
    declared = sorted(set(told(name, "%G").split()) - {"(null)"})
    if declared:
        yield ok(check, f"{name} declares {', '.join(declared)}")
    else:
        yield problem(
            check,
            f"no node of {name} has a GPU (gres)",
            "name a partition with GPUs; `sinfo -o '%R %G'` lists them",
        )


def _submission(request: JobRequest) -> Finding:
    """Let Slurm judge a job like a run's without submitting it, then what its memory does."""
    names = ", ".join(entry.name for entry in request.entries)
    check = f"slurm.submission.{request.entries[0].name}"
    asked = f"a job of {names} with {' '.join(request.directives())}"
    answer = _tested(request)
    if answer.code == 0:
        return ok(check, f"Slurm accepts {asked}")
    names_memory = not request.options.keys().isdisjoint(MEMORY_OPTIONS)
    if names_memory and _tested(request.without(*MEMORY_OPTIONS)).code == 0:
        return problem(
            check,
            f"Slurm refuses {asked} for its memory ({answer.complaint})",
            "set memory_gib in the site's file, or memory_option to an option that the site "
            "accepts",
        )
    if "time" in request.options and _tested(request.without("time")).code == 0:
        return problem(
            check,
            f"Slurm refuses {asked} for its time ({answer.complaint})",
            LOWER_TIME,
        )
    way_out = "change the site's file, or the options of this command"
    if request.options.get("ntasks") != "1":
        way_out = "lower --workers, or change the site's file"
    return problem(check, f"Slurm refuses {asked} ({answer.complaint})", way_out)


def _tested(request: JobRequest) -> Answer:
    # sbatch wants a script even for a test: this one runs the program `true`.
    return ask("sbatch", "--test-only", *request.directives(), "--wrap=true")
