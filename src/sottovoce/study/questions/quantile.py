"""Quantiles in a study."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.question import Quantile
from sottovoce.core.round import Estimates
from sottovoce.study.question_tables import RANGE, QuestionTable
from sottovoce.study.questions.base import StudyQuestion, Truth


@dataclass(frozen=True, slots=True)
class StudyQuantile(StudyQuestion):
    """Quantiles of a number."""

    keys: ClassVar[tuple[str, ...]] = ("quantiles", *RANGE)
    shares_report: ClassVar[bool] = True

    @classmethod
    def read(cls, table: QuestionTable) -> Quantile | None:
        domain = table.numbers()
        if domain is None:
            return None
        remedy = "Write shares between 0 and 1, such as quantiles = [0.25, 0.5, 0.75]."
        return table.built("quantiles", lambda: Quantile(domain, table.table.get("quantiles", ())), remedy)

    def truth(self, column: Sequence[Any], estimates: Estimates) -> Truth:
        ranked = np.sort([float(value) for value in column])
        shares = [float(share) for share in self.question.shares]
        places = [max(0, math.ceil(share * len(ranked)) - 1) for share in shares]
        return {
            (Quantile.noun, f"{share:g}"): float(ranked[place]) for share, place in zip(shares, places, strict=True)
        }
