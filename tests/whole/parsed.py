"""Sources as trees, each parsed and walked once for all tests that look at them."""

from __future__ import annotations

import ast
from functools import cache


@cache
def nodes(source: str) -> tuple[ast.AST, ...]:
    """Every node of a source, the module first."""
    return tuple(ast.walk(ast.parse(source)))
