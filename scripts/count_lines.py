"""Print lines, code lines and modules per folder of the product and its tests.

Code lines are what is left without blank lines, comments and docstrings.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOTS = ("cli/pyscale", "stages/pyscale_stages", "tests")
_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}


def main() -> None:
    """Count below the folder that is given, or below this checkout."""
    checkout = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
    print(f"{'folder':40}{'lines':>8}{'code':>8}{'modules':>9}{'under 40':>10}")
    product: Counter[str] = Counter()
    for root in ROOTS:
        folders: dict[str, Counter[str]] = {}
        for path in sorted((checkout / root).rglob("*.py")):
            inside = path.relative_to(checkout / root).parts
            # Folders one level down; what is deeper counts with the one above.
            name = "/".join([root, *inside[:1]]) if len(inside) > 1 else root
            folders.setdefault(name, Counter()).update(counted(path))
        total = sum(folders.values(), Counter())
        for name, counts in sorted(folders.items()):
            show(f"{name}/", counts)
        show(f"{root} in all", total)
        if root != "tests":
            product += total
    show("product in all", product)


def counted(path: Path) -> Counter[str]:
    """Lines, code lines and the module itself."""
    text = path.read_text("utf-8")
    docstrings = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        # A string below a name documents it, as one at the start of a body does.
        for each in node.body
        if isinstance(each, ast.Expr)
        and isinstance(each.value, ast.Constant)
        and isinstance(each.value.value, str)
        for line in range(each.lineno, (each.end_lineno or each.lineno) + 1)
    }
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = {
        line
        for token in tokens
        if token.type not in _LAYOUT
        for line in range(token.start[0], token.end[0] + 1)
    } - docstrings
    small = 0 < len(code) < 40 and path.name != "__init__.py"
    return Counter(lines=len(text.splitlines()), code=len(code), modules=1, small=int(small))


def show(name: str, counts: Counter[str]) -> None:
    """Print one row."""
    print(
        f"{name:40}{counts['lines']:8,}{counts['code']:8,}{counts['modules']:9,}"
        f"{counts['small']:10,}"
    )


if __name__ == "__main__":
    main()
