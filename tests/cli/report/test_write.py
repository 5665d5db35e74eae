from __future__ import annotations

import csv
import errno
import json
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from pyscale.analysis.trials import trial_table
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.errors import UserError
from pyscale.report.advice import NAMES
from pyscale.report.context import ReportContext, Work
from pyscale.report.csv import FILES, write_csv
from pyscale.report.markdown import write_markdown
from pyscale.report.write import write_report
from pyscale.results import analysed

A_RUN = ReportContext(title="a run")


def markdown_of(tmp_path, results, context=None):
    return write_markdown(tmp_path, replace(results, context=context or A_RUN)).read_text()


def results_of(builder):
    return analysed(trial_table(builder.tasks, builder.spans), A_RUN)


@pytest.mark.slow
def test_a_report_is_the_files_that_users_know(tmp_path, thin, context):
    written = write_report(tmp_path / "report", replace(thin, context=context))
    names = {*FILES.values(), "scaling_analysis.md", "report.html"} | {
        f"benchmark_{figure}.{suffix}"
        for figure in ("results", "losses")
        for suffix in ("png", "svg", "pdf")
    }
    assert {path.name for path in written} == names
    assert {path.name for path in (tmp_path / "report").iterdir()} == names


def test_a_second_report_replaces_the_first(tmp_path, thin, full, context):
    write_csv(tmp_path, full)
    write_csv(tmp_path, thin)
    assert pl.read_csv(tmp_path / "benchmark_results_aggregated.csv").height == 8


def test_the_csv_holds_the_configurations_at_full_precision(tmp_path, full):
    path = write_csv(tmp_path, full)[0]
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == full.configurations.height
    for row, expected in zip(rows, full.configurations.iter_rows(named=True), strict=True):
        assert float(row["speedup"]) == expected["speedup"]
        assert json.loads(row["quality"]) == json.loads(expected["quality"])
        assert row["flags"] == ";".join(expected["flags"])
    assert rows[0]["speedup_low"] == ""


def test_trials_and_lost_worker_seconds_have_tables_of_their_own(tmp_path, full):
    _, losses, trials = map(pl.read_csv, write_csv(tmp_path, full))
    assert losses["growth_s"].to_list() == full.losses["growth_s"].to_list()
    assert trials["trial"].to_list() == full.trials["trial"].to_list()
    assert trials["wall_s"].to_list() == full.trials["wall_s"].to_list()


def test_flags_in_the_csv_are_joined_by_semicolons(tmp_path, thin):
    table = pl.read_csv(write_csv(tmp_path, thin)[0])
    assert set(table["flags"]) == {"few-repeats;warm-not-cold;oversubscribed"}


def test_the_text_states_the_baseline_before_any_speedup(tmp_path, full, context):
    text = markdown_of(tmp_path, full, context)
    section = text.split("\n## segment\n")[1].split("\n## ")[0]
    base = full.configurations.row(
        by_predicate=(pl.col("stage") == "segment") & (pl.col("workers") == 1), named=True
    )
    assert section.strip().startswith(f"Baseline: N = 1 took {base['wall_s']:.0f} s (median of 6")
    assert section.index("Baseline") < section.index("times as fast")


def test_recommended_requests_come_first_with_their_words(tmp_path, full):
    text = markdown_of(tmp_path, full)
    first = text.split("\n## ")[1]
    assert first.startswith("Recommended requests\n")
    for choice in full.choices:
        named = NAMES[choice.objective]
        assert f"| {choice.stage} | {named} | {choice.workers} | " in first
        assert f"\n- {named}: " in first
    assert "\n- Confidence: the share of resamples" in first


def test_a_doubt_is_explained_once_with_every_configuration_that_raises_it(tmp_path, new_run):
    builder = new_run()
    for stage in ("segment", "track"):
        builder.trial(stage, [{"compute": 9.0}])
        builder.trial(stage, [{"compute": 5.0}] * 2, failed=["w0"] if stage == "track" else [])
    text = markdown_of(tmp_path, results_of(builder))
    doubts = text.split("\n## Doubts\n")[1].split("\n## ")[0]
    assert "\n- `failed-trials` (track at N = 2): A trial failed" in doubts
    assert text.count("A trial failed") == 1


def test_without_six_trials_the_text_says_that_there_is_no_interval(tmp_path, thin):
    text = markdown_of(tmp_path, thin)
    assert "no 95 % interval, 6 trials needed" in text
    assert "95 % interval 1" not in text
    assert "- all stages: 95 % intervals (they need 6 timed trials per configuration)." in text


def test_every_row_of_lost_worker_seconds_sums_to_its_total(tmp_path, full):
    text = markdown_of(tmp_path, full)
    tables = re.findall(r"\| Stage \| N \| N x wall time .*\n\| --- .*\n((?:\|.*\n)+)", text)
    assert len(tables) == 4
    for table in tables:
        for line in table.strip().splitlines():
            cells = [cell.split()[0] for cell in line.strip("| ").split(" | ")]
            total, *parts = map(float, cells[2:])
            assert sum(parts) == pytest.approx(total, rel=0.01)


def test_the_text_gives_agreement_quality_and_each_doubt_a_sentence(tmp_path, thin):
    text = markdown_of(tmp_path, thin)
    assert re.search(r"\| 1 \| [\d.]+ \| yes \|", text)
    assert re.search(r"\| 0.9970 \| [\d.]+ \| no \|", text)
    assert text.count("ap_50 0.931, ap_75 0.702") == 1
    assert "- `warm-not-cold` (everywhere): The input was in the page cache" in text


def test_hardware_settings_and_omissions_come_from_the_context(tmp_path, full, context):
    text = markdown_of(tmp_path, full, context)
    assert "| node | CPU | cores |" in text
    assert "| node1 | Intel Xeon Gold 6248 | 40 |" in text
    assert "- data: hela-tracking, 80 frames" in text
    assert "- Only one movie was processed." in text
    assert "Caches outside the node" in text


def test_nodes_with_different_properties_share_one_table(tmp_path, thin):
    context = ReportContext(
        title="a run", hardware=({"node": "n1", "GPU": "A100"}, {"node": "n2", "cores": "8"})
    )
    assert "| node | GPU | cores |\n| --- | --- | --- |\n| n1 | A100 | - |\n| n2 | - | 8 |" in (
        markdown_of(tmp_path, thin, context)
    )


def test_a_table_of_wall_times_says_what_it_cannot_tell(tmp_path):
    table = pl.DataFrame({"stage": "a|b", "workers": [1, 2], "wall_s": [9.0, 5.0]})
    trials = trials_from_wall_times(table)
    text = markdown_of(tmp_path, analysed(trials, A_RUN))
    assert "Unknown: the table of wall times does not contain it." in text
    assert "all stages: time of single tasks." in text
    assert "all stages: agreement of the output with the baseline's." in text
    assert "all stages: queue wait, start stagger and overlap of workers." in text
    assert "Anything beyond N = 2" in text
    assert "Worker-seconds by part" not in text
    assert "| a\\|b | 1 |" in text


def test_a_superlinear_speedup_is_told_as_fewer_worker_seconds(tmp_path, new_run):
    builder = new_run().trial("track", [{"compute": 100.0}])
    builder.trial("track", [{"compute": 40.0}] * 2)
    text = markdown_of(tmp_path, results_of(builder))
    assert "N = 2 used 80.0 worker-seconds, 20.0 fewer than the baseline: compute -20.0." in text


def test_a_run_in_which_all_failed_is_reported_without_figures(tmp_path, new_run):
    builder = new_run().trial("track", [{"compute": 100.0}], failed=["w0"])
    written = write_report(tmp_path, results_of(builder))
    assert not any(path.suffix in {".png", ".svg", ".pdf"} for path in written)
    text = (tmp_path / "scaling_analysis.md").read_text()
    assert "No timed trial" in text
    assert "`failed-trials` (track at N = 1): A trial failed" in text
    assert "N = 1: no timed trial." in text


def test_two_devices_of_a_stage_are_named_apart(tmp_path, new_run):
    builder = new_run()
    for device in ("cpu", "cuda"):
        builder.trial("segment", [{"compute": 100.0}], device=device)
    builder.trial("track", [{"compute": 100.0}])
    text = markdown_of(tmp_path, results_of(builder))
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    first = headings.index("segment (cpu)")
    assert headings[first : first + 3] == ["segment (cpu)", "segment (cuda)", "track"]


def test_no_template_syntax_or_empty_value_reaches_the_reader(tmp_path, full, thin):
    for tables in (full, thin):
        text = markdown_of(tmp_path, tables)
        for leftover in ("{{", "{%", "None", "nan", "\n\n\n"):
            assert leftover not in text, leftover


def test_a_run_without_any_record_yet_is_an_empty_report(tmp_path, new_run):
    write_report(tmp_path, results_of(new_run()))
    for file in FILES.values():
        assert (tmp_path / file).read_text().count("\n") == 1
    assert "no trial has a record" in (tmp_path / "scaling_analysis.md").read_text()


@pytest.mark.parametrize("inside", ["", "deeper"])
def test_a_report_that_has_no_room_for_its_folder_is_one_sentence(tmp_path, thin, context, inside):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(
        UserError, match=r"cannot be written into .* \(.*\): name another folder by --out"
    ):
        write_report(tmp_path / "file" / inside, replace(thin, context=context))


def test_a_folder_that_is_there_but_takes_no_files_is_one_sentence(thin, context):
    with pytest.raises(UserError, match=r"cannot be written into /proc \(.*\): name another"):
        write_report(Path("/proc"), replace(thin, context=context))


def test_a_full_disk_is_not_mistaken_for_a_wrong_folder(tmp_path, thin, context, monkeypatch):
    def refuse(*_args, **_options):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    with pytest.raises(OSError, match="full"):
        write_report(tmp_path / "report", replace(thin, context=context))


def test_an_invalid_speedup_is_nowhere_stated_and_said_why(tmp_path, broken):
    text = markdown_of(tmp_path, broken)
    (row,) = broken.configurations.filter("invalid").to_dicts()
    section = text.split("\n## track\n")[1].split("\n## ")[0]
    assert f"{row['speedup']:.2f} times" not in section
    assert (
        f"- N = 4: {row['wall_s']:.1f} s (median of 6 trials), invalid: in the worst "
        "trial its output agrees with the baseline's by 0.6231, and 0.999 is the least that "
        "counts as the same (the score is: pairs that both have).\n"
    ) in section
    assert "at N = 2.\n" in section.split("Karp-Flatt")[1]
    assert "\n| track | 4 (invalid) | " in section
    assert "- N = 4 (invalid) used " in section
    results = next(line for line in text.splitlines() if line.startswith("| track | 4 |"))
    assert [cell.strip() for cell in results.split("|")[5:7]] == ["invalid", "-"]
    strict = text.split("`pyscale run --strict` fails on:\n\n")[1].split("\n\n")[0]
    assert strict.startswith("- track at N = 4 is invalid: ")
    assert strict.count("\n") == 0


def test_nothing_is_said_of_strict_where_nothing_would_fail(tmp_path, full):
    assert "--strict" not in markdown_of(tmp_path, full)


def test_an_invalid_baseline_puts_every_speedup_in_doubt(tmp_path, new_run):
    builder = new_run()
    for block in range(2):
        builder.trial("track", [{"compute": 9.0}], block=block, agreement=0.5, same=block == 0)
        builder.trial("track", [{"compute": 5.0}] * 2, block=block, agreement=1.0)
    text = markdown_of(tmp_path, results_of(builder))
    assert "It is invalid, so every speedup is in doubt: in the worst trial" in text


def test_the_text_says_which_counts_no_law_is_fitted_to(tmp_path, broken):
    text = markdown_of(tmp_path, broken)
    assert text.count("The laws exclude N = 4: other work than the baseline's.") == 1
    (track,) = (found for found in broken.fits if found.stage == "track")
    assert track.amdahl.counts == (1, 2)


def test_the_csv_marks_what_is_invalid(tmp_path, broken):
    table = pl.read_csv(write_csv(tmp_path, broken)[0])
    assert table.filter("invalid")[["stage", "workers"]].rows() == [("track", 4)]
    assert table["agreement_tolerance"].unique().to_list() == [0.999]


def test_tables_and_headings_name_the_algorithm_that_ran(tmp_path, full):
    works = {
        "segment": Work(data="a", how="Cellpose 3.1, pyscale-tiny", stand_in="segment ran a toy."),
        "track": Work(data="a", how="laptrack 0.17"),
    }
    results = replace(full, context=A_RUN.model_copy(update={"works": works}))
    text = write_markdown(tmp_path, results).read_text()
    assert text.index("**segment ran a toy.**") < text.index("## ")
    assert "- what was timed: Cellpose 3.1, pyscale-tiny (segment); laptrack 0.17 (track)" in text
    assert "\n## segment: Cellpose 3.1, pyscale-tiny\n" in text
    assert "\n| segment | Cellpose 3.1, pyscale-tiny | 1 |" in text
    write_csv(tmp_path, results)
    for file in FILES.values():
        rows = pl.read_csv(tmp_path / file)
        named = dict(rows.select("stage", "algorithm").iter_rows())
        assert (named["segment"], named["contact"]) == ("Cellpose 3.1, pyscale-tiny", None)


def test_an_algorithm_of_many_entries_names_the_first_of_them(tmp_path, full):
    works = {f"segment_{n}": Work(data="a", how="Cellpose") for n in range(6)}
    text = markdown_of(tmp_path, full, A_RUN.model_copy(update={"works": works}))
    assert "- what was timed: Cellpose (segment_0, segment_1, segment_2, segment_3, 2 more)" in text
