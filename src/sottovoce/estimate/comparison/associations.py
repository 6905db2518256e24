"""Association of two answers of each person: both private, or a private group with a public value.

If two answers are independent, so are a report about one of them and the other answer, or a report about it. The
statistic is the covariance of the scores of both, in the measure of its covariance over all permutations of people.
This covariance is exact, so the chi-square law holds for small samples and any distribution of the answers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from sottovoce.core.channel import Channel
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.estimate.comparison.chi_square import cramers_v
from sottovoce.estimate.comparison.test import Effect, Test
from sottovoce.estimate.decoders.simplex import simplex
from sottovoce.estimate.evidence import Floats, Ints
from sottovoce.estimate.frequency.base import MAX_LAW
from sottovoce.estimate.frequency.evidence import from_cells
from sottovoce.estimate.frequency.laws import output_law
from sottovoce.estimate.frequency.maximise import maximise
from sottovoce.estimate.frequency.mixture import Dense
from sottovoce.estimate.sources import EstimateSource
from sottovoce.fast.batch import Reports, checked

NONE = 1e-9  # of the largest eigenvalue, below which a direction has no variance
MOST_EM = 1 << 20  # pairs of answers times pairs of reports whose likelihood is maximised
VALID = "each person is counted once, and different people answer independently."
NUMBERED = (
    "This test needs reports of shares that are numbered, such as those of grr or hadamard, for at most"
    f" {MAX_LAW} answers."
)


def association(first: Reports, second: Reports) -> Test:
    """Test that two private answers are independent, from two reports of each person.

    Args:
        first: Reports about one answer, one for each person.
        second: Reports of the same people, in the same order, about the other answer. Their budgets add up.

    Returns:
        A `Test` with chi-square law. Its effect is Cramer's V of the joint shares of largest likelihood (EM).

    Reference: Fanti, Pihur, Erlingsson, "Building a RAPPOR with the unknown: privacy-preserving learning of
    associations and data dictionaries", PoPETs 2016. They estimate the covariance from the likelihood, which is wrong
    where shares are near zero.

    Examples:
        >>> from sottovoce.estimate.comparison.associations import association
        >>> m = sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon=1)
        >>> smokes = m.privatize(["yes"] * 3_000 + ["no"] * 3_000, seed=1)
        >>> coughs = m.privatize(["yes"] * 2_000 + ["no"] * 4_000, seed=2)
        >>> association(smokes, coughs).p_value < 0.01
        True
    """
    if len(first) != len(second):
        raise ParameterError(
            f"association needs two reports of each person. Got {len(first)} and {len(second)} reports."
        )
    one, other = _scored(first), _scored(second)
    pairs = np.zeros((one.scores.shape[1], other.scores.shape[1]))
    np.add.at(pairs, (one.outputs, other.outputs), 1)
    statistic, degrees = _statistic(pairs, one.centred, other.centred, len(first))
    effect = Effect("Cramer's V", cramers_v(_joint_shares(one, other, pairs)))
    return _result("Both answers are independent.", statistic, degrees, effect, (first, second))


def private_groups(reports: Reports, values: Any) -> Test:
    """Test that a public value does not depend on a private group.

    Args:
        reports: One report about the group of each person.
        values: The public value of each person, in the same order: numbers, or texts for categories.

    Returns:
        A `Test` with chi-square law. Its effect is the largest difference between the estimated means of two groups,
        or Cramer's V for categories.

    Examples:
        >>> from sottovoce.estimate.comparison.associations import private_groups
        >>> m = sv.mechanism("grr", sv.Categories(["treated", "control"]), epsilon=1)
        >>> reports = m.privatize(["treated", "control"] * 2_000, seed=1)
        >>> private_groups(reports, [3, 2] * 2_000).p_value < 0.01
        True
    """
    public = np.asarray(values)
    if public.shape != (len(reports),):
        raise ParameterError(f"One value for each report is needed. Got {len(public)} values, {len(reports)} reports.")
    scored = _scored(reports)
    numeric = public.dtype.kind in "iufb"
    labels, place = np.unique(public, return_inverse=True)
    if len(labels) < 2:
        raise ParameterError("The public values are all the same: there is nothing to test.")
    pairs = np.zeros((scored.scores.shape[1], len(labels)))
    np.add.at(pairs, (scored.outputs, place), 1)
    if numeric and not np.isfinite(labels.astype(float)).all():
        raise ParameterError("The public values must be finite numbers.")
    held = labels.astype(float)[:, None] if numeric else np.eye(len(labels))
    centred = held - pairs.sum(axis=0) @ held / len(reports)
    statistic, degrees = _statistic(pairs, scored.centred, centred, len(reports))
    joint = scored.scores @ pairs / len(reports)  # unbiased shares of group and value
    if numeric:
        means = (joint @ held)[:, 0] / np.where(scored.mean > 0, scored.mean, np.nan)
        effect = Effect(
            "largest difference between the means of two groups", float(np.nanmax(means) - np.nanmin(means))
        )
    else:
        effect = Effect("Cramer's V", cramers_v(simplex(joint.ravel()).reshape(joint.shape)))
    return _result("The public value does not depend on the private group.", statistic, degrees, effect, (reports,))


def _joint_shares(one: _Scored, other: _Scored, pairs: Floats) -> Floats:
    """The joint shares of largest likelihood; the nearest shares to the unbiased ones where tables are very large."""
    seen = np.flatnonzero(pairs.ravel())
    shape = len(one.scores), len(other.scores)
    if shape[0] * shape[1] * pairs.size > MOST_EM:
        return simplex((one.scores @ pairs @ other.scores.T).ravel() / pairs.sum()).reshape(shape)
    law = np.asarray(np.kron(output_law(one.channel), output_law(other.channel)), np.float64)
    shares, _ = maximise(Dense(law.T[seen], pairs.ravel()[seen]), tolerance=1e-6)
    return np.asarray(shares.reshape(shape))


class _Scored(NamedTuple):
    """The output of each report, the score of each output for each answer, and their mean."""

    channel: Channel
    outputs: NDArray[Any]
    scores: Floats
    mean: Floats

    @property
    def centred(self) -> Floats:
        """The scores less their mean, one row for each output."""
        return np.asarray((self.scores - self.mean[:, None]).T)


def _scored(reports: Reports) -> _Scored:
    if not isinstance(reports, Reports):
        raise ParameterError(f"This test needs the reports of each person: m.privatize(...). {NUMBERED}")
    mechanism: Mechanism = reports.mechanism
    channel, question = mechanism.channel, mechanism.question
    plain = isinstance(mechanism.statistic, CountOutputs) and not channel.publics and channel.inputs <= MAX_LAW
    if not plain or not question.has_overall_test:
        raise ParameterError(NUMBERED)
    payload = checked(mechanism, reports.payload, reports.public).payload.astype(np.int64)
    cells: Ints = np.bincount(payload, minlength=mechanism.cells)
    evidence = from_cells(mechanism, len(reports), cells)
    scores = evidence.cell_scores(mechanism, np.arange(channel.inputs))
    return _Scored(channel, payload, scores, evidence.values())


def _statistic(pairs: Floats, one: Floats, other: Floats, n: int) -> tuple[float, int]:
    """The statistic and its degrees of freedom, from a table of counts and the centred scores of its two sides."""
    cross = one.T @ pairs @ other
    first, second = (
        scores.T @ (counts[:, None] * scores)
        for scores, counts in ((one, pairs.sum(axis=1)), (other, pairs.sum(axis=0)))
    )
    (inverse, rank), (other_inverse, other_rank) = _inverse(first), _inverse(second)
    # Over all permutations of people the entries of `cross` have the covariance first x second / (n - 1).
    statistic = (n - 1) * float((inverse @ cross @ other_inverse * cross).sum())
    return statistic, rank * other_rank


def _inverse(matrix: Floats) -> tuple[Floats, int]:
    """The inverse on the directions that vary, and their number."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > NONE * max(float(values[-1]), 1e-300)
    return np.asarray((vectors[:, kept] / values[kept]) @ vectors[:, kept].T), int(kept.sum())


def _result(said: str, statistic: float, degrees: int, effect: Effect, batches: tuple[Reports, ...]) -> Test:
    simulated = any(one.simulated for one in batches)
    sources = tuple(EstimateSource(one.mechanism, len(one)) for one in batches)
    p_value = float(chdtrc(degrees, max(statistic, 0.0))) if degrees else 1.0
    return Test(said, statistic, p_value, "chi-square", degrees, effect, VALID, sources=sources, simulated=simulated)
