"""What stages warned of stands once on the terminal, the page, the text and in the table."""

import json
from dataclasses import replace

import polars as pl
import pytest

from pyscale.analysis.scaling import configurations
from pyscale.report.csv import write_csv
from pyscale.report.markdown import write_markdown
from pyscale.report.page.write import write_page
from pyscale.report.sentences import warnings
from pyscale_stages.measured import Warned

LEFT = Warned(
    code="unregistered-frames",
    text="were not moved: use `previous` & <care>",
    concerned=37,
    seen=48,
    doubts_result=True,
)
SLOW = Warned(code="slow-disk", text="the disk is slow")


@pytest.fixture
def warned(thin):
    """Results of which one stage warned, at every N."""
    is_it = pl.col("stage") == "register_denoise"
    text = json.dumps([one.model_dump() for one in (SLOW, LEFT)])
    trials = thin.trials.with_columns(warned=pl.when(is_it).then(pl.lit(text)))
    return replace(thin, trials=trials, configurations=configurations(trials))


def test_every_file_of_the_report_says_it_where_there_is_a_warning(tmp_path, warned, thin):
    page = write_page(tmp_path, warned).read_text()
    first_screen = page[page.index('id="verdict"') : page.index("</section>")]
    assert 'data-warning="unregistered-frames"' in first_screen
    assert "use <code>previous</code> &amp; &lt;care&gt;." in first_screen
    assert first_screen.index("37 of 48 frames") < first_screen.index('data-answer="speedup"')
    text = write_markdown(tmp_path, warned).read_text()
    assert "- **register_denoise, the result may be wrong**: 37 of 48 frames" in text
    write_csv(tmp_path, warned)
    table = pl.read_csv(tmp_path / "benchmark_results_aggregated.csv")
    codes = table.filter(stage="register_denoise")["warnings"]
    assert set(codes) == {"unregistered-frames=37/48;slow-disk"}
    assert warnings(thin.trials) == ()
    assert "data-warning" not in write_page(tmp_path, thin).read_text()
    assert "warned of" not in write_markdown(tmp_path, thin).read_text()
