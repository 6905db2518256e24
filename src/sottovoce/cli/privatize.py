"""`sottovoce privatize`: the answers of a file become reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from sottovoce.cli.columns import AnswerSource, Outside, batch, pieces
from sottovoce.cli.files import (
    STANDARD,
    FileProblem,
    cells,
    check_apart,
    check_free,
    kind_of,
    naming,
    reading,
    same_file,
    writing,
)
from sottovoce.cli.reports import REPORT_KINDS, Writer, batch_rows
from sottovoce.cli.show import note, progress
from sottovoce.client.client import Client
from sottovoce.core.domain import Categories, Domain, Integers, Interval
from sottovoce.core.errors import DomainError, ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.plural import plural
from sottovoce.core.registry import mechanism as build
from sottovoce.core.specs import canonical
from sottovoce.fast.batch import Reports, draw
from sottovoce.fast.threads import chunks
from sottovoce.fast.words import WordStream

SPEC_OUTPUT = "The file for the specification"


@dataclass(frozen=True, slots=True)
class Asked:
    """The mechanism that the options describe: by a file, or by its name, budget and domain."""

    spec: str | None = None
    method: str | None = None
    epsilon: str | None = None
    categories: str | None = None
    categories_file: str | None = None
    low: str | None = None
    high: str | None = None
    real: bool = False
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Destination:
    """Where the reports go."""

    path: str
    kind: str | None = None
    spec: str | None = None
    force: bool = False


def privatize(source: AnswerSource, asked: Asked, goal: Destination, *, seed: int | None = None) -> None:
    """Randomize a column of a file, all of it or nothing."""
    mechanism = Client(mechanism_of(asked)).mechanism  # accepts pure guarantees only
    kind = _output_kind(goal, asked)
    for output, name in ((goal.path, "The output"), (goal.spec, SPEC_OUTPUT)):
        check_apart(output or STANDARD, source.path, name=name)
    if seed is not None:
        note("--seed makes the noise predictable: these reports protect nobody, use them for simulation only.")
    with ExitStack() as stack:
        if goal.spec is not None:
            beside = stack.enter_context(writing(goal.spec, force=goal.force, name=SPEC_OUTPUT))
            beside.write(canonical(mechanism.spec()) + b"\n")
            beside.flush()
        file = stack.enter_context(writing(goal.path, force=goal.force))
        writer = stack.enter_context(Writer(file, kind, mechanism, seeded=seed is not None))
        for batch in _reports(source, mechanism, seed):
            writer.write(batch)
    note(f"{plural(writer.n, 'report')} through {mechanism.name}, epsilon {mechanism.epsilon:.6g} each.")


def _output_kind(goal: Destination, asked: Asked) -> str:
    """The kind of the output, after all checks that need no reading."""
    check_free(goal.path, goal.force)
    if goal.spec is not None:
        check_free(goal.spec, goal.force, name=SPEC_OUTPUT)
        if same_file(goal.spec, goal.path):
            raise ParameterError("The reports and the specification cannot both go to one file.")
    if goal.path == STANDARD:
        kind = goal.kind or "arrow"
        if kind == "parquet":
            raise ParameterError("Parquet cannot be written to a pipe here: use --output-format arrow or csv.")
    else:
        kind = kind_of(goal.path, goal.kind, REPORT_KINDS, name="The output", option="--output-format")
    if kind == "csv" and goal.spec is None and asked.spec is None:
        raise ParameterError(
            "CSV cannot hold the mechanism, which is needed to count the reports: add --write-spec FILE."
        )
    return kind


# --- reports ----------------------------------------------------------------------------------------------
def _reports(source: AnswerSource, mechanism: Mechanism, seed: int | None) -> Iterator[Reports]:
    """Some reports at a time; answers outside the domain are counted to the end and refused."""
    words = mechanism.words
    stream = WordStream.secure(words) if seed is None else WordStream.seeded(words, seed)
    first, rows, outside, column = 0, 0, None, ""
    for piece in progress(pieces(source), "privatize", lambda piece: (piece.length, piece.total)):
        found = batch(mechanism, piece.values)
        if isinstance(found, Outside):
            column = piece.column
            outside = found.after(rows, outside)
        rows += len(piece.values)
        if outside is None:
            for start, stop in chunks(0, len(found), batch_rows(mechanism)):
                yield draw(mechanism, found[start:stop], stream.after(first))
                first += stop - start
    if outside is not None:
        raise _refused(column, mechanism.domain, outside, rows)


def _refused(column: str, domain: Domain, outside: Outside, rows: int) -> FileProblem:
    """Where the first one is, and what is expected. The value itself is somebody's answer and is not shown."""
    wanted = ""
    try:
        domain.encode(object())
    except DomainError as problem:
        wanted = f" {str(problem).partition(';')[0]}."
    cell = ": an empty cell" if outside.empty else ""
    return FileProblem(
        f"{outside.count} of {plural(rows, 'value')} of {column} {'lies' if outside.count == 1 else 'lie'} outside the"
        f" domain, the first in row {outside.place + 1} of"
        f" the data{cell}.{wanted}"
    )


# --- the mechanism ----------------------------------------------------------------------------------------
def mechanism_of(asked: Asked) -> Mechanism:
    """The mechanism of a file, or of a description in full."""
    described = (asked.method, asked.epsilon, asked.categories, asked.categories_file, asked.low, asked.high)
    if asked.spec is not None:
        if any(part is not None for part in described) or asked.options or asked.real:
            raise ParameterError("--spec says everything about the mechanism: leave out the options that describe it.")
        return read_spec(asked.spec)
    if asked.method is None or asked.epsilon is None:
        raise ParameterError("Which mechanism? Give --method and --epsilon, or --spec FILE.")
    return build(asked.method, _domain(asked), epsilon=asked.epsilon, **_options(asked.options))


def read_spec(path: str) -> Mechanism:
    """The mechanism of a specification in a file."""
    name = "Standard input" if path == STANDARD else "The specification"
    with reading(path, name) as file, naming(name):
        return Mechanism.from_spec(file.read())


def _domain(asked: Asked) -> Domain:
    """What may be answered. It is never inferred from the answers: which values occur is private."""
    ways = [asked.categories is not None, asked.categories_file is not None]
    ways.append(asked.low is not None or asked.high is not None)
    if sum(ways) != 1 or (ways[2] and None in (asked.low, asked.high)):
        raise ParameterError(
            "The possible answers are not inferred from the data, because that would reveal them: give one of"
            " --categories, --categories-file, or --low and --high."
        )
    if asked.categories is not None:
        return Categories(cells(asked.categories, skipinitialspace=True))
    if asked.categories_file is not None:
        with reading(asked.categories_file, "The file of categories") as file, naming("The file of categories"):
            return Categories(file.read().decode("utf-8-sig").splitlines())
    if asked.real:
        return Interval(str(asked.low), str(asked.high))
    return Integers(_whole("low", asked.low), _whole("high", asked.high))


def _whole(name: str, text: str | None) -> int:
    try:
        return int(text or "")
    except ValueError:
        raise reject(name, "--low and --high", "a whole number, unless --real is given", text) from None


def _options(texts: Iterable[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in map(_option, texts):
        if name in ("name", "domain", "epsilon"):
            raise ParameterError(f"{name!r} cannot be set by --option: it has options of its own, see --help.")
        if name in found:
            raise ParameterError("--option gives one parameter twice.")
        found[name] = value
    return found


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise reject("option", "privatize", "of the form name=value", text)
    whole = value.removeprefix("-").isdecimal() and len(value) < 20
    return name, int(value) if whole else value
