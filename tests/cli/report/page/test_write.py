"""The whole page, read as a text: what must stand on it, and that nothing gets out of its place."""

import html
import json
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from asread import seen
from pyscale.report.context import Command, Node, ReportContext
from pyscale.report.csv import csv_texts
from pyscale.report.page.shell import script_json
from pyscale.report.page.write import write_page

A_RUN = ReportContext(
    title="run 20260317T114224Z-k3f9, suite pipeline, on hela.tif (80 frames)",
    run_id="20260317T114224Z-k3f9",
    started=datetime(2026, 3, 17, 11, 42, 24, tzinfo=UTC),
    settings={"executor": "local"},
    hardware=({"nodes": "node1", "processor": "Xeon Gold 6248", "cores": "40", "GPUs": "none"},),
    nodes=(Node(names=("node1",), stamp={"cpu": {"model": "Xeon Gold 6248"}, "gpus": []}),),
    facts={"Input": {"hela.tif": "1024 bytes, sha256 1b0e"}},
    commands=(Command(what="Measure it again", line="pyscale run pipeline --data 'my data'"),),
    lacking=("Only one movie was processed.",),
)


def page_of(tmp_path, results, context=A_RUN):
    return write_page(tmp_path, replace(results, context=context)).read_text()


def data_of(text):
    (found,) = re.findall(r'<script type="application/json" id="page-data">(.*?)</script>', text)
    return json.loads(found)


@pytest.fixture(scope="module")
def page(tmp_path_factory, full):
    return page_of(tmp_path_factory.mktemp("page"), full)


def test_it_is_one_file_that_asks_for_nothing(page):
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="(.*?)">', page)
    assert html.unescape(policy[1]).startswith("default-src 'none';")
    shell = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.findall(r"<script[^>]+\bsrc=|<link\b|@import|url\((?!['\"]?data:)", shell)
    bare = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    assert not re.findall(r"\b(?:src|srcset)=|<link\b|@import|url\(", bare)


def test_the_tables_can_be_had_from_the_page_as_their_files_hold_them(page, full):
    assert data_of(page)["tables"] == csv_texts(replace(full, context=A_RUN))


def test_names_are_never_taken_for_markup(tmp_path, new_run):
    evil = "<script>alert(1)</script>"
    builder = new_run()
    for count in (1, 2):
        builder.trial(evil, [{"compute": 9.0 / count}] * count)
    text = page_of(tmp_path, builder.results(), ReportContext(title=f"a {evil}"))
    assert evil not in text
    assert html.escape(evil) in text
    (cell, *_) = data_of(text)["viewer"]["rows"][0]["cells"]
    assert cell["stage"] == evil


def test_a_run_without_any_record_has_a_page(tmp_path, new_run):
    told = seen(page_of(tmp_path, new_run().results()))
    assert "No trial has a record" in told


def test_no_text_ends_the_script_that_it_stands_in():
    text = script_json({"stage": "</script><!-- \u2028 é"})
    assert "<" not in text
    assert "\u2028" not in text
    assert json.loads(text) == {"stage": "</script><!-- \u2028 é"}
