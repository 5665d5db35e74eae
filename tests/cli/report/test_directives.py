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
from refusals import assert_said

request = partial(made_up, windows=8, time_s=900, longest_task_s=400.0, work_per_window=6.0)


DIALECTS = ("sbatch", "nextflow", "snakemake")
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
    assert_said(*written("sbatch", "gridengine", request()).splitlines())


def test_ranks_are_tasks_of_one_job():
    ranks = request(stage="mine", windows=4)
    for dialect in DIALECTS:
        text = directives(dialect, [(ranks, None)], load_site("plain"), {"mine"})
        assert_said(*text.splitlines())
    assert of_rule(text)["tasks"] == 4


def test_one_window_is_no_array():
    for windows in (1000, 1):
        assert_said(*written("sbatch", "plain", request(windows=windows)).splitlines())


@pytest.mark.parametrize("site", ["plain", "modules", "per_cpu", "amd"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_site_is_asked_in_its_own_words(site, dialect):
    # A name that a shell would take apart, and a table's stage, are asked for like any other.
    text = written(dialect, site, request(**ON_GPU), request(stage="NF:IT'S"))
    assert ("mem" in text) == (site != "amd" or dialect == "snakemake")
    assert_said(*text.splitlines())
    if dialect == "snakemake":
        rule, _, _ = text.partition("\nrule NF")
        assert {"runtime": 15, "segment_workers": 1}.items() <= of_rule(rule).items()


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


def test_stages_whose_rules_would_have_one_name_get_one_each():
    stages = ("細胞", "分割", "a b", "a_b", "a_b_2")
    text = written("snakemake", "plain", *(request(stage=one) for one in stages), of_pyscale=False)
    rules = re.findall(r"^rule (.*):$", text, flags=re.MULTILINE)
    assert len(set(rules)) == len(rules) == 5
    assert all(f"{rule}_workers=1" in text for rule in rules)


@pytest.mark.parametrize("stage", ["NF:O'DD stage", "9lives", "a\nb", "größe"])
@pytest.mark.parametrize("dialect", DIALECTS)
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
