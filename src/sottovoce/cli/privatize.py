"""`sottovoce privatize`: the answers of a file become reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from sottovoce.cli.domains import Allowed, question_about
from sottovoce.cli.show import note, progress
from sottovoce.client.client import Client
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.language.plural import plural
from sottovoce.core.language.spelling import letters
from sottovoce.core.mechanism import Mechanism, check_same
from sottovoce.core.params import reject
from sottovoce.core.question import Joint
from sottovoce.core.registry import mechanism as build
from sottovoce.core.specs import canonical
from sottovoce.fast.batch import Reports, draw
from sottovoce.fast.threads import chunks
from sottovoce.fast.words import WordStream
from sottovoce.files.answer_rows import MISSING, ColumnLayout, check_missing, layout, read_rows, with_missing
from sottovoce.files.answers import AnswerSource, Outside, pieces
from sottovoce.files.kinds import kind_of
from sottovoce.files.opening import STANDARD, FileProblem, check_apart, check_free, naming, same_file, writing
from sottovoce.files.places import expanded, is_address, reading
from sottovoce.files.reports import batch_rows, mechanism_in
from sottovoce.files.writer import REPORT_KINDS, Writer
from sottovoce.protocols.shares.tables import TableViews
from sottovoce.study.plan import plan

AUTO = "auto"
SPEC_OUTPUT = "The file for the specification"
NO_FILE = ""  # of a memo: nothing is opened


@dataclass(frozen=True, slots=True)
class AskedFor:
    """The mechanism that the options describe: by a file, or by its name, budget and domain. Without a name, or with
    "auto", the plan chooses it for a question."""

    spec: str | None = None
    method: str | None = None
    epsilon: str | None = None
    allowed: Allowed = field(default_factory=Allowed)
    options: tuple[str, ...] = ()
    question: str | None = None

    @property
    def automatic(self) -> bool:
        """Whether the plan chooses the method."""
        return self.spec is None and (self.method is None or letters(self.method) == AUTO)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A mechanism, and the sentence that says why the plan chose it, for so many reports."""

    mechanism: Mechanism
    reason: Callable[[int], str] | None = None


@dataclass(frozen=True, slots=True)
class Destination:
    """Where the reports go."""

    path: str
    kind: str | None = None
    spec: str | None = None
    force: bool = False


def privatize(
    source: AnswerSource, asked: AskedFor, goal: Destination, *, missing: str = "refuse", seed: int | None = None
) -> None:
    """Randomize the answers of one or more files, all of them or nothing; into a folder one file after the other."""
    chosen = mechanism_of(asked, source.columns, missing)
    if os.path.isdir(goal.path) or goal.path.endswith(os.sep):
        _into_folder(source, chosen, asked, goal, missing, seed)
        return
    _into_file(source, chosen, asked, goal, missing, seed)


def _into_folder(
    source: AnswerSource, chosen: Chosen, asked: AskedFor, goal: Destination, missing: str, seed: int | None
) -> None:
    """A file of reports for each file of answers. Those that exist are not drawn again, which would spend the budget of
    their participants twice: an interrupted run goes on."""
    if seed is not None:
        raise ParameterError("A simulation goes into one file: leave out --seed, or name a file.")
    if goal.kind not in (None, "parquet") or goal.spec is not None:
        raise ParameterError("A folder of reports holds Parquet files, which carry the specification.")
    folder = Path(goal.path)
    if not folder.is_dir():
        raise FileProblem("The output cannot be written: its folder does not exist.")
    paths = expanded([source.path])
    targets = [folder / f"{PurePosixPath(path.partition('?')[0]).stem}.parquet" for path in paths]
    if len(set(targets)) < len(targets):
        raise FileProblem("Two inputs have the same name, but each has a file of its own in the output folder.")
    done = 0
    for place, (path, target) in enumerate(zip(paths, targets, strict=True)):
        if target.exists() and not goal.force:
            with naming(f"The reports of input {place + 1} of {len(paths)}"):
                check_same(chosen.mechanism, mechanism_in(str(target)), "go on")
            done += 1
            continue
        _into_file(replace(source, path=path), chosen, asked, replace(goal, path=str(target)), missing, None)
    if done:
        note(f"{done} of {plural(len(paths), 'file')} privatized before: their reports stay as they are.")


def _into_file(
    source: AnswerSource, chosen: Chosen, asked: AskedFor, goal: Destination, missing: str, seed: int | None
) -> None:
    # Accepts pure guarantees only. No memo is opened: each row is a device that answers for the first time.
    mechanism = Client(chosen.mechanism, memo=NO_FILE).mechanism
    check_missing(mechanism.domain, missing)
    column_layout = layout(mechanism.domain, source.columns)
    kind = _output_kind(goal, asked)
    for output, name in ((goal.path, "The output"), (goal.spec, SPEC_OUTPUT)):
        for path in expanded([source.path]):
            if not is_address(path):
                check_apart(output or STANDARD, path, name=name)
    if seed is not None:
        note("--seed makes the noise predictable: these reports protect nobody, use them for simulation only.")
    seen = Seen()
    with ExitStack() as stack:
        if goal.spec is not None:
            beside = stack.enter_context(writing(goal.spec, force=goal.force, name=SPEC_OUTPUT))
            beside.write(canonical(mechanism.spec()) + b"\n")
            beside.flush()
        file = stack.enter_context(writing(goal.path, force=goal.force))
        writer = stack.enter_context(Writer(file, kind, mechanism, seeded=seed is not None))
        for batch in _reports(source, mechanism, column_layout, missing, seed, seen):
            writer.write(batch)
    _remarks(source, chosen, missing, seen, writer.n)


def _remarks(source: AnswerSource, chosen: Chosen, missing: str, seen: Seen, n: int) -> None:
    """Say in sentences what was done."""
    mechanism = chosen.mechanism
    if chosen.reason is not None:
        note(chosen.reason(n))
    if seen.empty and missing == "skip":
        note(
            f"{seen.empty} of {plural(seen.rows, 'row')} with empty cells left out; a missing report shows who did not"
            " answer."
        )
    elif seen.empty:
        note(f"{seen.empty} of {plural(seen.rows, 'cell')} empty: these are reported as the category {MISSING!r}.")
    note(f"{plural(n, 'report')} through {mechanism.name}, epsilon {mechanism.epsilon:.6g} each.")
    if seen.columns > len(source.columns):
        together = "these columns together" if len(source.columns) > 1 else "this column"
        note(
            f"Epsilon is that of {together}: budgets add up if other columns of the same people are privatized too,"
            " or the same ones again."
        )


@dataclass(slots=True)
class Seen:
    """Account of the rows read so far."""

    rows: int = 0
    empty: int = 0
    columns: int = 0


def _output_kind(goal: Destination, asked: AskedFor) -> str:
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
def _reports(
    source: AnswerSource, mechanism: Mechanism, column_layout: ColumnLayout, missing: str, seed: int | None, seen: Seen
) -> Iterator[Reports]:
    """Some reports at a time; answers outside the domain are counted to the end and refused."""
    words = mechanism.words
    stream = WordStream.secure(words) if seed is None else WordStream.seeded(words, seed)
    first, outside, column = 0, None, ""
    for piece in progress(pieces(source), "privatize", lambda piece: (piece.length, piece.total)):
        rows = read_rows(mechanism, column_layout, piece.values, missing)
        if isinstance(rows.codes, Outside):
            column = piece.columns.name
            outside = rows.codes.after(seen.rows, outside)
        seen.rows += len(piece.values[0])
        seen.empty += rows.empty
        seen.columns = piece.columns.columns
        if outside is None:
            for start, stop in chunks(0, len(rows.codes), batch_rows(mechanism)):
                yield draw(mechanism, rows.codes[start:stop], stream.after(first))
                first += stop - start
    if outside is not None:
        raise _refused(column, mechanism.domain, outside, seen.rows)


def _refused(column: str, domain: Domain, outside: Outside, rows: int) -> FileProblem:
    """Where the first one is, and what is expected. The value itself is somebody's answer and is not shown."""
    cell, hint = "", ""
    if outside.empty:
        cell, hint = ": an empty cell", " --missing says what to do with empty cells."
    return FileProblem(
        f"{outside.count} of {plural(rows, 'value')} of {column} {'lies' if outside.count == 1 else 'lie'} outside the"
        f" domain, the first in row {outside.place + 1} of the data{cell}. An answer must be"
        f" {domain.refusal().must_be}.{hint}"
    )


# --- the mechanism ----------------------------------------------------------------------------------------
def mechanism_of(asked: AskedFor, columns: Sequence[str], missing: str = "refuse") -> Chosen:
    """The mechanism of a file, of a description in full, or of a plan."""
    if asked.spec is not None:
        described = (asked.method, asked.epsilon, asked.question)
        if any(part is not None for part in described) or asked.options or asked.allowed.is_described:
            raise ParameterError("--spec says everything about the mechanism: leave out the options that describe it.")
        return Chosen(read_spec(asked.spec))
    if asked.epsilon is None and (asked.automatic or not asked.options):
        raise ParameterError(
            "Which budget? Give --epsilon, or --spec FILE, or published parameters from which it follows, such as"
            " --method rappor --option f=0.5 --option p=0.75 --option q=0.5."
        )
    domain = asked.allowed.one() if len(columns) == 1 else asked.allowed.columns(columns)
    if missing == "category":
        domain = with_missing(domain)
    if domain.fields and asked.allowed.has_categories:
        return _crossed(asked, domain)
    if asked.automatic:
        return _planned(asked, domain)
    if asked.question is not None:
        raise ParameterError("--question is for --method auto: a method has its own question.")
    return Chosen(build(str(asked.method), domain, epsilon=asked.epsilon, **_options(asked.options)))


def _crossed(asked: AskedFor, record: Any) -> Chosen:
    """The mechanism of a cross table, which reports one cell of all columns."""
    if not asked.automatic or asked.options or asked.question is not None:
        raise ParameterError(
            "Several columns of categories are a cross table, which has a method of its own: leave out --method,"
            " --option and --question."
        )
    (names,) = Joint(record, len(record.fields)).tables
    return Chosen(TableViews(record, [names], asked.epsilon).view(names))


def _planned(asked: AskedFor, domain: Domain) -> Chosen:
    """The plan's first choice among the mechanisms that a device accepts. Their order does not depend on the number of
    participants, and errors fall with its root."""
    if asked.options:
        raise ParameterError("--option is for a method: name it with --method.")
    choice = plan(question_about(domain, asked.question), epsilon=asked.epsilon, participants=1)
    pure = [
        one for one in choice.options if isinstance(one.procedure, Mechanism) and one.mechanism.guarantee.accepted_by()
    ]
    if not pure:
        raise ParameterError("No method with a pure guarantee answers this question: choose one with --method.")
    best = pure[0]

    def reason(n: int) -> str:
        error = f"; expect a standard error of {best.std_error / n**0.5:.3g} for {choice.measure}" if n else ""
        why, *_ = best.reason.removesuffix(".").split(". ")  # sentences after the first are about names
        return f"The plan chose {best.method}: {why}{error}."

    return Chosen(best.mechanism, reason)


def read_spec(path: str) -> Mechanism:
    """The mechanism of a specification in a file."""
    name = "Standard input" if path == STANDARD else "The specification"
    with reading(path, name) as file, naming(name):
        return Mechanism.from_spec(file.read())


def _options(texts: Iterable[str]) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for name, value in map(_option, texts):
        if name in ("name", "domain", "epsilon"):
            raise ParameterError(f"{name!r} cannot be set by --option: it has options of its own, see --help.")
        if name in parameters:
            raise ParameterError("--option gives one parameter twice.")
        parameters[name] = value
    return parameters


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise reject("option", "privatize", "of the form name=value", text)
    return name, [_value(one) for one in value.split(",")] if "," in value else _value(value)


def _value(text: str) -> int | str:
    """An integer if the text is one: other numbers are read by the parameter itself."""
    is_integer = text.removeprefix("-").isdecimal() and len(text) < 20
    return int(text) if is_integer else text
