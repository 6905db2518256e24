"""What a report tells an observer, from the actual channel and a stated belief: guesses, leakage, re-identification.

Epsilon bounds the worst case over all beliefs; these numbers are exact for one. Vulnerability is the probability that
the observer's best guess is right; leakage is its growth (quantitative information flow).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel.facets import outputs_of
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.frequency.laws import output_law

Floats = NDArray[np.float64]
MOST_CELLS = 1 << 22  # of a channel's law
MOST_MASKS = 1 << 14  # of one whose reports are sets


@dataclass(frozen=True, slots=True)
class Leakage:
    """What one report tells about one answer.

    Attributes:
        blind: how often the best guess without the report is right: the probability of the likeliest answer.
        guess: how often the best guess with the report is right.
        bits: min-entropy leakage, the logarithm to base 2 of guess / blind.
        capacity_bits: the largest leakage for any belief, which a uniform one attains.
        bound: the guess that epsilon alone would allow for this belief.
    """

    blind: float
    guess: float
    bits: float
    capacity_bits: float
    bound: float

    def text(self) -> str:
        """The leakage in plain sentences."""
        return (
            f"Without the report the best guess is right {100 * self.blind:.1f} % of the time, with it"
            f" {100 * self.guess:.1f} % (epsilon alone would allow {100 * self.bound:.1f} %). A report tells"
            f" {self.bits:.2f} bits, and at most {self.capacity_bits:.2f} for any belief, of"
            f" {-math.log2(self.blind):.2f}."
        )


def law_of(mechanism: Mechanism) -> Floats:
    """The law of reports, one row for each answer, if it can be written down."""
    channel = mechanism.channel
    outputs = outputs_of(channel)
    if outputs is not None and not channel.publics and outputs * channel.inputs <= MOST_CELLS:
        return output_law(channel)
    if channel.publics or not channel.codes_are_indices or channel.inputs * (1 << channel.payload_bits) > MOST_MASKS:
        raise ParameterError(f"The reports of {mechanism.name} are too many to write their law down.")
    reports = [report for report in range(1 << channel.payload_bits) if channel.contains(report)]
    return np.array([[float(channel.likelihood(one, code)) for one in reports] for code in channel.codes()])


def leakage(mechanism: Mechanism, belief: Sequence[float] | None = None) -> Leakage:
    """What a report tells an observer whose belief is given; by default all answers are equally likely."""
    law = law_of(mechanism)
    try:
        prior = np.full(len(law), 1 / len(law)) if belief is None else np.asarray(belief, float)
    except (TypeError, ValueError):
        prior = np.empty(0)
    if prior.shape != (len(law),) or not (prior >= 0).all() or abs(prior.sum() - 1) > 1e-9:
        raise ParameterError(f"A belief has one probability for each of the {len(law)} answers; they sum to 1.")
    blind = float(prior.max())
    guess = float((prior[:, None] * law).max(axis=0).sum())
    odds = math.exp(mechanism.epsilon)
    # The likeliest answer may become e**epsilon times as likely against all others.
    bound = max(float(p * odds / (p * odds + 1 - p)) for p in prior)
    capacity = math.log2(float(law.max(axis=0).sum()))
    return Leakage(blind, guess, max(0.0, math.log2(guess / blind)), capacity, bound)


@dataclass(frozen=True, slots=True)
class Reidentification:
    """An attack on people who answer several questions, each with its own noise.

    The observer holds a table of everyone's true answers and wants to know whose reports these are.
    """

    people: int
    right: float  # how often the likeliest person is the right one, ties broken at random
    blind: float  # 1 / people
    epsilon: float  # of all reports of a person together

    def text(self) -> str:
        """The result of the attack in one sentence."""
        return (
            f"Of {self.people:,} people who report {self.epsilon:.3g} of epsilon in total, an observer who knows all"
            f" true answers finds the right person {100 * self.right:.2f} % of the time; a blind guess"
            f" {100 * self.blind:.2f} %."
        )


def reidentify(mechanisms: Sequence[Mechanism], answers: Sequence[Sequence[Any]], *, seed: int) -> Reidentification:
    """Simulate the attack: `answers` has a column for each mechanism, in the same order of people."""
    columns = [list(column) for column in answers]
    if len(columns) != len(mechanisms) or not columns or len({len(column) for column in columns}) != 1:
        raise ParameterError("Re-identification needs a column of answers for each mechanism, all of the same length.")
    generator = np.random.default_rng(seed)
    people = len(columns[0])
    score = np.zeros((people, people), np.float32)  # of person j for the reports of person i
    for mechanism, column in zip(mechanisms, columns, strict=True):
        law = law_of(mechanism)
        codes = np.array([mechanism.domain.encode(value) for value in column])
        cumulative = law.cumsum(axis=1)
        outputs = (cumulative[codes] < generator.random(people)[:, None] * cumulative[codes, -1:]).sum(axis=1)
        with np.errstate(divide="ignore"):
            score += np.log(law).astype(np.float32)[codes][:, outputs].T
    best = score.max(axis=1, keepdims=True)
    ties = score >= best - 1e-5
    right = float(np.mean(np.where(ties[np.arange(people), np.arange(people)], 1 / ties.sum(axis=1), 0)))
    return Reidentification(people, right, 1 / people, float(sum(one.epsilon for one in mechanisms)))
