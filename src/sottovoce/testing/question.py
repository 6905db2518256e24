"""One contract for every question that a study can ask: each place that must know its kind does.

`check_question` raises `AssertionError` with one sentence, which names the first place that is missing and its file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from inspect import getattr_static
from typing import Any, TypeVar

import numpy as np

from sottovoce.core.asked import Asked
from sottovoce.core.errors import ParameterError, SottovoceError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import QUESTIONS, Question, question_from_spec
from sottovoce.core.round import Arm, Round
from sottovoce.protocols.simulate import simulate
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.dossier.consent import consent_page
from sottovoce.study.dossier.sentences import LANGUAGES, sentences
from sottovoce.study.export import codebook, codebook_text, publication
from sottovoce.study.goals import read_goals
from sottovoce.study.plan import Plan, plan
from sottovoce.study.population import ExpectedAnswers, ExpectedAttribute, NumberLaw
from sottovoce.study.questions import study_class, study_question
from sottovoce.study.questions.base import StudyQuestion
from sottovoce.study.questions.result_lines import ResultLine
from sottovoce.study.results import QuestionResult, StudyResults
from sottovoce.study.study import Study
from sottovoce.testing.codes import require

NAME, UNIT, REASON = "asked", "units", "refused"
EPSILON, PARTICIPANTS, LEVEL = 4, 4000, 0.95
SOME_WORDS = 4  # of an open domain
NEARLY = 1.02  # predicted errors that are read from rounded counts do not fall with each step of epsilon
SURE = 1 - 1e-6  # the level of intervals that hold the truth of a simulation
FIELDS = ("choice", "rated", "number", "pair", "rank", "record", "several", "text")  # of the participant's page
LISTING = ("choice", "rated", "pair", "rank", "several")  # those that list choices
Value = TypeVar("Value")


def check_question(question: Question, *, methods: Sequence[str] | None = None, seed: int = 1) -> None:
    """All places of a question. `methods` limits plans to some methods, where others take long to build."""
    _Contract(question, methods, seed).check()


@dataclass(frozen=True, slots=True)
class _Contract:
    question: Question
    methods: Sequence[str] | None
    seed: int

    def check(self) -> None:
        """All places, in the order in which a question meets them."""
        self._kind()
        own = study_question(self._asked())
        self._reasons()
        expected = self._population(own)
        planned = self._plan(own, expected)
        self._inverse_plan(own, expected, planned)
        self._goal(own)
        column = self._columns(own, expected)
        result, lines = self._results(own, planned, column)
        self._truth(own, column, result)
        self._chart(own, result, lines)
        self._card(own, lines)
        self._field(own)
        self._export(own, result, lines)
        self._consent(own, planned)
        if self.question.takes_reasons:
            self._results_with_reasons(expected)

    def _results_with_reasons(self, expected: ExpectedAnswers) -> None:
        """With a reason for giving no answer, plan, results and truth are those of all who answered."""
        own = study_question(self._asked((REASON,)))
        silent = replace(expected, missing=(0.2,))
        full, place = own.asked.full_question, "results with reasons for giving no answer"
        prior = self._try(place, "`prior` for a planner", lambda: own.prior(silent))
        methods = self.methods if full.room == self.question.room or full.room == "within_groups" else None
        planned = plan(full, prior=prior, methods=methods, epsilon=EPSILON, participants=PARTICIPANTS)
        self._require(0 < own.half_width(planned, LEVEL) < math.inf, place, "a positive error in `half_width`")
        column = self._columns(own, silent)
        result, lines = self._results(own, planned, column)
        shares = [
            line for line in lines if line.label in (REASON, *(f"{name}: {REASON}" for name in own.asked.attributes))
        ]
        self._require(shares and shares[0].is_share, place, "a line for the share of each reason")
        self._truth(own, column, result)

    # --- what the messages say -------------------------------------------------------------------
    @property
    def _file(self) -> str:
        return f"study/questions/{self.question.kind.replace('-', '_')}.py"

    def _require(self, holds: object, place: str, what: str, file: str = "") -> None:
        require(bool(holds), f"{self.question.kind}: {place} is missing or wrong in {file or self._file}: {what}.")

    def _try(self, place: str, what: str, build: Callable[[], Value], file: str = "") -> Value:
        """Build a part; a failure names the place."""
        try:
            return build()
        except (
            SottovoceError,
            ImportError,
            AttributeError,
            LookupError,
            TypeError,
            ValueError,
            NotImplementedError,
        ) as problem:
            raise AssertionError(
                f"{self.question.kind}: {place} is missing or wrong in {file or self._file}: {what} ({problem})."
            ) from problem

    # --- places ----------------------------------------------------------------------------------
    def _kind(self) -> None:
        question = self.question
        table = "core/question/__init__.py"
        self._require(question.kind in QUESTIONS, "the kind", "a line in QUESTIONS loads its class", table)
        again = self._try(
            "the kind", "its specification can be read", lambda: question_from_spec(question.spec()), table
        )
        self._require(again == question, "the kind", "its specification gives the question back", table)
        own = study_class(type(question))
        self._require(own is not StudyQuestion, "the side in a study", f"a class Study{type(question).__name__}")
        self._require(
            own.keys and getattr_static(own, "read") is not getattr_static(StudyQuestion, "read"),
            "the table of a study file",
            "`keys` and `read`",
        )

    def _asked(self, missing: tuple[str, ...] = ()) -> Asked:
        return Asked(NAME, self.question, (("en", "What is the answer?"),), missing=missing, unit=UNIT)

    def _reasons(self) -> None:
        """Reasons for giving no answer are refused, or answers of the domain like any other."""
        file = f"core/question/{self.question.kind.replace('-', '_')}.py"
        what = "`with_reasons` and `answer` for reasons for giving no answer"
        if not self.question.takes_reasons:
            try:
                self._asked((REASON,))
            except ParameterError as problem:
                self._require(problem.parameter == "missing", "the refusal of reasons", "it names `missing`", file)
                return
        asked = self._try("reasons for giving no answer", what, lambda: self._asked((REASON,)), file)
        encode = asked.full_question.domain.encode
        self._try("reasons for giving no answer", what, lambda: encode(asked.answer(REASON)), file)

    def _population(self, own: StudyQuestion) -> ExpectedAnswers:
        """Numbers around the middle of their range, or equally common categories."""
        domain: Any = own.number_domain
        if own.asked.attributes:
            fields = self.question.domain.fields
            even = [ExpectedAttribute.of(name, rows=[[1 / (one.size or 1)] * (one.size or 1)]) for name, one in fields]
            expected = ExpectedAnswers.of(attributes=even)
        elif domain is None:
            count = SOME_WORDS if self.question.choices.is_open else self.question.choices.size or 1
            expected = ExpectedAnswers.of(shares=[1 / count] * count)
        else:
            low, high = float(domain.low), float(domain.high)
            expected = ExpectedAnswers.of(laws=[NumberLaw.of("normal", mean=(low + high) / 2, sd=(high - low) / 6)])
        self._try("the population", "`number_domain` and `check_population`", lambda: own.check_population(expected))
        return expected

    def _plan(self, own: StudyQuestion, expected: ExpectedAnswers) -> Plan:
        file, what = f"study/planners/{self.question.room}.py", "options with their errors"
        prior = self._try("the population", "`prior` for a planner", lambda: own.prior(expected))
        planned = self._try(
            "the plan", what, lambda: self._planned(prior, epsilon=EPSILON, participants=PARTICIPANTS), file
        )
        self._require(0 < own.half_width(planned, LEVEL) < math.inf, "the plan", "a positive error", file)
        self._require(planned.subject and planned.measure, "the plan", "words for what is estimated", file)
        return planned

    def _planned(self, prior: Any, **two: Any) -> Plan:
        return plan(self.question, prior=prior, methods=self.methods, **two)

    def _inverse_plan(self, own: StudyQuestion, expected: ExpectedAnswers, planned: Plan) -> None:
        """The participants, or the epsilon, for the error of the plan are at most those of the plan."""
        file, prior = f"study/planners/{self.question.room}.py", own.prior(expected)
        goal = Decimal(repr(planned.best.std_error))
        fewest = self._try(
            *("the inverse plan", "the participants that meet a goal"),
            *(lambda: self._planned(prior, epsilon=EPSILON, std_error=goal).participants, file),
        )
        least = self._try(
            *("the inverse plan", "the epsilon that meets a goal"),
            *(lambda: self._planned(prior, participants=PARTICIPANTS, std_error=goal).epsilon, file),
        )
        self._require(
            *(1 <= fewest <= NEARLY * PARTICIPANTS and 0 < least <= NEARLY * EPSILON, "the inverse plan"),
            *("it needs no more than the plan it inverts", file),
        )

    def _goal(self, own: StudyQuestion) -> None:
        """Points are for shares, and everything else has a unit."""
        question, file = self.question, f"core/question/{self.question.kind.replace('-', '_')}.py"
        named_share = question.noun.split()[0] == "share"
        self._require(question.is_share == named_share, "the goal", "`is_share` for a noun that is a share", file)
        self._require(question.is_share != bool(question.unit_power), "the goal", "`unit_power` of its numbers", file)
        plain = read_goals(lambda name: own.asked, [f"{NAME} +- 0.5"])
        self._require(plain[0].half_width == Decimal("0.5"), "the goal", "`goal` of a number")
        margin = own.asked.margin(0.02)
        self._require(("points" in margin) == question.is_share, "the goal", "its margin in words", file)
        try:
            points = read_goals(lambda name: own.asked, [f"{NAME} +- 2 points"])
        except ParameterError as problem:
            self._require(not question.is_share, "the goal", "`goal` in points, since it is a share")
            self._require(question.noun in str(problem), "the goal", "a refusal of points that says its noun")
        else:
            self._require(question.is_share, "the goal", f"points are refused for a {question.noun}")
            self._require(points[0].half_width == Decimal("0.02"), "the goal", "points are hundredths")

    def _columns(self, own: StudyQuestion, expected: ExpectedAnswers) -> list[Any]:
        """Drawn answers, through the columns of a file, are answers of the domain."""
        generator = np.random.default_rng(self.seed)
        drawn = self._try("the columns", "`draw`", lambda: own.draw(expected, PARTICIPANTS, generator))
        self._require([*drawn] == own.columns, "the columns", "`columns` of a file of answers")
        raw = self._try(
            "the columns", "`raw_answers`", lambda: own.raw_answers(lambda name: drawn[name], lambda _: False)
        )
        column = [own.asked.answer(value) for value in raw]
        encode = own.asked.full_question.domain.encode
        self._try("the columns", "values of the domain", lambda: [encode(one) for one in column])
        return column

    def _results(self, own: StudyQuestion, planned: Plan, column: list[Any]) -> tuple[QuestionResult, list[ResultLine]]:
        procedure = planned.best.procedure
        if isinstance(procedure, Mechanism):
            tally = procedure.tally(procedure.privatize(column, seed=self.seed))
            estimates: Any = {NAME: procedure.estimate(tally)}
        else:
            estimates = simulate(procedure, column, seed=self.seed, closing=True)
        answered = self._try("the result line", "`answered`", lambda: own.answered(estimates))
        result = QuestionResult(own.asked, answered)
        lines = self._try("the result line", "`lines`", lambda: list(result.lines(LEVEL)))
        nouns = {line.measure for line in lines}
        self._require(lines and self.question.noun in nouns, "the result line", f"a {self.question.noun} in `lines`")
        # A further measure, such as Cramer's V, may be unknown where reports are few; its interval says so.
        known = all(math.isfinite(line.value) for line in lines if line.measure == self.question.noun)
        finite = known and all(line.low <= line.high for line in lines)
        self._require(finite, "the result line", "finite numbers with intervals")
        return result, lines

    def _truth(self, own: StudyQuestion, column: list[Any], result: QuestionResult) -> None:
        """Every line has a truth, which a very wide interval holds."""
        truth = self._try("the truth", "`truth`", lambda: own.full_truth(column, result.estimates))
        for line in result.lines(SURE):
            true = truth.get((line.measure, line.label))
            said = f"`truth` of the line '{f'{line.measure} {line.label}'.strip()}'"
            self._require(true is not None, "the truth", said)
            near = true if own.period is None else line.low + (float(true or 0) - line.low) % own.period
            inside = line.low - 1e-9 <= float(near or 0) <= line.high + 1e-9
            self._require(inside, "the truth", f"{said} lies outside an interval that nearly surely holds it")

    def _chart(self, own: StudyQuestion, result: QuestionResult, lines: Sequence[ResultLine]) -> None:
        chart = self._try("the chart", "`chart`", lambda: own.chart(result.estimates, LEVEL))
        self._require(chart.startswith("<svg") and NAME in chart, "the chart", "`chart` as SVG with a title")
        self._require((" %</text>" in chart) == lines[0].is_share, "the chart", "percent for shares, and only for them")

    def _card(self, own: StudyQuestion, lines: Sequence[ResultLine]) -> None:
        for line in lines:
            said = own.said_of(line)
            self._require(line.measure in said and line.label in said, "the dashboard card", "`said_of` a line")
            has_unit = not line.is_share and bool(own.unit_of(line.measure))
            self._require(not has_unit or UNIT in said, "the dashboard card", "the unit of a number in `said_of`")

    def _field(self, own: StudyQuestion) -> None:
        field = self._try("the field of the participant's page", "`field`", lambda: own.field("en"))
        kind, number = field.get("kind"), own.number_domain
        place = "the field of the participant's page"
        self._require(kind in FIELDS, place, f"`field` of a kind among {', '.join(FIELDS)}")
        self._require(kind != "text" or (number is None and not own.labels("en")), place, "`field` with its choices")
        ranged = kind in ("rated", "number") or (kind == "pair" and number is not None)
        self._require(not ranged or {"low", "high", "step"} <= {*field}, place, "`field` with the range of its number")
        self._require(kind not in LISTING or field.get("choices"), place, "`field` with its choices")
        parts = field.get("fields", {})
        self._require([*parts] == [*own.asked.attributes], place, "`field` with one part for each attribute")
        for part in parts.values():
            ready = part.get("choices") if part.get("kind") == "choice" else {"low", "high", "step"} <= {*part}
            self._require(ready and part.get("text"), place, "`field` with the text and the answers of each attribute")

    def _export(self, own: StudyQuestion, result: QuestionResult, lines: Sequence[ResultLine]) -> None:
        study = self._study(own)
        results = StudyResults(study, (result,), PARTICIPANTS, LEVEL)
        frame = self._try("the export", "rows of the table", results.to_frame, "study/results.py")
        measures = {*frame["measure"]} if len(frame) == len(lines) else set()
        self._require(self.question.noun in measures, "the export", "a row for each line", "study/results.py")
        book = self._try("the export", "the codebook", lambda: codebook(results), "study/export.py")
        told = f"{book['questions'][NAME]['kind']}{codebook_text(results)}"
        self._require(told.count(self.question.kind) > 1, "the export", "its kind in the codebook", "study/export.py")
        said = self._try("the export", "the tables for a paper", lambda: publication(results), "study/export.py")
        crossed = own.cross_tables(ShownResult(result, LEVEL))
        self._require(bool(crossed) == hasattr(self.question, "tables"), "the export", "`cross_tables` of its tables")
        self._require(all(one.title in said for one in crossed), "the export", "its cross tables", "study/export.py")
        asked = {*book["questions"][NAME].get("attributes", {})}
        self._require(
            asked == {*own.asked.attributes}, "the export", "its attributes in the codebook", "study/export.py"
        )
        listed = re.search(r"^\| [^|\n]+ \| [^|\n]*\d[^|\n]* \|", said, re.MULTILINE)
        self._require(listed, "the export", "its numbers in the tables", "study/export.py")

    def _study(self, own: StudyQuestion) -> Study:
        return Study(
            "contract",
            epsilon=EPSILON,
            unit="person",
            owner="An institute",
            contact="dpo@example.org",
            purpose="A check of a contract.",
            questions=[own.asked],
        )

    def _consent(self, own: StudyQuestion, planned: Plan) -> None:
        """The dossier's page of consent says the possible answers in every language."""
        procedure = planned.best.procedure
        stage = Round((Arm(NAME, procedure),)) if isinstance(procedure, Mechanism) else procedure.start()
        arms = tuple(Arm(NAME, arm.mechanism, arm.weight) for arm in stage.arms[:1])
        manifest = Manifest(self._study(own).facts, (own.asked,), Round(arms))
        domain: Any = own.number_domain
        chosen = own.labels("en") if own.field("en")["kind"] in (*LISTING, "record") else []
        told = [*chosen, *([] if domain is None else [f"{float(domain.high):g}"]), *own.asked.attributes]
        place = "the words of the dossier"
        for language in LANGUAGES:
            words = own.possible_answers(language, sentences(language))
            self._require(words and all(one in words for one in told), place, "`possible_answers`")
            self._require(words in consent_page(manifest, language), place, "the page of consent")
