import json

from pyscale.report.page.shell import prose, script_json


def test_no_text_ends_the_script_that_it_stands_in():
    text = script_json({"stage": "</script><!-- \u2028 é"})
    assert "<" not in text
    assert "\u2028" not in text
    assert json.loads(text) == {"stage": "</script><!-- \u2028 é"}


def test_a_sentence_is_escaped_and_its_code_is_set_as_code():
    assert prose("`drift` (a < b): `x`") == "<code>drift</code> (a &lt; b): <code>x</code>"
