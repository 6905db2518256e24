"""Sources as trees, each parsed and walked once for all tests that look at them."""

from __future__ import annotations

import ast
from functools import cache

NO_CODE = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)  # a third of all nodes


@cache
def nodes(source: str) -> tuple[ast.AST, ...]:
    """Every statement and expression of a source, and what these are made of, the module first."""
    return tuple(node for node in ast.walk(ast.parse(source)) if not isinstance(node, NO_CODE))
