"""An experiment in the plan of a study: people in each arm, one branch for each arm, and what it can see."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sottovoce.core.asked import Asked
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.round import Protocol
from sottovoce.estimate.evidence import deviate
from sottovoce.protocols.ask import AskEveryone
from sottovoce.protocols.nested.parallel import Branch, Parallel
from sottovoce.study.detect import POWER
from sottovoce.study.experiments.arms import StudyExperiment
from sottovoce.study.power.watched import LOOKS, WatchedLaw, bets_of
from sottovoce.study.questions import study_question

if TYPE_CHECKING:
    from sottovoce.study.plan import Plan
    from sottovoce.study.study import Study
    from sottovoce.study.study_plan import PlannedQuestion, StudyPlan


def in_smallest(study: Study, n: int) -> int:
    """How many of n participants plans are made for: those of the smallest arm, or of one wave of a repeated study."""
    if study.repeat is not None:
        return max(1, n // study.repeat.window)
    return n if study.experiment is None else max(1, int(n * study.experiment.smallest))


def in_all(study: Study, n: int) -> int:
    """How many participants there are if n are in the smallest arm, or in one wave."""
    if study.repeat is not None:
        return n * study.repeat.window
    return n if study.experiment is None else math.ceil(n / study.experiment.smallest)


def asked_in_arms(procedure: Mechanism | Protocol, name: str, experiment: StudyExperiment | None) -> Protocol:
    """How a question is asked; in an experiment, once for each arm, so that tallies of arms are never added."""
    if experiment is None:
        return AskEveryone(procedure, name) if isinstance(procedure, Mechanism) else procedure
    arms = (Branch(arm.name, asked_in_arms(procedure, arm.name, None), arm.share) for arm in experiment.arms)
    return Parallel(tuple(arms))


def people_in_arms(plan: StudyPlan) -> dict[str, int]:
    """How many participants each arm of the experiment has."""
    experiment = plan.study.experiment
    arms = () if experiment is None else experiment.arms
    return {arm.name: round(plan.participants * experiment.part(arm)) for arm in arms if experiment is not None}


def experiment_texts(plan: StudyPlan) -> list[str]:
    """How many participants each arm of the experiment has, and which differences each question sees."""
    experiment = plan.study.experiment
    if experiment is None:
        return []
    counts = ", ".join(f"{arm} {count:,}" for arm, count in people_in_arms(plan).items())
    said = [f"Experiment: {counts} participants. Margins are those of the smallest arm."]
    for one in plan.questions:
        name, smallest = one.asked.name, one.smallest_difference
        if smallest is None:
            said.append(f"{name}: the plan does not give the error of the differences between arms.")
            continue
        half = experiment.power_of_half(one.asked, plan.level)
        size = study_question(one.asked).difference_text
        watched = watched_difference(plan, one)
        said.append(
            f"{name}: a difference of {size(smallest)} from the arm {experiment.baseline.name} is seen"
            f" with probability {100 * POWER:g} %, half of it with {100 * half:.0f} %."
        )
        if watched is not None:
            said.append(
                f"{name}: if you look up to {LOOKS} times and stop early (e-value), the difference must be"
                f" {size(watched)} for the same probability."
            )
    return said


def smallest_seen(
    experiment: StudyExperiment | None, asked: Asked, plan: Plan, prior: Any, level: float
) -> float | None:
    """The smallest difference between arms that is seen with power 0.8, by a plan of the smallest arm."""
    if experiment is None:
        return None
    width = study_question(asked).compared_width(plan, prior, level)
    return None if width is None else experiment.smallest_difference(asked, width, level)


def watched_difference(plan: StudyPlan, one: PlannedQuestion) -> float | None:
    """The smallest difference that an e-value sees with power 0.8, for the worst arm; None where there is none."""
    experiment, procedure = plan.study.experiment, one.procedure
    if experiment is None or not isinstance(procedure, Mechanism) or not study_question(one.asked).compares_margins:
        return None
    level, sides = experiment.test_level(one.asked, plan.level), bets_of(procedure)
    if level is None or sides is None:
        return None
    deviation = one.half_width / deviate(plan.level) * math.sqrt(plan.participants * experiment.smallest)
    seen = []
    for arm in experiment.arms[1:]:
        share = experiment.part(arm) + experiment.part(experiment.baseline)
        people = round(plan.participants * share)
        law = WatchedLaw(sides, deviation, float(experiment.part(arm) / share), 1 - level)
        seen.append(law.score_for(POWER, people) * float(law.error(people)))
    return max(seen)
