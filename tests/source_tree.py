"""The modules of the package as trees, which tests of the code share: each is walked once."""

import ast
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "mycel"
MODULES = sorted(PACKAGE.rglob("*.py"))


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def nodes(tree: ast.Module) -> Mapping[type, list[Any]]:
    """All nodes by their class, in the order of `ast.walk`, which takes three times as long."""
    by_class: dict[type, list[Any]] = defaultdict(list)
    todo: list[ast.AST] = [tree]
    for node in todo:
        by_class[type(node)].append(node)
        for value in vars(node).values():
            if isinstance(value, ast.AST):
                if value._fields:  # Contexts and operators have none.
                    todo.append(value)
            elif isinstance(value, list):
                todo += [part for part in value if isinstance(part, ast.AST)]
    return by_class
