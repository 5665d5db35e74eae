"""What is written to paste asks for what was measured, in the words of each site."""

import ast
import re
from functools import partial

import pytest

from atleastone import some
from madeupadvice import request as made_up
from pyscale.planning.sites import load_site
from pyscale.report.directives import directives
from pyscale_stages.registry import load_stage

request = partial(made_up, windows=8, time_s=900, longest_task_s=400.0, work_per_window=6.0)


ON_GPU = {"gpus": 1, "device": "cuda", "cpus": 8}


def written(dialect, site, *requests, of_pyscale=True):
    stage = load_stage("segment") if of_pyscale else None
    return directives(dialect, [(one, stage) for one in requests], load_site(site))


def of_rule(text):
    """Read what a rule of Snakemake gives as resources: Python's arguments."""
    given = text.partition("resources:")[2]
    call = ast.parse(f"dict({given})", mode="eval").body
    assert isinstance(call, ast.Call)
    return {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}


def test_another_scheduler_gets_one_job_for_all_workers_in_the_words_of_its_site():
    assert written("sbatch", "gridengine", request()).splitlines() == [
        "# segment, N = 4",
        "#$ -N segment",
        "#$ -S /bin/bash",
        "#$ -j y",
        "#$ -o /dev/null",
        "#$ -pe smp 8",
        "#$ -l h_rt=00:30:00",
    ]


def test_ranks_are_tasks_of_one_job():
    ranks = request(stage="mine", windows=4)

    def asked(dialect):
        return directives(dialect, [(ranks, None)], load_site("plain"), {"mine"})

    assert asked("sbatch").splitlines()[:4] == [
        "# mine, N = 4",
        "#SBATCH --nodes=1-4",
        "#SBATCH --ntasks=4",
        "#SBATCH --cpus-per-task=2",
    ]
    assert "maxForks = 1" in asked("nextflow")
    assert "clusterOptions = '--nodes=1-4 --ntasks=4'" in asked("nextflow")
    assert of_rule(asked("snakemake"))["tasks"] == 4
    assert asked("snakemake").startswith("# snakemake --resources mine_workers=1")


def test_one_window_is_no_array_and_more_than_slurm_takes_are_told_to_be_split():
    most = written("sbatch", "plain", request(windows=4_000_001))
    assert "#SBATCH --array=0-4000000%4\n" in most
    lines = written("sbatch", "plain", request(windows=10**9, workers=10**9)).splitlines()
    assert lines[1] == (
        "# Slurm accepts at most 4000001 tasks per array: submit these 1000000000 in several."
    )
    assert not any("--array" in line for line in lines)
    assert "array" not in written("sbatch", "plain", request(windows=1, workers=1))


@pytest.mark.parametrize(
    ("site", "lines"),
    [
        ("modules", ["--partition=gpu", "--gpus-per-task=a100:1", "--mem=3072M"]),
        ("per_cpu", ["--account=project", "--gpus-per-task=h100:1", "--mem-per-cpu=384M"]),
        ("amd", ["--partition=gpu", "--gpus-per-task=1", "--exclusive"]),
    ],
)
def test_each_site_is_asked_in_its_own_words(site, lines):
    text = written("sbatch", site, request(**ON_GPU))
    for line in lines:
        assert f"#SBATCH {line}" in text.splitlines()
    assert ("--mem" in text) == (site != "amd")


def test_the_stages_of_a_table_are_asked_for_as_the_site_asks_for_any_on_their_device():
    lines = written("sbatch", "modules", request(**ON_GPU), of_pyscale=False).splitlines()
    assert {"#SBATCH --partition=gpu", "#SBATCH --gpus-per-task=a100:1"} <= {*lines}


@pytest.mark.parametrize(
    ("dialect", "site", "words"),
    [
        ("sbatch", "per_cpu", ("--mem", "--cpus-per-task")),
        ("nextflow", "plain", ("memory",)),
        ("snakemake", "plain", ("threads",)),
    ],
)
def test_what_nobody_knows_is_not_asked_for(dialect, site, words):
    unknown = request(cpus=None, memory_bytes=None)
    text = written(dialect, site, unknown, of_pyscale=False)
    assert not any(word in text for word in some(words))


def test_nextflow_gets_a_process_by_its_name_with_n_as_max_forks():
    text = written("nextflow", "modules", request(**ON_GPU), request(stage="NF:IT'S"))
    assert text.splitlines()[:9] == [
        "process {",
        "    withName: 'segment' {",
        "        maxForks = 4",
        "        cpus = 8",
        "        memory = 3.GB",
        "        time = 15.min",
        "        accelerator = 1",
        "        queue = 'gpu'",
        "        clusterOptions = '--gpus-per-task=a100:1'",
    ]
    assert r"withName: 'NF:IT\'S' {" in text
    assert text.count("{") == text.count("}") == 3


def test_nextflow_is_told_of_sites_that_give_memory_by_the_core_or_not_at_all():
    by_core = "executor.perCpuMemAllocation = true"
    assert written("nextflow", "per_cpu", request()).endswith(by_core)
    assert by_core not in written("nextflow", "plain", request())
    assert "memory" not in written("nextflow", "amd", request())


@pytest.mark.parametrize(
    ("site", "given"),
    [
        ("plain", {"mem_mb": 3072, "slurm_extra": "--gpus-per-task=1"}),
        (
            "modules",
            {
                "mem_mb": 3072,
                "slurm_partition": "gpu",
                "slurm_extra": "--gpus-per-task=a100:1",
            },
        ),
        (
            "per_cpu",
            {
                "mem_mb_per_cpu": 384,
                "slurm_account": "project",
                "constraint": "gpu",
                "slurm_extra": "--hint=nomultithread --gpus-per-task=h100:1",
            },
        ),
        # Nothing else keeps Snakemake from asking for memory.
        (
            "amd",
            {
                "mem_mb": 0,
                "slurm_partition": "gpu",
                "slurm_extra": "--exclusive --gpus-per-task=1",
            },
        ),
    ],
)
def test_snakemake_gets_resources_of_its_executor_for_slurm(site, given):
    text = written("snakemake", site, request(**ON_GPU))
    assert "    threads: 8\n" in text
    assert of_rule(text) == {"runtime": 15, "segment_workers": 1, **given}


def test_n_of_a_rule_is_a_resource_of_which_each_job_takes_one():
    text = written("snakemake", "plain", request(), request(stage="track", workers=2))
    assert text.splitlines()[0] == "# snakemake --resources segment_workers=4 track_workers=2"
    assert of_rule(text.rpartition("rule track:")[2])["track_workers"] == 1


def test_stages_whose_rules_would_have_one_name_get_one_each():
    stages = ("細胞", "分割", "a b", "a_b", "a_b_2")
    text = written("snakemake", "plain", *(request(stage=one) for one in stages), of_pyscale=False)
    rules = re.findall(r"^rule (.*):$", text, flags=re.MULTILINE)
    assert len(set(rules)) == len(rules) == 5
    assert all(f"{rule}_workers=1" in text for rule in rules)


@pytest.mark.parametrize("stage", ["NF:O'DD stage", "9lives", "a\nb", "größe"])
@pytest.mark.parametrize("dialect", ["sbatch", "nextflow", "snakemake"])
def test_odd_names_of_a_table_do_no_harm(dialect, stage):
    text = written(dialect, "plain", request(stage=stage), of_pyscale=False)
    if dialect == "snakemake":
        (rule,) = re.findall(r"^rule (.*):$", text, flags=re.MULTILINE)
        assert rule.isascii()
        assert rule.isidentifier()
        assert of_rule(text)[f"{rule}_workers"] == 1
    elif dialect == "sbatch":
        assert all(line.startswith("#") for line in some(text.splitlines()))
    else:
        assert len(re.findall(r"^    withName: '([^'\n]|\\')*' \{$", text, flags=re.MULTILINE)) == 1
