"""Changes that are not drawn: by their form nothing but the time of a computation, or a tie of floats, could show them.

Each rule names a form of code and the one operator it takes away there; every other change of the same code is drawn.

- A tie with a tolerance: `<` against `<=` where a side is a float literal below 10**-5. What is compared is a rounding
  error, which has no exact value. A tolerance times a size may be zero, so it is drawn.
- A tie with a logarithm: `<` against `<=` where a side is computed by a function of `IRRATIONAL`, whose values are
  irrational but for a few arguments. A plain root is no such function: it is zero where its argument is.
- One turn more of a search that ends by itself: the number of turns of `for _ in range(N)` with N of ten or more, where
  the loop is left from within.
- The work that is held in memory at a time: anything inside `max(1, CHUNK // size)`, with a constant named so.
- One halving more of a bisection of 50 turns or more, which moves its end by less than 2**-50 of where it began: the
  number of turns of `for _ in range(N)`, where the loop computes a middle, the half of a sum of two names.
- Another of the wrong answers that a contract tries: a number of ten or more in a function named `foreign`.
- One step of an estimate of work: a constant of a function named `effort`, which counts steps by the million.
- A fault of a program that types rule out: `if not isinstance(...): raise TypeError(...)`, without the check. Users get
  `ParameterError` and its kin, whose checks are drawn.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

TOLERANCE = 1e-5
IRRATIONAL = {"log", "log1p", "exp", "expm1", "erf", "erfc", "erfinv", "ndtri", "ppf", "isf", "gammaln", "lgamma"}
FEWEST_TURNS = 10
FEWEST_HALVINGS = 50
FOREIGN = "foreign"
TIES = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
CHUNK = "CHUNK"
EFFORT = ("effort", "_effort")


Constants = Mapping[str, ast.expr]


def constants(module: ast.Module) -> Constants:
    """The values of the constants of a module, by their names."""
    return {
        target.id: statement.value
        for statement in module.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name) and target.id.isupper()
    }


def is_tie(node: ast.Compare, known: Constants) -> bool:
    """Whether two floats are compared, of which one has no exact value, so that they are never equal."""
    sides = (
        known.get(side.id, side) if isinstance(side, ast.Name) else side for side in (node.left, *node.comparators)
    )
    return len(node.ops) == 1 and isinstance(node.ops[0], TIES) and any(map(_is_inexact, sides))


def _is_inexact(side: ast.expr) -> bool:
    if isinstance(side, ast.UnaryOp):
        return _is_inexact(side.operand)
    if isinstance(side, ast.Constant):
        return isinstance(side.value, float) and 0 < side.value < TOLERANCE
    return any(isinstance(part, ast.Call) and _called(part) in IRRATIONAL for part in _factors(side))


def _factors(side: ast.expr) -> Iterator[ast.expr]:
    """The parts of a product or a quotient, also under a root."""
    if isinstance(side, ast.BinOp) and isinstance(side.op, (ast.Mult, ast.Div)):
        yield from _factors(side.left)
        yield from _factors(side.right)
    elif isinstance(side, ast.Call) and _called(side) == "sqrt" and side.args:
        yield from _factors(side.args[0])
    else:
        yield side


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def is_turns(node: ast.expr, stack: Sequence[ast.AST], known: Constants) -> bool:
    """Whether this is the number of turns of a search that ends by itself or bisects, or the range that holds it."""
    loop = next((part for part in reversed(stack) if isinstance(part, ast.stmt)), None)
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
        return False
    calls = loop.iter
    if not (isinstance(calls.func, ast.Name) and calls.func.id == "range" and len(calls.args) == 1):
        return False
    turns = calls.args[0]
    few = isinstance(turns, ast.Constant) and isinstance(turns.value, int) and turns.value < FEWEST_TURNS
    number = known.get(turns.id, turns) if isinstance(turns, ast.Name) else turns
    many = isinstance(number, ast.Constant) and isinstance(number.value, int) and number.value >= FEWEST_HALVINGS
    ends = any(map(_leaves, loop.body)) or (many and any(map(_halves, ast.walk(loop))))
    named = isinstance(turns, ast.Constant) or (isinstance(turns, ast.Name) and turns.id.isupper())
    unused = isinstance(loop.target, ast.Name) and loop.target.id == "_"
    return node in (calls, turns) and named and not few and unused and ends


def _halves(node: ast.AST) -> bool:
    """Whether this computes the middle of two names."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div) or not isinstance(node.left, ast.BinOp):
        return False
    names = isinstance(node.left.left, ast.Name) and isinstance(node.left.right, ast.Name)
    return (
        names and isinstance(node.left.op, ast.Add) and isinstance(node.right, ast.Constant) and node.right.value == 2
    )


def is_foreign(node: ast.expr, stack: Sequence[ast.AST]) -> bool:
    """Whether this is a number of a wrong answer, for which any other wrong answer would do."""
    names = [part.name for part in stack if isinstance(part, ast.FunctionDef)]
    large = isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value >= FEWEST_TURNS
    return large and bool(names) and names[-1] == FOREIGN


def _leaves(statement: ast.AST) -> bool:
    """Whether a statement of a loop can leave it: a return, or a break that is not one of a loop inside."""
    if isinstance(statement, (ast.Return, ast.Break)):
        return True
    if isinstance(statement, (ast.FunctionDef, ast.Lambda)):
        return False
    inside: Iterator[ast.AST] = ast.iter_child_nodes(statement)
    if isinstance(statement, (ast.For, ast.While)):
        return any(isinstance(part, ast.Return) for part in ast.walk(statement))
    return any(map(_leaves, inside))


def is_chunk(node: ast.AST) -> bool:
    """Whether this is `max(1, CHUNK // size)`, the number of rows that are computed at a time."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "max"
        and len(node.args) == 2
        and isinstance(node.args[0], ast.Constant)
        and node.args[0].value == 1
        and isinstance(node.args[1], ast.BinOp)
        and isinstance(node.args[1].op, ast.FloorDiv)
        and isinstance(node.args[1].left, ast.Name)
        and CHUNK in node.args[1].left.id
    )


def is_step_of_effort(node: ast.expr, stack: Sequence[ast.AST]) -> bool:
    """Whether this is a constant of an estimate of work."""
    names = [part.name for part in stack if isinstance(part, ast.FunctionDef)]
    return isinstance(node, ast.Constant) and bool(names) and names[-1].endswith(EFFORT)


def is_fault_of_types(node: ast.AST) -> bool:
    """Whether this only refuses an object of a type that no caller passes, which narrows the type for the checker."""
    if not isinstance(node, ast.If) or node.orelse or len(node.body) != 1 or not isinstance(node.body[0], ast.Raise):
        return False
    raised, test = node.body[0].exc, node.test
    negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    narrowed = negated and isinstance(test.operand, ast.Call) and _called(test.operand) == "isinstance"
    return narrowed and isinstance(raised, ast.Call) and _called(raised) == "TypeError"
