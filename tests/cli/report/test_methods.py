"""The Methods paragraph, and the BibTeX of what it cites."""

from dataclasses import replace

import pytest

from pyscale.report.context import ReportContext, Work
from pyscale.report.methods import bibliography, cited, entries, paragraph, write_methods
from pyscale.resources import shipped
from pyscale_stages.registry import STAGE_NAMES, load_stage
from refusals import assert_said

SHIPPED = entries((shipped("config") / "citations.bib").read_text())
CHOICES = {
    "register_denoise": [
        {"transform": "SyN", "denoiser": "ants"},
        {"denoiser": "ants"},
        {"backend": "fft"},
    ],
    "segment": [{"model": "cyto3"}, {"model": "cpsam"}, {"model": "mine"}],
    "track": [{"backend": "sparse"}, {"backend": "trackmate"}],
    "loader": [{"reader": reader} for reader in ("tifffile", "openslide", "tiffslide", "zarr")],
    "reconstruct": [{"problem": "tomography_3d", "projector": "astra"}],
}
RUN = ReportContext(
    title="run 1",
    run_id="1",
    settings={
        "pyscale": "0.1.0",
        "executor": "slurm",
        "runtime": "apptainer",
        "cores and threads of each worker": "1",
        "order of trials": "randomised blocks, seed 0",
    },
    hardware=({"processor": "AMD EPYC", "cores": "2", "memory": "24 GiB", "GPUs": "none"},),
    works={
        "segment": Work(
            data="cells",
            source="Somebody 2020, https://doi.org/10.1/2",
            how="Cellpose 3.1, pyscale-tiny",
            stand_in="segment ran a toy.",
            packages={"cellpose": "3.1.1.3", "tifffile": "2026.3.3"},
            cites=("stringer2021",),
        )
    },
)


@pytest.mark.parametrize("stage", [name for name in STAGE_NAMES if name != "command"])
def test_whatever_a_stage_cites_is_shipped(stage):
    declared = load_stage(stage)
    for params in ({}, *CHOICES.get(stage, [])):
        assert set(declared.method(declared.params(**params), "cpu").cites) <= set(SHIPPED)


@pytest.mark.parametrize(("key", "entry"), SHIPPED.items())
def test_every_shipped_entry_says_where_it_is_found(key, entry):
    assert any(f"  {field} = {{" in entry for field in ("doi", "url", "eprint"))
    assert entry.count("{") == entry.count("}")


def test_the_paragraph_says_what_was_timed_on_what_and_how_and_cites_what_is_listed(full):
    text = paragraph(replace(full, context=RUN))
    bibtex = bibliography(text, RUN)
    assert list(entries(bibtex)) == cited(text)
    assert "note = {Somebody 2020, https://doi.org/10.1/2}" in bibtex
    assert_said(text)


def test_what_has_no_timed_trial_is_not_called_measured_and_stages_differ_in_n(new_run):
    builder = new_run().curve("segment", lambda _, block: 9.0 + block, (1, 2), blocks=2)
    builder.curve("track", lambda _, block: 9.0 + block, (1,), blocks=1)
    builder.trial("track", [{"compute": 1.0}, {"compute": 1.0}], failed=["w0"])
    once = new_run().curve("segment", lambda _, block: 9.0 + block, (1,), blocks=1)
    for run in (builder, once):
        assert_said(paragraph(replace(run.results(), context=RUN)))


def test_a_table_that_was_measured_elsewhere_has_no_methods(full, tmp_path):
    write_methods(tmp_path, replace(full, context=RUN))
    assert {path.name for path in tmp_path.iterdir()} == {"methods.md", "methods.bib"}
    assert write_methods(tmp_path, replace(full, context=ReportContext(title="a table"))) == []
    assert not list(tmp_path.iterdir())
