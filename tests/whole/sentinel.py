"""An answer that nobody else gives, and where it might show up after something went wrong."""

from __future__ import annotations

import copy
import io
import logging
import pickle
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

TEXT = "HIV positive"
NUMBER = 82718271
MARKS = (TEXT, "8271")
ANSWERS: tuple[object, ...] = (
    TEXT,
    TEXT.encode(),
    NUMBER,
    NUMBER / 10_000,
    Decimal(NUMBER) / 10_000,
    Fraction(NUMBER, 2 * NUMBER + 16543),  # between 0 and 1, and on no grid
    [TEXT, NUMBER],
    {TEXT: NUMBER},
    (TEXT, NUMBER),
)


@dataclass
class Seen:
    """Everything that was printed, logged, warned of or raised."""

    texts: list[str] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)

    def shown(self) -> str:
        """All of it as one text."""
        return "\n".join([*self.texts, *(text for error in self.errors for text in traces(error))])

    def marks(self) -> list[str]:
        """The pieces of an answer that are in it."""
        text = self.shown()
        return [mark for mark in MARKS if mark in text]


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and whatever it was raised from or during, suppressed or not."""
    waiting, met = [error], set()
    while waiting:
        found = waiting.pop()
        if found is None or id(found) in met:
            continue
        met.add(id(found))
        yield found
        waiting += [found.__cause__, found.__context__]


def traces(error: BaseException) -> Iterator[str]:
    """Every text that a program can make of an error without looking into its frames."""
    for one in chain(error):
        yield from (str(one), repr(one), repr(one.args), repr(vars(one)), repr(getattr(one, "__notes__", "")))
        yield "".join(traceback.format_exception_only(one))
        yield from (_pickled(one), repr(vars(copy.copy(one))))
    yield error.__class__.__name__


def _pickled(error: BaseException) -> str:
    try:
        return pickle.dumps(error, 0).decode("latin-1")
    except (TypeError, AttributeError, pickle.PicklingError):  # some errors of other libraries
        return ""


class _Records(logging.Handler):
    def __init__(self, texts: list[str]) -> None:
        super().__init__(logging.DEBUG)
        self.texts = texts

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage() + repr(record.args))


@contextmanager
def watched() -> Iterator[Seen]:
    """What is seen of the block from outside."""
    seen = Seen()
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    handler, root = _Records(seen.texts), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with warnings.catch_warnings(record=True) as caught, redirect_stdout(out), redirect_stderr(err):
            warnings.simplefilter("always")
            yield seen
        seen.texts += [f"{warning.message!r} {warning.message}" for warning in caught]
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        out.flush()
        seen.texts += [err.getvalue(), out.buffer.getvalue().decode("latin-1")]  # type: ignore[attr-defined]


def attempt(call: Callable[[], Any]) -> Seen:
    """What is seen of one call, whether it raises or not."""
    with watched() as seen:
        try:
            call()
        except Exception as problem:
            seen.errors.append(problem)
    return seen


def planted(value: Any, answer: object) -> Iterator[Any]:
    """A value with the answer in each of its places, one at a time, and beside its parts."""
    yield answer
    if isinstance(value, dict):
        for key in value:
            yield from ({**value, key: inner} for inner in planted(value[key], answer))
            rest = {other: value[other] for other in value if other != key}
            if isinstance(answer, (str, int, float)):
                yield {**rest, answer: value[key]}
                yield {**value, answer: value[key]}
    elif isinstance(value, (list, tuple)):
        for place in range(min(len(value), 3)):
            yield from (
                type(value)([*value[:place], inner, *value[place + 1 :]]) for inner in planted(value[place], answer)
            )
        yield type(value)([*value, answer])
