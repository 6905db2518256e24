"""Association of two answers of each person: both private, or a private group with a public value.

If two answers are independent, so are a report about one of them and the other answer, or a report about it. The
statistic is the covariance of the scores of both, in the measure of its covariance over all permutations of people.
This covariance is exact, so the chi-square law holds for small samples and any distribution of the answers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtrc

from sottovoce.core.channel import Channel
from sottovoce.core.channel.shapes import each_of
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.estimate.attributes.evidence import part_mechanisms
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
from sottovoce.fast.kernels.compose.each import unpacked

NONE = 1e-9  # of the largest eigenvalue, below which a direction has no variance
MOST_EM = 1 << 20  # pairs of answers times pairs of reports whose likelihood is maximised
VALID = "each person is counted once, and different people answer independently."
NUMBERED = (
    "This test needs reports of shares that are numbered, such as those of grr or hadamard, for at most"
    f" {MAX_LAW} answers."
)


def association(first: Reports, second: Reports | None = None) -> Test:
    """Test that two private answers are independent, from two reports of each person.

    Args:
        first: Reports about one answer, one for each person; or reports of `split-attributes` about two answers.
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
    if second is None:
        first, second = _two_answers(first)
    if len(first) != len(second):
        raise ParameterError(
            f"association needs two reports of each person. Got {len(first)} and {len(second)} reports."
        )
    pairs = np.zeros((_outputs(first), _outputs(second)), np.int64)
    np.add.at(pairs, (_numbers(first), _numbers(second)), 1)
    return association_of_counts(first.mechanism, second.mechanism, pairs, first.simulated or second.simulated)


def association_of_counts(first: Mechanism, second: Mechanism, pairs: Ints, simulated: bool = False) -> Test:
    """The test of `association` from the number of people with each pair of reports."""
    n = int(pairs.sum())
    one, other = _scored(first, pairs.sum(axis=1)), _scored(second, pairs.sum(axis=0))
    statistic, degrees = _statistic(pairs, one.centred, other.centred, n)
    effect = Effect("Cramer's V", cramers_v(_joint_shares(one, other, pairs)))
    sources = EstimateSource(first, n), EstimateSource(second, n)
    return _result("Both answers are independent.", statistic, degrees, effect, sources, simulated)


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
    outputs = _outputs(reports)
    if public.shape != (len(reports),):
        raise ParameterError(f"One value for each report is needed. Got {len(public)} values, {len(reports)} reports.")
    labels, place = np.unique(public, return_inverse=True)
    if len(labels) < 2:
        raise ParameterError("The public values are all the same: there is nothing to test.")
    pairs = np.zeros((outputs, len(labels)), np.int64)
    np.add.at(pairs, (_numbers(reports), place), 1)
    return private_groups_of_counts(reports.mechanism, labels, pairs, reports.simulated)


def private_groups_of_counts(mechanism: Mechanism, labels: Any, pairs: Ints, simulated: bool = False) -> Test:
    """The test of `private_groups` from the number of people with each report and each public value."""
    scored, n = _scored(mechanism, pairs.sum(axis=1)), int(pairs.sum())
    numeric = labels.dtype.kind in "iufb"
    if numeric and not np.isfinite(labels.astype(float)).all():
        raise ParameterError("The public values must be finite numbers.")
    held = labels.astype(float)[:, None] if numeric else np.eye(len(labels))
    centred = held - pairs.sum(axis=0) @ held / n
    statistic, degrees = _statistic(pairs, scored.centred, centred, n)
    joint = scored.scores @ pairs / n  # unbiased shares of group and value
    if numeric:
        means = (joint @ held)[:, 0] / np.where(scored.mean > 0, scored.mean, np.nan)
        effect = Effect(
            "largest difference between the means of two groups", float(np.nanmax(means) - np.nanmin(means))
        )
    else:
        effect = Effect("Cramer's V", cramers_v(simplex(joint.ravel()).reshape(joint.shape)))
    said = "The public value does not depend on the private group."
    return _result(said, statistic, degrees, effect, (EstimateSource(mechanism, n),), simulated)


def _joint_shares(one: _Scored, other: _Scored, pairs: Ints) -> Floats:
    """The joint shares of largest likelihood; the nearest shares to the unbiased ones where tables are very large."""
    seen = np.flatnonzero(pairs.ravel())
    shape = len(one.scores), len(other.scores)
    if shape[0] * shape[1] * pairs.size > MOST_EM:
        return simplex((one.scores @ pairs @ other.scores.T).ravel() / pairs.sum()).reshape(shape)
    law = np.asarray(np.kron(output_law(one.channel), output_law(other.channel)), np.float64)
    shares, _ = maximise(Dense(law.T[seen], pairs.ravel()[seen].astype(float)), tolerance=1e-6)
    return np.asarray(shares.reshape(shape))


class _Scored(NamedTuple):
    """The score of each output for each answer, and their mean."""

    channel: Channel
    scores: Floats
    mean: Floats

    @property
    def centred(self) -> Floats:
        """The scores less their mean, one row for each output."""
        return np.asarray((self.scores - self.mean[:, None]).T)


def _scored(mechanism: Mechanism, cells: Ints) -> _Scored:
    evidence = from_cells(mechanism, int(cells.sum()), cells)
    channel = mechanism.channel
    return _Scored(channel, evidence.cell_scores(mechanism, np.arange(channel.inputs)), evidence.values())


def _outputs(reports: Reports) -> int:
    """How many different reports a mechanism with numbered reports can send; others are refused."""
    if not isinstance(reports, Reports):
        raise ParameterError(f"This test needs the reports of each person: m.privatize(...). {NUMBERED}")
    mechanism: Mechanism = reports.mechanism
    channel = mechanism.channel
    plain = isinstance(mechanism.statistic, CountOutputs) and not channel.publics and channel.inputs <= MAX_LAW
    if not plain or not mechanism.question.has_overall_test:
        raise ParameterError(NUMBERED)
    return mechanism.cells


def _numbers(reports: Reports) -> Ints:
    """The number of each report."""
    return checked(reports.mechanism, reports.payload, reports.public).payload.astype(np.int64)


def _two_answers(reports: Reports) -> tuple[Reports, Reports]:
    """The reports about each of two answers, where each person's report holds both."""
    bundle = each_of(reports.mechanism.channel) if isinstance(reports, Reports) else None
    if bundle is None or len(bundle.channels) != 2:
        raise ParameterError("association needs two batches of reports, or one of split-attributes about two answers.")
    mechanisms = part_mechanisms(reports.mechanism)
    masks = checked(reports.mechanism, reports.payload, reports.public).payload
    parts = (part for _, part in unpacked(bundle, masks))
    first, second = (Reports(m, part, None, reports.simulated) for m, part in zip(mechanisms, parts, strict=True))
    return first, second


def _statistic(pairs: Ints, one: Floats, other: Floats, n: int) -> tuple[float, int]:
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


def _result(
    said: str, statistic: float, degrees: int, effect: Effect, sources: tuple[EstimateSource, ...], simulated: bool
) -> Test:
    p_value = float(chdtrc(degrees, max(statistic, 0.0))) if degrees else 1.0
    return Test(said, statistic, p_value, "chi-square", degrees, effect, VALID, sources=sources, simulated=simulated)
