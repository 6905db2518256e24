"""Shares of boxes in a study: ranges of several answers of a person at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, cast

import numpy as np

from sottovoce.core.domain import Domain
from sottovoce.core.params import decimal_text
from sottovoce.core.question import Boxes
from sottovoce.core.round import Estimates
from sottovoce.estimate.boxes.estimates import BoxesEstimate
from sottovoce.estimate.estimate import Estimate
from sottovoce.study.display import box_maps, findings
from sottovoce.study.display.findings import Finding
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.question_tables import QuestionTable
from sottovoce.study.questions.attribute_tables import TABLE, read_attributes
from sottovoce.study.questions.base import Truth
from sottovoce.study.questions.records import StudyRecord
from sottovoce.study.questions.result_lines import ResultLine, estimate_lines
from sottovoce.study.words import local, plain, words

MEASURE = "share of a box"
_BOXES = "Write the boxes that results list, such as boxes = [{ age = [16, 39], income = [0, 20000] }]."
_BUCKETS = "Write into how many parts each range of numbers is divided, such as buckets = 32."


@dataclass(frozen=True, slots=True)
class StudyBoxes(StudyRecord):
    """The shares of named boxes. Every other box can be read from the same reports with `range`."""

    keys: ClassVar[tuple[str, ...]] = (TABLE, "buckets", "boxes")
    adds_over_strata: ClassVar[bool] = False

    @classmethod
    def read(cls, table: QuestionTable) -> Boxes | None:
        record = read_attributes(table, binned=False)
        if record is None:
            return None
        named = table.table.get("boxes")
        if not isinstance(named, list) or not named or not all(isinstance(box, dict) for box in named):
            table.note("boxes" if named else "", "This question needs a list of boxes.", _BOXES)
            return None
        if table.built("buckets", lambda: Boxes(record, table.table.get("buckets")), _BUCKETS) is None:
            return None
        return table.built("boxes", lambda: Boxes(record, table.table.get("buckets"), named), _BOXES)

    @property
    def compared_values(self) -> int:
        """Every box that results list."""
        return len(self.question.boxes)

    def difference_text(self, size: float) -> str:
        return f"{self.asked.margin(size)} in a box (root mean square over all)"

    # --- results ---------------------------------------------------------------------------------
    def estimate_lines(self, estimate: Estimate, level: float, measure: str) -> Iterator[ResultLine]:
        boxes = cast(BoxesEstimate, estimate)
        for box, label in zip(self.question.boxes, self._labels("en"), strict=True):
            share = boxes.range({name: (low, high) for name, low, high in box})
            (line,) = estimate_lines(share, level, MEASURE)
            yield ResultLine(MEASURE, label, line.value, line.std_error, line.low, line.high)

    def truth(self, column: Sequence[Any], estimates: Estimates) -> Truth:
        known: Truth = {}
        for box, label in zip(self.question.boxes, self._labels("en"), strict=True):
            inside = np.ones(len(column), bool)
            for name, low, high in box:
                first, *places, last = _places(self._fields[name], [low, *(one[name] for one in column), high])
                inside &= (first <= np.array(places)) & (np.array(places) <= last)
            known[MEASURE, label] = float(inside.mean())
        return known

    def doubt(self, estimate: Estimate, level: float) -> str | None:
        boxes = cast(BoxesEstimate, estimate)
        shares = (boxes.range({name: (low, high) for name, low, high in box}) for box in self.question.boxes)
        return next((said for share in shares if (said := share.doubt(level))), None)

    # --- words and pictures ----------------------------------------------------------------------
    def _labels(self, language: str) -> list[str]:
        """The boxes in words, such as "age 16 to 39, sex f"."""
        return [", ".join(self._side(language, *side) for side in box) for box in self.question.boxes]

    def _side(self, language: str, name: str, low: Any, high: Any) -> str:
        listed = self._fields[name].choices is not None
        first, last = (
            self.asked.label(end, language) if listed else local(decimal_text(Decimal(end)), language)
            for end in (low, high)
        )
        said = first if first == last else plain(words(language)["script"]["from_to"], low=first, high=last)
        return f"{name} {said}"

    def row_label(self, line: ResultLine, language: str) -> str:
        return dict(zip(self._labels("en"), self._labels(language), strict=True))[line.label]

    def unit_of(self, measure: str) -> str:
        return ""

    def measured(self, shown: ShownResult) -> str:
        return str(shown.words["share_of_all"])

    def finding(self, shown: ShownResult) -> Finding:
        """The largest of the boxes."""
        line = max(shown.main, key=lambda one: one.value)
        return findings.plain(f"The share of answers in the box {line.label} is", shown.scale, line)

    def picture(self, shown: ShownResult) -> str:
        """Dots with intervals for the boxes; of two fields also a map of coarse parts."""
        return shown.dots() + box_maps.picture(shown)


def _places(field: Domain, values: Sequence[Any]) -> list[float]:
    """Values as numbers that compare as they do: categories by their place in the list."""
    return [float(field.encode(value) if field.choices is not None else value) for value in values]
