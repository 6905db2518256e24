"""The smallest effects that a planned study sees, in words: in one sample, and between the arms of an experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.study.experiments.planned import experiment_texts
from sottovoce.study.questions import study_question

if TYPE_CHECKING:
    from sottovoce.study.study_plan import StudyPlan


def effect_texts(plan: StudyPlan) -> list[str]:
    """A sentence for each effect."""
    own = [study_question(one.asked).smallest_effect(one.plan, plan.level) for one in plan.questions]
    return [*filter(None, own), *experiment_texts(plan)]
