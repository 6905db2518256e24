"""Options that describe the possible answers, and the questions that commands know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sottovoce.core.domain import Ball, Box, Categories, Circle, Domain, Integers, Interval, Pair, Record, Sparse, Text
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import reject
from sottovoce.core.question import Distribution, Frequency, GroupMean, Mean, Question, Variance, VectorMean
from sottovoce.files.opening import cells, naming
from sottovoce.files.places import reading

# The questions that options can describe; others need points, shares or ends of a range, as study files have them.
QUESTIONS = {one.kind: one for one in (Mean, Frequency, Variance, Distribution, GroupMean, VectorMean)}
_NOT_INFERRED = (
    "The possible answers are not inferred from the data, because that would reveal them: give one of --categories,"
    " --categories-file, --period, or --low and --high; or --text, if any text may be an answer."
)


@dataclass(frozen=True, slots=True)
class Allowed:
    """What the options say of the possible answers. These are never inferred from data: which ones occur is private."""

    categories: str | None = None
    categories_file: str | None = None
    low: str | None = None
    high: str | None = None
    real: bool = False
    dimensions: int | None = None
    radius: str | None = None
    most: int | None = None
    period: str | None = None
    text: bool = False
    step: str | None = None

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

    def one(self) -> Domain:
        """The domain of a single answer."""
        if self.step is not None and (self.low is None or self.high is None):
            raise ParameterError("--step needs --low and --high: it is the distance of possible numbers in a range.")
        if self.has_categories + self.has_range + self.text != 1:
            raise ParameterError(_NOT_INFERRED)
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
            return Categories(cells(self.categories, skipinitialspace=True))
        with naming("The file of categories"):
            return Categories(lines_of(str(self.categories_file), "The file of categories"))

    def circle(self) -> Circle:
        """The circle around which numbers go."""
        if self.low is not None or self.high is not None or self.real or self.period is None:
            raise ParameterError("--period is all that describes a circle: it goes from 0 to the period.")
        return Circle(self.period)

    def numbers(self) -> Integers | Interval:
        """The range of a number."""
        return _range(*self._ends(), self.real, self.step)

    def pair(self) -> Pair:
        """A group and a number."""
        if not self.has_categories or not self.has_range:
            raise ParameterError(
                "A group and its value are described by --categories (or --categories-file), and by --low and --high."
            )
        return Pair(self.listed(), self.numbers())

    def columns(self, names: Sequence[str]) -> Domain:
        """The domain of an answer in several columns: a pair, a record or a vector."""
        if self.has_categories and not self.has_range:
            raise ParameterError(
                "Several columns are a group and a number (--categories, and --low and --high), or numbers (--low and"
                " --high): privatize columns of categories one by one; their budgets add up."
            )
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
        if self.radius is not None and self.most is not None:
            raise ParameterError("A vector has a length (--radius) or few entries (--most), not both.")
        has_ranges = self.dimensions is None and self.has_range and "," in "".join(self._ends())
        self._check_step(has_ranges)
        if has_ranges:
            count = max(len(cells(end)) for end in self._ends())
            return Record([(str(place), one) for place, one in enumerate(self._ranges(count), 1)])
        if self.dimensions is None:
            raise ParameterError("A vector needs --dimensions, and --low and --high, --radius, or --most.")
        if self.radius is not None:
            return Ball(self.radius, self.dimensions)
        if self.most is not None:
            return Sparse(self.dimensions, self.most, 1 if self.high is None else self.high)
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
        return [_range(low, high, self.real, step) for low, high, step in zip(lows, highs, steps, strict=True)]


def lines_of(path: str, name: str) -> list[str]:
    """The lines of a file of answers."""
    with reading(path, name) as file, naming(name):
        return file.read().decode("utf-8-sig").splitlines()


def _range(low: str, high: str, real: bool, step: str | None = None) -> Integers | Interval:
    if real or step is not None:
        return Interval(low, high, step)
    return Integers(_whole("low", low), _whole("high", high))


def _whole(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise reject(name, "--low and --high", "a whole number, unless --real or --step is given", text) from None


def question_of(kind: str, allowed: Allowed) -> Question:
    """The question of a kind about the possible answers that the options describe."""
    question = QUESTIONS.get(kind)
    if question is None:
        raise ParameterError(f"The question must be one of {', '.join(QUESTIONS)}.")
    if question is GroupMean:
        return _asked(question, allowed.pair())
    return _asked(question, allowed.vector() if question is VectorMean else allowed.one())


def question_about(domain: Domain, kind: str | None) -> Question:
    """The question to choose a mechanism for: the named one, else shares of categories and means of numbers."""
    if isinstance(domain, Pair):
        possible: list[type[Question]] = [GroupMean]
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


def _asked(question: Any, domain: Any) -> Question:
    asked: Question = GroupMean(domain.group, domain.value) if question is GroupMean else question(domain)
    return asked
