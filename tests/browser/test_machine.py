"""The page of what a machine can do: alone, beside a pipeline, and of several nodes."""

import csv
import re
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from browser.drawn import downloaded, marks, place
from browser.reports import written
from browser.test_first_screen import assert_seen, text_of
from browser.test_numbers import WRITERS, places_of_the_csv
from pyscale.analysis.machine.findings import MachineFindings
from pyscale.report.wording import number

OF_MACHINE = ("tests", "nodes", "headroom")
SCALES = (1.0, 1e3, 1e6, 1e9, 1e12, 1e-3)
"""What numbers may be divided by, so that they have the unit that is written beside them."""
REPORTS = ("machine", "machines")


def test_the_first_screen_says_what_the_machines_reach_and_whether_to_trust_it(
    machines, visit_once
):
    page = visit_once(machines.page)
    for answer in ("ran", "hardware", "nodes", "storage", "decoding", "compute", "trust"):
        assert_seen(page.locator(f"[data-answer={answer}]").first)
    assert text_of(page, "nodes").startswith("node3 is an outlier")
    row = machines.rows("tests")[
        "storage|storage|3|node1|"
        f"{machines.results.of(MachineFindings).tests['hardware'][0]}|"
        "|particle_sequential_read_cold||1"
    ]
    told = page.locator("[data-answer=storage]").first.inner_text()
    assert told.startswith(f"{number(float(row['rate']) / 1e6)} MB/s cold, verified")
    assert_seen(page.locator("[data-chart=machinenodes] .chart-plot svg").first)
    for absent in ("request", "speedup", "limit"):
        assert page.locator(f"[data-answer={absent}]").count() == 0
    assert "what the machine can do" in page.title()


def told(one, exact):
    writers = (*WRITERS, "{:.2g}".format)
    return {one.value, *(write(exact / scale) for scale in SCALES for write in writers)}


def test_every_number_is_the_one_of_its_place_in_the_csv(page, report):
    tables = {name: report.rows(name) for name in OF_MACHINE if report.file(name).exists()}
    there = places_of_the_csv(page, tables, told)
    assert {table for table, _, _ in there} == set(tables)
    for key, row in tables["tests"].items():
        if row["kind"] == "kernels" and row["wall_s"]:
            assert ("tests", key, "wall_s") in there


def test_charts_show_what_the_csv_holds(machine, visit_once):
    page = visit_once(machine.page)
    rows = machine.rows("tests").values()
    drawn = [mark for mark in marks(page, "machinekernels", type="symbol") if "took" in mark]
    timed = [r for r in rows if r["kind"] == "kernels" and not r["step"] and r["wall_s"]]
    assert sorted(mark["wall_s"] for mark in drawn) == sorted(float(r["wall_s"]) for r in timed)
    for mark in drawn:
        assert mark["x"] == pytest.approx(place(page, "machinekernels", "x", mark["wall_s"]))
    readers = [mark for mark in marks(page, "machinereaders", type="symbol") if "rated" in mark]
    parallel = [r for r in rows if r["test"] == "parallel_read_cold"]
    assert sorted(mark["rate"] for mark in readers) == pytest.approx(
        sorted(float(r["rate"]) / 1e6 for r in parallel)
    )


def test_a_node_that_stands_apart_has_rings(machines, visit_once):
    page = visit_once(machines.page)
    apart = [r for r in machines.rows("nodes").values() if r["outlier"] == "true"]
    assert apart
    every = [mark for mark in marks(page, "machinenodes", type="symbol") if "told" in mark]
    assert len(every) == len(machines.rows("nodes")) + len(apart)


def test_what_cannot_run_says_so_and_is_no_zero(page):
    page.evaluate(
        "() => { window.folded = [...document.querySelectorAll('details:not([open])')]; }"
    )
    page.evaluate("() => window.folded.forEach(one => { one.open = true; })")
    rows = page.locator("#machine tr", has_text="host_to_device_pinned").all_inner_texts()
    page.evaluate("() => window.folded.forEach(one => { one.open = false; })")
    absent = [row for row in rows if "not applicable" in row]
    assert absent
    assert all("nothing is transferred" in row for row in absent)
    assert not any(re.search(r"\b0\.?0*\b (GB/s|s)\b", row) for row in rows)


def test_tests_of_the_machine_stay_where_a_stage_is_not_chosen(full, machine, visit, tmp_path):
    both = replace(full.results, kinds=machine.results.kinds)
    page = visit(written(tmp_path, both).page)
    before = page.locator("#machine tr:visible").count()
    assert before > 10
    page.locator("input[name=stage][value=segment]").uncheck()
    page.locator("#results tr[data-stage=segment]").first.wait_for(state="hidden")
    assert page.locator("#machine tr:visible").count() == before
    assert page.locator("[data-chart=machinestorage] .chart-plot svg").is_visible()


def test_tests_stand_beside_what_others_measured(machine, visit_once):
    page = visit_once(machine.page)
    table = page.locator("#machines table.side-by-side")
    expect(table).to_contain_text("A machine elsewhere")
    _, file = downloaded(page, "#machines button[data-viewer=csv]")
    rows = list(csv.DictReader(file.decode().splitlines()))
    times = {
        row["side"]: float(row["wall_s"])
        for row in rows
        if (row["test"], row["device"], row["step"]) == ("matrix_product", "processor", "")
    }
    assert times["B"] == pytest.approx(2 * times["A"])
    expect(page.locator("#references")).to_contain_text("None of it was measured.")
