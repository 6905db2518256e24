"""Cross tables in a study: the cells of all tables, shares within groups, ratios and associations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from sottovoce.core.domain import Record
from sottovoce.core.errors import ParameterError
from sottovoce.core.question import Joint
from sottovoce.core.round import Estimates
from sottovoce.estimate.comparison.multiple import adjust
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Floats, deviate
from sottovoce.estimate.joint.association import ODDS, RISK, Association, all_ratios, cramers_v
from sottovoce.estimate.joint.estimates import JointEstimate, TableEstimate
from sottovoce.estimate.joint.table import TableEvidence
from sottovoce.study.detect import POWER
from sottovoce.study.display import cross_tables
from sottovoce.study.display.cross_tables import ANSWER, CRAMER, WITHIN, CrossTable
from sottovoce.study.display.findings import Finding
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.plan import Plan
from sottovoce.study.power.tables import smallest_v
from sottovoce.study.question_tables import QuestionTable
from sottovoce.study.questions.attribute_tables import TABLE, read_attributes
from sottovoce.study.questions.base import StudyQuestion, Truth, first_estimate
from sottovoce.study.questions.records import StudyRecord
from sottovoce.study.questions.result_lines import ResultLine, estimate_lines, level_of_each

MOST_COMPARED = 100  # cells of a table of two attributes whose ratios are listed
MOST_BOUNDED = 400  # cells of a table for which is said what missing answers could hide
_NAMES = 'Write tables = [["age", "smoker"]], with names of attributes, or ways = 2 for all tables of two.'


@dataclass(frozen=True, slots=True)
class StudyJoint(StudyRecord):
    """The cells of cross tables."""

    keys: ClassVar[tuple[str, ...]] = (TABLE, "ways", "tables")
    word: ClassVar[str] = "table"

    @classmethod
    def read(cls, table: QuestionTable) -> Joint | None:
        record = read_attributes(table)
        if record is None:
            return None
        if "tables" not in table.table:
            return table.built("ways", lambda: _of_ways(record, table.table.get("ways", 2)), "Write ways = 2 or 3.")
        if "ways" in table.table:
            table.note("ways", "The tables are named already.", "Leave out ways, or tables.")
            return None
        named = table.table["tables"]
        if not isinstance(named, list) or not all(isinstance(one, list) and len(one) > 1 for one in named):
            table.note("tables", "The tables are not lists of two or more attributes.", _NAMES)
            return None
        return table.built("tables", lambda: Joint(record, tables=named), _NAMES)

    @property
    def compared_values(self) -> int:
        """Every cell of every table."""
        return sum(math.prod(self._full.sizes[name] for name in names) for names in self._full.tables)

    def difference_text(self, size: float) -> str:
        return f"{self.asked.margin(size)} in a cell (root mean square over all)"

    def smallest_effect(self, plan: Plan, level: float) -> str:
        count, pairs = plan.participants, self._full.pairs
        size = smallest_v(plan.best.procedure, POWER, 1 - (1 - level) / len(pairs), count)
        if size > 1:
            return f"{self.asked.name}: {count:,} people are too few to see that two attributes depend on each other."
        tested = f", with all {len(pairs)} pairs tested together" if len(pairs) > 1 else ""
        return (
            f"{self.asked.name}: two attributes with a Cramer's V of {size:.2g} are seen to depend on each other with"
            f" probability {100 * POWER:g} %{tested}."
        )

    @property
    def _full(self) -> Joint:
        return cast(Joint, self.asked.full_question)

    # --- the truth -------------------------------------------------------------------------------
    def truth(self, column: Sequence[Any], estimates: Estimates) -> Truth:
        full, fields = self._full, dict(self._full.domain.fields)
        codes = {name: np.array([domain.encode(one[name]) for one in column]) for name, domain in fields.items()}
        labels = {name: [str(one) for one in domain.labels()] for name, domain in fields.items()}

        def table(names: Sequence[str]) -> Floats:
            shape = [len(labels[name]) for name in names]
            cells = np.ravel_multi_index(tuple(codes[name] for name in names), shape)
            return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape) / len(column)

        known: Truth = {}
        for names in full.tables:
            for place, share in np.ndenumerate(table(names)):
                cell = ", ".join(labels[name][code] for name, code in zip(names, place, strict=True))
                known[full.noun, f"{' x '.join(names)}: {cell}"] = float(share)
        for name in full.sizes:
            known |= {
                (ANSWER, f"{name}: {label}"): float(share)
                for label, share in zip(labels[name], table([name]), strict=True)
            }
        estimate = cast(JointEstimate | None, first_estimate(estimates))
        for pair in self._full.pairs:
            rare = () if estimate is None else self._association(estimate, pair, 0.95).left_out
            known |= cross_tables.true_measures(pair, labels, table(pair), self.asked.missing, rare)
        return known

    # --- results ---------------------------------------------------------------------------------
    def estimate_lines(self, estimate: Estimate, level: float, measure: str) -> Iterator[ResultLine]:
        joint = cast(JointEstimate, estimate)
        yield from self._cells(joint, level)
        for name in self._full.sizes:
            for line in estimate_lines(joint.table(name), level, ANSWER):
                yield replace(line, label=f"{name}: {line.label}")
        for pair in self._full.pairs:
            first, second = pair
            within = joint.table(*pair).shares_within(first)
            labels = cast(Sequence[tuple[object, object]], within.labels)
            for line, (group, answer) in zip(estimate_lines(within, level, WITHIN), labels, strict=True):
                if group not in self.asked.missing:
                    yield replace(line, label=f"{second} {answer} among {first} {group}")
        for pair in self._full.pairs:
            yield from self._ratios(joint, pair, level)
        yield from self.associations(joint, level)

    def _cells(self, joint: JointEstimate, level: float) -> Iterator[ResultLine]:
        """The cells; with reasons, also what a cell could be if all had answered."""
        lines = estimate_lines(joint, level)
        if not self.asked.missing:
            yield from lines
            return
        apart, place = level_of_each(level, 2), 0
        for names in self._full.tables:
            table = joint.table(*names)
            count = len(table.values)
            own = lines[place : place + count]
            place += count
            if count > MOST_BOUNDED:
                yield from own
                continue
            lows = np.clip(table.quiet_ci(apart)[0], 0, 1)
            highs = self._largest(table, apart)
            yield from (
                replace(line, could_be=(float(low), float(high)))
                for line, low, high in zip(own, lows, highs, strict=True)
            )

    def _largest(self, table: TableEstimate, level: float) -> Floats:
        """The upper ends of cells if all who gave a reason were in them, as far as their other answers allow."""
        cells = list(zip(*table.axes.columns(), strict=True))
        reasons = {*self.asked.missing}
        rows = np.array(
            [[all(b in (a, *reasons) for a, b in zip(cell, other, strict=True)) for other in cells] for cell in cells],
            float,
        )
        sums = table.evidence.functional(rows)
        return np.clip(sums.values + deviate(level) * sums.errors, 0, 1)

    def _ratios(self, joint: JointEstimate, pair: tuple[str, ...], level: float) -> list[ResultLine]:
        """Relative risks and odds ratios of two attributes with few answers."""
        table = joint.table(*pair)
        if len(table.values) > MOST_COMPARED:
            return []
        return [
            ResultLine(one.measure, one.about, one.value, math.nan, one.low, one.high)
            for one in all_ratios(cast(TableEvidence, table.evidence), level, self.asked.missing)
        ]

    def associations(self, joint: JointEstimate, level: float) -> Iterator[ResultLine]:
        """Cramer's V of every two attributes, among those who answered both; p-values are adjusted for all pairs."""
        associations = [self._association(joint, pair, level) for pair in self._full.pairs]
        p_values = adjust(np.array([one.p_value for one in associations]), "holm")
        for pair, one, p_value in zip(self._full.pairs, associations, p_values.tolist(), strict=True):
            label = " x ".join(pair)
            interval = (one.value, math.nan, one.low, one.high)
            yield ResultLine(CRAMER, label, *interval, p_value=p_value, left_out=one.left_out)

    def _association(self, joint: JointEstimate, pair: tuple[str, ...], level: float) -> Association:
        return cramers_v(cast(TableEvidence, joint.table(*pair).evidence), level, self.asked.missing)

    # --- words and pictures ----------------------------------------------------------------------
    def said_of(self, line: ResultLine) -> str:
        return f"{line.measure} {line.label}"

    def unit_of(self, measure: str) -> str:
        return ""

    def measured(self, shown: ShownResult) -> str:
        return str(shown.words["share_of_all"])

    def finding(self, shown: ShownResult) -> Finding:
        """The two attributes that surely go together, and the largest relative risk between their answers."""
        joint = cast(JointEstimate, shown.estimate)
        compared = sum(line.measure == RISK for line in shown.lines)
        level = level_of_each(shown.level, max(1, compared))

        def risks(pair: tuple[str, ...]) -> list[ResultLine]:
            return [line for line in self._ratios(joint, pair, level) if line.measure == RISK]

        return cross_tables.finding(shown, self._full, self._full.pairs, risks)

    def draws_curve(self, shown: ShownResult) -> bool:
        return True  # tables need the whole width

    def picture(self, shown: ShownResult) -> str:
        """Heat maps with intervals."""
        return cross_tables.picture(self.cross_tables(shown), shown)

    def beside(self, shown: ShownResult) -> str:
        return cross_tables.associations_table(self.cross_tables(shown), shown)

    def published(self, shown: ShownResult) -> Iterator[tuple[str, ResultLine, Any]]:
        """Numbers beside the cross tables, which documents print as tables."""
        cells = self.question.noun
        yield from (row for row in StudyQuestion.published(self, shown) if row[1].measure not in (cells, ODDS))

    def cross_tables(self, shown: ShownResult) -> list[CrossTable]:
        return cross_tables.tables_of(shown, self._full)


def _of_ways(record: Record, ways: Any) -> Joint:
    if ways == 1:
        raise ParameterError("A table has two or more ways; ask for shares of one attribute as a frequency.")
    return Joint(record, ways)
