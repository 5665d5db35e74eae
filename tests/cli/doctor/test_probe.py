"""Findings are read on a terminal, in a pipe and without colour."""

from asread import printed
from pyscale.doctor import findings
from pyscale.doctor.probe import Difference, NodeAnswer, differences, in_common

FINE = findings.ok("cpu.usable", "2 of 2 CPUs are usable")
SLOW = findings.warning("system.load", "the load was 9", "measure on a quiet node")
BROKEN = findings.problem(
    "stage.track.libraries", "laptrack is absent", "pip install laptrack==0.17.0"
)
OTHER = findings.beside_the_point("gpu.device", "no GPU is asked for", "ask for --device cuda")


def test_findings_are_read_in_groups_with_what_to_do_below_what_is_not_well():
    text = printed(findings.findings_table([SLOW, FINE, BROKEN, OTHER], "labels"))
    for sign in ("✓ ok", "! warning", "✗ problem", "- n/a"):
        assert sign in text
    assert "\x1b" not in text
    assert text.index("Stages") < text.index("Cores and threads") < text.index("System")
    text = printed(findings.findings_table([BROKEN], "labels"))
    assert text.index("laptrack is absent") < text.index("→ pip install laptrack==0.17.0")
    assert text.count("→") == 1
    # A narrow terminal loses no word.
    text = printed(findings.findings_table([BROKEN], "labels"), width=50)
    assert "".join(text.split()).count("laptrackisabsent") == 1


def test_no_colour_is_left_where_none_is_wanted():
    table = findings.findings_table([BROKEN], "labels")
    assert "31m" in printed(table, force_terminal=True, color_system="standard")
    assert "31m" not in printed(table, force_terminal=True, no_color=True, color_system="standard")


def test_a_difference_names_its_nodes_and_what_the_others_have():
    one = Difference(check=MISSING.check, nodes=("n2", "n7"), finding=MISSING, usual=HERE)
    text = printed(findings.differences_table([one], 9))
    assert "n2, n7" in text
    assert "the others: /scratch is there" in text
    nodes = [f"n{number}" for number in range(9)]
    assert findings.node_names(nodes) == "n0, n1, n2, n3, n4, n5 and 3 more"
    assert findings.node_names(nodes[:2]) == "n0, n1"


def test_the_verdict_counts_what_is_not_well():
    assert findings.verdict([FINE, OTHER]) == "no problem found"
    assert findings.verdict([FINE, SLOW]) == "no problem, 1 warning"
    assert findings.verdict([BROKEN, SLOW, SLOW]) == "1 problem and 2 warnings"
    difference = Difference(check=BROKEN.check, nodes=("n2",), finding=BROKEN, usual=FINE)
    assert findings.verdict_line([FINE], [difference]).plain == "Verdict: 1 problem and 0 warnings"


HERE = findings.ok("disk.path./scratch", "/scratch is there", value="xfs")
MISSING = findings.problem(
    "disk.path./scratch", "/scratch is missing", "ask the staff", value="missing"
)


def answers(**nodes):
    return [NodeAnswer(node=node, findings=tuple(found)) for node, found in nodes.items()]


def test_nodes_differ_in_what_both_were_asked_and_answered_otherwise():
    assert differences(answers(n1=[HERE], n2=[HERE])) == []
    assert in_common(answers(n1=[HERE], n2=[HERE])) == [HERE]
    lacking = answers(n1=[HERE], n2=[])
    assert (differences(lacking), in_common(lacking)) == ([], [])
    assert (differences([]), in_common([])) == ([], [])
    # The node that lacks what most have, or of two the better has, is named.
    (found,) = differences(answers(n1=[HERE], n2=[MISSING], n3=[HERE]))
    assert (found.nodes, found.finding, found.usual) == (("n2",), MISSING, HERE)
    (found,) = differences(answers(n1=[MISSING], n2=[HERE]))
    assert (found.nodes, found.usual) == (("n1",), HERE)


def test_values_are_compared_and_sentences_are_not_and_each_answer_is_its_own():
    fuller = HERE.model_copy(update={"sentence": "/scratch is there, fuller"})
    other = HERE.model_copy(update={"value": "nfs4"})
    assert differences(answers(n1=[HERE], n2=[fuller])) == []
    (found,) = differences(answers(n1=[HERE], n2=[HERE], n3=[other]))
    assert found.nodes == ("n3",)
    slow = findings.warning("disk.path./scratch", "/scratch is slow", "wait", value="nfs4")
    found = differences(answers(n1=[HERE], n2=[MISSING], n3=[slow], n4=[HERE]))
    assert {one.nodes for one in found} == {("n2",), ("n3",)}
