"""Options that describe the possible answers, and the questions that commands know."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sottovoce.core.domain import (
    Ball,
    Bins,
    Box,
    Categories,
    Circle,
    Domain,
    Integers,
    Interval,
    Pair,
    Record,
    Sets,
    Sparse,
    Text,
)
from sottovoce.core.errors import ParameterError
from sottovoce.core.language.question_words import did_you_mean
from sottovoce.core.question import (
    Cdf,
    Distribution,
    Frequency,
    GroupMean,
    Mean,
    Quantile,
    Question,
    Range,
    SetShares,
    Variance,
    VectorMean,
)
from sottovoce.files.opening import cells, naming
from sottovoce.files.places import reading

# The questions that options can describe, by the words of study files.
QUESTIONS: dict[str, type[Question]] = {
    one.kind: one
    for one in (Mean, Frequency, SetShares, Variance, Distribution, GroupMean, VectorMean, Quantile, Range, Cdf)
}
MEDIAN, MEDIAN_SHARE = "median", (Decimal("0.5"),)
# Options that say what is read from a distribution.
NEEDED = {Quantile.kind: ("--quantiles",), Cdf.kind: ("--points",), Range.kind: ("--from", "--to")}
NUMBERS = (Mean, Variance, Quantile, Range, Cdf)
_NOT_INFERRED = (
    "The possible answers are not inferred from the data, because that would reveal them: give one of --categories,"
    " --categories-file, --period, or --low and --high; or --text, if any text may be an answer."
)


BETWEEN, EDGE = ";", "|"  # between the lists of columns, and between the ends of intervals
_FORM = (
    'Several columns need a list each, such as --categories "f,m;never,smokes". Ends of intervals of a number have'
    ' bars: "f,m;16|40|65|95".'
)
_NO_RANGE = "The range of the answers is missing: give --low and --high, such as --low 0 --high 24."


@dataclass(frozen=True, slots=True)
class Allowed:
    """What the options say of the possible answers. These are never inferred from data: which ones occur is private."""

    categories: str | None = None
    categories_file: str | None = None
    low: str | None = None
    high: str | None = None
    whole: bool = False
    dimensions: int | None = None
    radius: str | None = None
    max_nonzero: int | None = None
    period: str | None = None
    text: bool = False
    step: str | None = None
    most: int | None = None

    @property
    def is_described(self) -> bool:
        """True if any of the options is set."""
        return self != Allowed()

    @property
    def has_categories(self) -> bool:
        """Whether a list of categories is given, in one way or the other."""
        return self.categories is not None or self.categories_file is not None

    @property
    def has_range(self) -> bool:
        """Whether an end of a range is given, or the length of a circle."""
        return self.low is not None or self.high is not None or self.period is not None

    def one(self, *, numbers: bool = False) -> Domain:
        """The domain of a single answer; of a number, where the question needs one."""
        if numbers and not self.is_described:
            raise ParameterError(_NO_RANGE)
        if self.step is not None and (self.low is None or self.high is None):
            raise ParameterError("--step needs --low and --high: it is the distance of possible numbers in a range.")
        if self.has_categories + self.has_range + self.text != 1:
            raise ParameterError(_NOT_INFERRED)
        if self.most is not None:
            return self.sets()
        if self.text:
            return Text()
        if self.period is not None:
            return self.circle()
        return self.listed() if self.has_categories else self.numbers()

    def listed(self) -> Categories:
        """The categories."""
        if (self.categories is None) == (self.categories_file is None):
            raise ParameterError(_NOT_INFERRED)
        if self.categories is not None:
            return _categories(self.categories)
        with naming("The file of categories"):
            return Categories(lines_of(str(self.categories_file), "The file of categories"))

    def sets(self) -> Sets:
        """Sets of categories."""
        if not self.has_categories:
            raise ParameterError("--most is for categories of which an answer may hold several: give --categories.")
        return Sets(self.listed().values, self.most)

    def circle(self) -> Circle:
        """The circle around which numbers go."""
        if self.low is not None or self.high is not None or self.whole or self.period is None:
            raise ParameterError("--period is all that describes a circle: it goes from 0 to the period.")
        return Circle(self.period)

    def numbers(self) -> Integers | Interval:
        """The range of a number."""
        return _range(*self._ends(), self.whole, self.step)

    def pair(self) -> Pair:
        """A group and a number."""
        if not self.has_categories or not self.has_range:
            raise ParameterError(
                "A group and its value are described by --categories (or --categories-file), and by --low and --high."
            )
        return Pair(self.listed(), self.numbers())

    def columns(self, names: Sequence[str]) -> Domain:
        """The domain of an answer in several columns: a cross table, a pair, a record of numbers or a vector."""
        if self.has_categories and not self.has_range:
            if self.categories is None:
                raise ParameterError("A cross table needs the answers of each column: give --categories.")
            return _record(names, self.categories, whole=self.whole)
        if self.has_categories:
            return self.pair()
        low, high = self._ends()
        self._check_step("," in low or "," in high)
        if "," in low or "," in high:
            return Record(list(zip(names, self._ranges(len(names)), strict=True)))
        return Box(low, high, len(names))

    def vector(self) -> Domain:
        """The domain of a vector without columns: of its length, its few entries, or its ranges."""
        if self.has_categories:
            raise ParameterError("A vector has numbers only: leave out the categories.")
        if self.radius is not None and self.max_nonzero is not None:
            raise ParameterError("A vector has a length (--radius) or few entries (--max-nonzero), not both.")
        has_ranges = self.dimensions is None and self.has_range and "," in "".join(self._ends())
        self._check_step(has_ranges)
        if has_ranges:
            count = max(len(cells(end)) for end in self._ends())
            return Record([(str(place), one) for place, one in enumerate(self._ranges(count), 1)])
        if self.dimensions is None or not (self.has_range or self.radius or self.max_nonzero):
            raise ParameterError(
                "A vector needs --dimensions, and one of --low and --high (each number), --radius (its length), or"
                " --max-nonzero (its numbers that differ from zero)."
            )
        if self.radius is not None:
            return Ball(self.radius, self.dimensions)
        if self.max_nonzero is not None:
            return Sparse(self.dimensions, self.max_nonzero, 1 if self.high is None else self.high)
        return Box(*self._ends(), self.dimensions)

    def _check_step(self, has_ranges: bool) -> None:
        if self.step is not None and not has_ranges:
            raise ParameterError("--step needs a range for each number of a vector: --low 0,0 --high 24,10 --step 0.5.")

    def _ends(self) -> tuple[str, str]:
        if self.low is None or self.high is None:
            raise ParameterError(_NOT_INFERRED)
        return self.low, self.high

    def _ranges(self, count: int) -> list[Integers | Interval]:
        """A range for each of several numbers. A single end or step holds for all."""
        lists: list[list[Any]] = [cells(end) for end in self._ends()]
        lists.append([None] if self.step is None else cells(self.step))
        lows, highs, steps = (one * count if len(one) == 1 else one for one in lists)
        if not len(lows) == len(highs) == len(steps) == count:
            names = "--low and --high" if self.step is None else "--low, --high and --step"
            raise ParameterError(f"{names} must have one number each, or {count} numbers with commas.")
        return [_range(low, high, self.whole, step) for low, high, step in zip(lows, highs, steps, strict=True)]


def _record(names: Sequence[str], lists: str, *, whole: bool) -> Record:
    """The possible answers of several columns, one list for each."""
    texts = lists.split(BETWEEN)
    if len(texts) != len(names):
        raise ParameterError(f"--categories has {len(texts)} lists for {len(names)} columns. {_FORM}")
    return Record({name: _domain(text, whole=whole) for name, text in zip(names, texts, strict=True)})


def _categories(text: str) -> Categories:
    """The categories of one list; a refusal names the option, which is all that a person has typed."""
    values = cells(text, skipinitialspace=True)
    if len(set(values)) < max(2, len(values)):
        raise ParameterError("--categories needs two answers or more, all different, such as --categories yes,no.")
    return Categories(values)


def _domain(text: str, *, whole: bool) -> Domain:
    if EDGE not in text:
        return _categories(text.strip())
    low, *edges, high = (end.strip() for end in text.split(EDGE))
    if not edges:
        raise ParameterError(f"A number needs two intervals or more. {_FORM}")
    try:
        return Bins(Integers(int(low), int(high)) if whole else Interval(low, high), edges)
    except ValueError:
        raise ParameterError(f"With --whole the ends of intervals must be whole numbers. {_FORM}") from None


def lines_of(path: str, name: str) -> list[str]:
    """The lines of a file of answers."""
    with reading(path, name) as file, naming(name):
        return file.read().decode("utf-8-sig").splitlines()


def _range(low: str, high: str, whole: bool, step: str | None = None) -> Integers | Interval:
    if not whole:
        return Interval(_point("--low", low), _point("--high", high), step)
    if step is not None:
        raise ParameterError("--whole and --step describe the same: use --step 1 for whole numbers, or --whole alone.")
    return Integers(_integer("--low", low), _integer("--high", high))


def _integer(option: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ParameterError(f"The value of {option} must be a whole number, because --whole is given.") from None


def _point(option: str, text: str) -> str:
    """A number as it was typed; a decimal comma is a frequent slip, and would be a list elsewhere."""
    if re.fullmatch(r"\s*[+-]?\d+,\d+\s*", text):
        raise ParameterError(f"The value of {option} must have a decimal point, not a comma: write 7.5, not 7,5.")
    return text


@dataclass(frozen=True, slots=True)
class ReadFrom:
    """Options for what is read from a distribution: quantiles, points of the cumulative one, or a range."""

    quantiles: str | None = None
    points: str | None = None
    start: str | None = None
    end: str | None = None

    def values(self, kind: str) -> list[Any]:
        """The values that a question of this kind needs beside its domain; options of other kinds are refused."""
        options = {"--quantiles": self.quantiles, "--points": self.points, "--from": self.start, "--to": self.end}
        needed = NEEDED.get(kind, ())
        for option, value in options.items():
            if value is not None and option not in needed:
                raise ParameterError(f"{option} does not belong to a plan for {kind}: leave it out.")
            if value is None and option in needed:
                raise ParameterError(f"A plan for {kind} needs {' and '.join(needed)}.")
        texts = [options[option] or "" for option in needed]
        return texts if len(texts) > 1 else [tuple(cells(text)) for text in texts]


def question_of(kind: str, allowed: Allowed, read_from: ReadFrom | None = None) -> Question:
    """The question of a kind about the possible answers that the options describe."""
    known = [*QUESTIONS, MEDIAN]
    if kind not in known:
        meant = did_you_mean(kind, known)
        raise ParameterError(f"The question must be one of {', '.join(known)}. {meant}".rstrip())
    question = QUESTIONS.get(kind, Quantile)
    if question is GroupMean:
        domain: Domain = allowed.pair()
    elif question is VectorMean:
        domain = allowed.vector()
    elif question is SetShares:
        domain = allowed.sets()
    else:
        domain = allowed.one(numbers=question in NUMBERS)
    if question is Frequency and domain.size is None:
        raise ParameterError("Shares of numbers need a list of possible answers: add --whole, or plan a distribution.")
    values = (read_from or ReadFrom()).values(kind)
    return Quantile(domain, MEDIAN_SHARE) if kind == MEDIAN else _asked(question, domain, *values)


def question_about(domain: Domain, kind: str | None) -> Question:
    """The question to choose a mechanism for: the named one, else shares of categories and means of numbers."""
    if isinstance(domain, Pair):
        possible: list[type[Question]] = [GroupMean]
    elif domain.listed is not None:
        possible = [SetShares]
    elif domain.circular:
        possible = [Distribution]
    elif domain.size is None and domain.numbers is None:
        possible = [VectorMean]
    elif domain.numbers is None:
        possible = [Frequency, Distribution]
    else:
        possible = [Mean, *([] if domain.size is None else [Frequency]), Distribution]
    kinds = {question.kind: question for question in possible}
    if kind is not None and kind not in kinds:
        raise ParameterError(f"--question must be one of {', '.join(kinds)} for these answers.")
    return _asked(kinds[kind or next(iter(kinds))], domain)


def _asked(question: Any, domain: Any, *values: Any) -> Question:
    asked: Question = GroupMean(domain.group, domain.value) if question is GroupMean else question(domain, *values)
    return asked
