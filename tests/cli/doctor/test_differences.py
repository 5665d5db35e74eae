"""What some nodes have otherwise is told, with what the others have."""

from __future__ import annotations

from pyscale.doctor.differences import differences, in_common
from pyscale.doctor.findings import Finding, ok, problem, warning
from pyscale.doctor.probe import NodeAnswer

HERE = ok("disk.path./scratch", "/scratch is there", value="xfs")
MISSING = problem("disk.path./scratch", "/scratch is missing", "ask the staff", value="missing")


def answers(**nodes: list[Finding]) -> list[NodeAnswer]:
    return [NodeAnswer(node=node, findings=tuple(found)) for node, found in nodes.items()]


def test_nodes_that_are_alike_differ_in_nothing() -> None:
    assert differences(answers(n1=[HERE], n2=[HERE])) == []
    assert in_common(answers(n1=[HERE], n2=[HERE])) == [HERE]


def test_the_node_that_lacks_what_most_have_is_named() -> None:
    (found,) = differences(answers(n1=[HERE], n2=[MISSING], n3=[HERE]))
    assert (found.nodes, found.finding, found.usual) == (("n2",), MISSING, HERE)


def test_of_two_equally_frequent_answers_the_better_is_the_usual_one() -> None:
    (found,) = differences(answers(n1=[MISSING], n2=[HERE]))
    assert (found.nodes, found.usual) == (("n1",), HERE)


def test_values_are_compared_and_sentences_are_not() -> None:
    fuller = HERE.model_copy(update={"sentence": "/scratch is there, fuller"})
    other = HERE.model_copy(update={"value": "nfs4"})
    assert differences(answers(n1=[HERE], n2=[fuller])) == []
    (found,) = differences(answers(n1=[HERE], n2=[HERE], n3=[other]))
    assert found.nodes == ("n3",)


def test_each_kind_of_answer_is_a_difference_of_its_own() -> None:
    slow = warning("disk.path./scratch", "/scratch is slow", "wait", value="nfs4")
    found = differences(answers(n1=[HERE], n2=[MISSING], n3=[slow], n4=[HERE]))
    assert {one.nodes for one in found} == {("n2",), ("n3",)}


def test_a_node_that_lacks_a_check_is_not_compared_by_it() -> None:
    nodes = answers(n1=[HERE], n2=[])
    assert differences(nodes) == []
    assert in_common(nodes) == []


def test_nobody_has_nothing_in_common() -> None:
    assert (differences([]), in_common([])) == ([], [])
