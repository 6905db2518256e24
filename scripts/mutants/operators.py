"""The named operators: every small wrong change that can be made to one source file.

A change replaces the text of one node of the syntax tree. Text for people is left alone: docstrings, annotations, error
messages, f-strings and functions that only write sentences. Changes that nobody could see are left out by the rules of
`unseen.py`.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace

from scripts.mutants.unseen import (
    Constants,
    constants,
    is_chunk,
    is_fault_of_types,
    is_foreign,
    is_step_of_effort,
    is_tie,
    is_turns,
)

COMPARISON, ARITHMETIC, OFF_BY_ONE = "comparison", "arithmetic", "off-by-one"
MIN_MAX, DROPPED_TERM, DROPPED_CHECK, SWAPPED_BRANCH = "min-max", "dropped-term", "dropped-check", "swapped-branch"
OPERATORS = (COMPARISON, ARITHMETIC, OFF_BY_ONE, MIN_MAX, DROPPED_TERM, DROPPED_CHECK, SWAPPED_BRANCH)

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETICS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
}  # fmt: skip
PAIRS = (("min", "max"), ("minimum", "maximum"), ("any", "all"), ("floor", "ceil"), ("argmin", "argmax"))
OTHER_OF_PAIR = dict(PAIRS) | {second: first for first, second in PAIRS}

SENTENCES = {"__repr__", "__str__", "_repr_html_", "explain", "sentence", "__class_getitem__"}
MESSAGES = {"reject", "warn", "say", "print"}
SHAPES = (ast.List, ast.Tuple, ast.ListComp, ast.JoinedStr, ast.Dict, ast.Set)  # + of these is no arithmetic


@dataclass(frozen=True, slots=True)
class Mutant:
    """One wrong change: where it is, and the text before and after.

    `occurrence` counts equal changes in one function, so that the other fields need no line numbers to name it.
    `lines` are the first and the last line of the statement, by which tests are selected.
    """

    file: str
    function: str
    operator: str
    original: str
    mutated: str
    start: tuple[int, int]
    end: tuple[int, int]
    lines: tuple[int, int]
    occurrence: int = 0

    @property
    def name(self) -> str:
        """What tells this mutant from all others of the same source."""
        return f"{self.file}|{self.function}|{self.operator}|{self.original}|{self.mutated}|{self.occurrence}"

    def apply(self, source: str) -> str:
        """The source with the change."""
        rows = source.encode().splitlines(keepends=True)
        (first, left), (last, right) = self.start, self.end
        changed = rows[first - 1][:left] + self.mutated.encode() + rows[last - 1][right:]
        return b"".join([*rows[: first - 1], changed, *rows[last:]]).decode()


def mutants(source: str, file: str) -> list[Mutant]:
    """Every change of one file, in the order of the source; only those that still compile."""
    found: list[Mutant] = []
    seen: dict[str, int] = {}
    module = ast.parse(source)
    for mutant in _Walk(file, constants(module)).walk(module, ()):
        occurrence = seen[mutant.name] = seen.get(mutant.name, -1) + 1
        found.append(replace(mutant, occurrence=occurrence))
    return found


@dataclass(frozen=True, slots=True)
class _Walk:
    """Goes through a tree and yields the changes of each node that is not text for people."""

    file: str
    known: Constants

    def walk(self, node: ast.AST, stack: tuple[ast.AST, ...]) -> Iterator[Mutant]:
        if _is_text(node):
            return
        if is_chunk(node):
            return
        if stack and isinstance(node, (ast.expr, ast.stmt)) and _inside_code(node, stack):
            for operator, text in changes(node):
                if not _is_unseen(node, stack, operator, self.known):
                    yield self._mutant(node, stack, operator, text)
        for child in _children(node):
            yield from self.walk(child, (*stack, node))

    def _mutant(self, node: ast.expr | ast.stmt, stack: tuple[ast.AST, ...], operator: str, text: str) -> Mutant:
        names = [part.name for part in stack if isinstance(part, (ast.FunctionDef, ast.ClassDef))]
        part = node.test if isinstance(node, ast.If) else node
        start, end = (part.lineno, part.col_offset), (part.end_lineno or 0, part.end_col_offset or 0)
        statement = next(part for part in (node, *reversed(stack)) if isinstance(part, ast.stmt))
        return Mutant(self.file, ".".join(names), operator, ast.unparse(part), text, start, end, _header(statement))


def _header(statement: ast.stmt) -> tuple[int, int]:
    """The lines of a statement, without those of the block that it opens."""
    body = getattr(statement, "body", None)
    last = statement.end_lineno or statement.lineno
    return statement.lineno, max(statement.lineno, body[0].lineno - 1) if body else last


def _inside_code(node: ast.AST, stack: tuple[ast.AST, ...]) -> bool:
    """Inside a function; or a constant that is computed from other names, rather than chosen."""
    if any(isinstance(part, (ast.FunctionDef, ast.Lambda)) for part in stack):
        return True
    statement = next((part for part in (*stack, node) if isinstance(part, ast.stmt)), None)
    if not isinstance(statement, ast.Assign) or node is statement:
        return False
    return any(isinstance(part, ast.Name) and part.id.isupper() for part in ast.walk(statement.value))


def _is_unseen(node: ast.expr | ast.stmt, stack: tuple[ast.AST, ...], operator: str, known: Constants) -> bool:
    """Whether a rule of `unseen.py` says that nobody could see this change."""
    if operator == COMPARISON:
        return isinstance(node, ast.Compare) and is_tie(node, known)
    if operator == DROPPED_CHECK:
        return is_fault_of_types(node)
    return (
        operator == OFF_BY_ONE
        and isinstance(node, ast.expr)
        and (is_turns(node, stack, known) or is_step_of_effort(node, stack) or is_foreign(node, stack))
    )


def _is_text(node: ast.AST) -> bool:
    if isinstance(node, (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert)):
        return True
    if isinstance(node, ast.FunctionDef):
        return node.name in SENTENCES
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.If):
        return any(
            isinstance(part, ast.Name) and part.id in ("TYPE_CHECKING", "__name__") for part in ast.walk(node.test)
        )
    return isinstance(node, ast.Call) and _called(node) in MESSAGES


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Children that are code: no decorators, annotations, defaults or bases."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield from node.body
    elif isinstance(node, ast.AnnAssign):
        if node.value is not None:
            yield node.value
    elif isinstance(node, ast.Lambda):
        yield node.body
    else:
        yield from ast.iter_child_nodes(node)


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


# --- changes of one node ---------------------------------------------------------------------------------
def changes(node: ast.expr | ast.stmt) -> Iterator[tuple[str, str]]:
    """The operators that apply to a node, each with the text that replaces it (of an `if`, its condition)."""
    if isinstance(node, ast.Compare):
        yield from _comparisons(node)
    elif isinstance(node, ast.BinOp):
        yield from _binary(node)
    elif isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            yield ARITHMETIC, _text(node.operand)
        if isinstance(node.op, ast.Not):
            yield SWAPPED_BRANCH, _text(node.operand)
    elif isinstance(node, ast.BoolOp):
        yield from _fewer(node)
    elif isinstance(node, ast.Call):
        yield from _calls(node)
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, int) and not isinstance(node.value, bool):
            yield OFF_BY_ONE, f"({node.value + 1})"
    elif isinstance(node, ast.IfExp):
        yield SWAPPED_BRANCH, _text(ast.IfExp(node.test, node.orelse, node.body))
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
        yield from _filters(node)
    else:
        yield from _statements(node)


def _statements(node: ast.expr | ast.stmt) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.If):
        yield DROPPED_CHECK, "False"
        if not _negated_elsewhere(node.test):
            yield SWAPPED_BRANCH, _text(ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.AugAssign):
        if type(node.op) in ARITHMETICS and not isinstance(node.value, (*SHAPES, ast.Call)):
            changed = copy.copy(node)
            changed.op = ARITHMETICS[type(node.op)]()
            yield ARITHMETIC, ast.unparse(changed)
        yield DROPPED_TERM, "pass"
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.YieldFrom):
        yield DROPPED_CHECK, "yield from ()"
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _called(node.value) not in MESSAGES:
        yield DROPPED_CHECK, "pass"


def _negated_elsewhere(test: ast.expr) -> bool:
    """Whether another operator turns this condition into its opposite."""
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not)
    opposites = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
    return isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], opposites)


def _comparisons(node: ast.Compare) -> Iterator[tuple[str, str]]:
    for place, op in enumerate(node.ops):
        changed = copy.copy(node)
        changed.ops = [*node.ops[:place], COMPARISONS[type(op)](), *node.ops[place + 1 :]]
        yield COMPARISON, _text(changed)


def _binary(node: ast.BinOp) -> Iterator[tuple[str, str]]:
    sides = (node.left, node.right)
    if any(
        isinstance(side, SHAPES) or (isinstance(side, ast.Constant) and isinstance(side.value, str)) for side in sides
    ):
        return
    if isinstance(node.op, ast.BitOr) and any(isinstance(side, ast.Name) and not side.id.islower() for side in sides):
        return  # a union of types
    if type(node.op) in ARITHMETICS:
        yield ARITHMETIC, _text(ast.BinOp(node.left, ARITHMETICS[type(node.op)](), node.right))
    if isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
        yield DROPPED_TERM, _text(node.left)
    if isinstance(node.op, (ast.Add, ast.Mult)):
        yield DROPPED_TERM, _text(node.right)


def _fewer(node: ast.BoolOp) -> Iterator[tuple[str, str]]:
    for place in range(len(node.values)):
        left = [*node.values[:place], *node.values[place + 1 :]]
        yield DROPPED_TERM, _text(left[0] if len(left) == 1 else ast.BoolOp(node.op, left))


def _calls(node: ast.Call) -> Iterator[tuple[str, str]]:
    name = _called(node)
    if name in OTHER_OF_PAIR:
        changed = copy.deepcopy(node)
        if isinstance(changed.func, ast.Attribute):
            changed.func.attr = OTHER_OF_PAIR[name]
            yield MIN_MAX, _text(changed)
        elif name not in ("floor", "ceil") and isinstance(changed.func, ast.Name):  # the other may not be imported
            changed.func.id = OTHER_OF_PAIR[name]
            yield MIN_MAX, _text(changed)
    plain = not node.keywords and not any(isinstance(arg, ast.Starred) for arg in node.args)
    if name in ("min", "max", "minimum", "maximum") and len(node.args) == 2 and plain:
        yield DROPPED_TERM, _text(node.args[0])
        yield DROPPED_TERM, _text(node.args[1])
    if name == "len":
        yield OFF_BY_ONE, _text(ast.BinOp(node, ast.Sub(), ast.Constant(1)))
    if name == "range" and plain:
        place = 0 if len(node.args) == 1 else 1
        changed = copy.deepcopy(node)
        changed.args[place] = ast.BinOp(changed.args[place], ast.Sub(), ast.Constant(1))
        yield OFF_BY_ONE, _text(changed)


def _filters(node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Iterator[tuple[str, str]]:
    for place, generator in enumerate(node.generators):
        for number in range(len(generator.ifs)):
            changed = copy.deepcopy(node)
            del changed.generators[place].ifs[number]
            yield DROPPED_CHECK, _text(changed)


def _text(node: ast.expr) -> str:
    text = ast.unparse(ast.fix_missing_locations(node))
    return text if isinstance(node, ast.GeneratorExp) else f"({text})"
