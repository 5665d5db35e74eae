"""Tests that assert nothing where a collection is empty, found in their source.

A test says something where at least one of its assertions stands outside every loop and branch, or
in a loop over what cannot be empty: a literal, a literal constant of the module, or `some(...)`.
"""

import ast

CHECKING = {"raises", "warns", "refused"}
"""Contexts that fail where the block does not do what they name."""
CHECKING |= {"expect", "until", "until_drawn", "wait_for", "wait_for_function"}
"""What waits for something on a page or a cluster, and fails where it does not come."""
CHECKING |= {"compare", "done", "refuse_other_work", "refuse_unequal"}
"""Golden text, a stage that must end well, and refusals that must not come."""
PASSING_ON = {"dict", "enumerate", "list", "map", "product", "sorted", "zip"}
"""Functions that give something where each collection that they are given holds something."""
VIEWS = {"items", "keys", "values"}


def hollow_tests(source):
    """Names of the tests of a module that can pass without having asserted anything."""
    module = ast.parse(source)
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]
    filled = _filled(module.body, set())
    helpers = {one.name for one in functions if _Reader(filled, set()).sure(one)}
    return [
        one.name
        for one in functions
        if one.name.startswith("test_") and not _Reader(filled, helpers).sure(one)
    ]


def _filled(body, known):
    """Names that hold something: whatever a body binds them to cannot be empty."""
    filled, doubtful = set(known), set()
    for node in ast.walk(ast.Module(body, [])):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                (filled if _holds_something(value, filled) else doubtful).add(name)
    return filled - doubtful


def _holds_something(node, filled):
    """Whether what an expression gives when it is gone through cannot be empty."""
    match node:
        case ast.Constant(value=str() | bytes() as text):
            return bool(text)
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
            return any(
                not isinstance(each, ast.Starred) or _holds_something(each.value, filled)
                for each in elements
            )
        case ast.Dict(keys=keys):
            return any(key is not None for key in keys)
        case ast.Name(id=name):
            return name in filled
        case ast.BinOp(left=left, op=ast.Add() | ast.BitOr(), right=right):
            return _holds_something(left, filled) or _holds_something(right, filled)
        case ast.GeneratorExp() | ast.ListComp() | ast.SetComp() | ast.DictComp():
            return all(
                not each.ifs and _holds_something(each.iter, filled) for each in node.generators
            )
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=[]) if name in VIEWS:
            return _holds_something(value, filled)
        case ast.Call(func=ast.Name(id="range"), args=arguments):
            return all(isinstance(each, ast.Constant) for each in arguments)
        case ast.Call(func=function, args=arguments):
            name = _name(function)
            given = arguments[1:] if name == "map" else arguments
            through = bool(given) and all(_holds_something(one, filled) for one in given)
            return name == "some" or (name in PASSING_ON and through)
    return False


def _name(function):
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


class _Reader:
    """Reads a function: whether it cannot end well without having asserted something."""

    def __init__(self, filled, helpers):
        self._filled = filled
        self._helpers = helpers

    def sure(self, function):
        arguments = {each.arg for each in function.args.args}
        self._filled = _filled(function.body, self._filled - arguments)
        return self._any(function.body)

    def _any(self, body):
        return any(self._says(node) for node in body)

    def _says(self, node):
        match node:
            case ast.Assert(test=test):
                return not self._hollow(test)
            case ast.With(items=items, body=body):
                return any(self._checks(item.context_expr) for item in items) or self._any(body)
            case ast.For(iter=iterated, body=body):
                return _holds_something(iterated, self._filled) and self._any(body)
            case ast.If(body=body, orelse=otherwise):
                return self._any(body) and self._any(otherwise)
            case ast.Try(body=body, orelse=otherwise, finalbody=last):
                return self._any([*body, *otherwise, *last])
            case ast.Expr(value=value) | ast.Return(value=value) | ast.Assign(value=value):
                return value is not None and self._checks(value)
        return False

    def _checks(self, expression):
        """Whether an expression calls what asserts something."""
        calls = [node for node in ast.walk(expression) if isinstance(node, ast.Call)]
        return any(
            _name(call.func) in CHECKING | self._helpers
            or _name(call.func).startswith("assert_")
            or any(
                each.arg == "check" and ast.unparse(each.value) == "True" for each in call.keywords
            )
            for call in calls
        )

    def _hollow(self, test):
        """Whether what is asserted holds where a collection is empty."""
        match test:
            case ast.BoolOp(op=ast.And(), values=values):
                return all(map(self._hollow, values))
            case ast.Call(func=ast.Name(id="all"), args=[given]):
                return not _holds_something(given, self._filled)
            case ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=ast.Name(id="any"), args=[given])):
                return not _holds_something(given, self._filled)
        return False
