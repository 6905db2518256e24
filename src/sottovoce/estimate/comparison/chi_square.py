"""Chi-square tests of shares: goodness of fit, equal shares in several samples, independence of two attributes.

All are in score form: the covariance is that of the mechanism at the shares that the hypothesis states, so that the law
of the statistic holds for small samples too. Pearson's statistic, applied to noisy counts as if they were answers,
rejects true hypotheses far too often.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from sottovoce.core.errors import NoCovarianceError, ParameterError
from sottovoce.estimate.comparison.half_sets import equal_half_sets, half_sets_fit, is_about_half_sets
from sottovoce.estimate.comparison.null_law import NOT_KNOWN, covariance_at
from sottovoce.estimate.comparison.test import Effect, Test
from sottovoce.estimate.decoders.simplex import simplex
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Floats, Offer
from sottovoce.estimate.sources import EstimateSource

LARGE = "reports of different people, and enough of them that the estimated shares are nearly normal."
MOST_VALUES = 1024
MOST_STEPS = 200  # of alternating least squares
TINY = 1e-9  # of the mean variance, below which a direction has none


def goodness_of_fit(estimate: Estimate, shares: Any) -> Test:
    """Test that the population has stated shares.

    Args:
        estimate: estimated shares of all categories, or of half-sets of them, of one mechanism.
        shares: the stated shares: a mapping from each label, or one number per label in their order. They sum to 1.

    Returns:
        A `Test` with chi-square law; its effect is Cohen's w, corrected for noise.

    Raises:
        ParameterError: the estimate is not one of all shares, or the stated shares do not sum to 1.
        NoCovarianceError: the mechanism hashes answers, so that no covariance is known.

    Examples:
        >>> m = sv.mechanism("grr", sv.Categories(["lark", "owl"]), epsilon=1)
        >>> estimate = m.estimate(sv.simulate_counts(m, [6_000, 4_000], seed=1))
        >>> sv.goodness_of_fit(estimate, {"lark": 0.5, "owl": 0.5}).p_value < 0.05
        True

    See also:
        `compare` for two samples, `independence` for two attributes.
    """
    if is_about_half_sets(estimate):
        return half_sets_fit(estimate, shares)
    check_shares(estimate, "goodness_of_fit")
    stated = stated_shares(estimate, shares)
    values, covariance = estimate.evidence.values(), covariance_at(estimate.mechanism, stated) / estimate.n
    statistic = along_simplex(values - stated, covariance)
    degrees = len(stated) - 1
    distance = _quadratic(values, stated, covariance, stated)
    return _result("The shares of the population are the stated ones.", statistic, degrees, distance, [estimate], LARGE)


def homogeneity(estimates: Sequence[Estimate]) -> Test:
    """Test that several samples of different people have the same shares.

    Args:
        estimates: of the shares of the same categories, at least two. Their mechanisms may differ, except for
            half-sets.

    Returns:
        A `Test` with chi-square law; its effect is the largest difference of a share between two of the samples.
    """
    if len(estimates) < 2:
        raise ParameterError("A test of equal shares needs at least two estimates.")
    if any(map(is_about_half_sets, estimates)):
        return equal_half_sets(estimates)
    for one in estimates:
        check_shares(one, "homogeneity")
        if tuple(one.labels) != tuple(estimates[0].labels):
            raise ParameterError("A test of equal shares needs estimates of the same categories.")
    values = np.stack([one.evidence.values() for one in estimates])
    same = len({one.mechanism.fingerprint for one in estimates}) == 1
    statistic = (_of_one_mechanism if same else _of_several_mechanisms)(estimates, values)
    degrees = (len(estimates) - 1) * (values.shape[1] - 1)
    spread = Effect("largest difference of a share", float(np.ptp(values, axis=0).max()))
    return _result("All samples have the same shares.", statistic, degrees, spread, estimates, LARGE)


def independence(estimate: Estimate, one: str = "", other: str = "") -> Test:
    """Test that two attributes are independent in the population.

    Args:
        estimate: of the shares of all pairs of answers, such as of `Select(record, ["sex", "smoker"])`.
        one: name of the first attribute, as a check; may be left out.
        other: name of the second attribute.

    Returns:
        A `Test` with chi-square law; its effect is Cramer's V of the estimated shares, moved to the nearest table.

    Raises:
        ParameterError: the estimate is not one of all pairs of two attributes.

    Examples:
        >>> from sottovoce.core.domain import Select
        >>> yes_no = sv.Categories(["yes", "no"])
        >>> person = sv.Record({"smoker": yes_no, "cough": yes_no})
        >>> m = sv.mechanism("grr", Select(person, ["smoker", "cough"]), epsilon=2)
        >>> estimate = m.estimate(sv.simulate_counts(m, [900, 600, 500, 2_000], seed=1))
        >>> sv.independence(estimate).p_value < 0.01
        True

    See also:
        `Joint` for cross tables of several attributes, `goodness_of_fit` for stated shares.
    """
    check_shares(estimate, "independence")
    table = _two_way(estimate, one, other)
    shares = estimate.evidence.values()
    null = table.under_independence(simplex(shares))
    for _ in range(2):  # the second pass takes the covariance at the nearest independent table
        covariance = covariance_at(estimate.mechanism, simplex(null)) / estimate.n
        fitted = shares + _correction(shares, covariance)  # the best shares that sum to one
        null, statistic = table.nearest_independent(fitted, _constrained(covariance))
    degrees = (table.rows - 1) * (table.columns - 1)
    association = Effect("Cramer's V", cramers_v(simplex(fitted).reshape(table.rows, table.columns)))
    said = f"{table.names[0]} and {table.names[1]} are independent."
    return _result(said, statistic, degrees, association, [estimate], LARGE)


class _TwoWay:
    """A table of two attributes inside the values of an estimate, the last axis varying fastest."""

    def __init__(self, names: tuple[str, str], rows: int, columns: int) -> None:
        self.names, self.rows, self.columns = names, rows, columns

    def _margins(self, shares: Floats) -> tuple[Floats, Floats]:
        cells = shares.reshape(self.rows, self.columns)
        return cells.sum(axis=1), cells.sum(axis=0)

    def under_independence(self, shares: Floats) -> Floats:
        """The table with the same margins and no association."""
        return np.outer(*self._margins(shares)).ravel()

    def nearest_independent(self, shares: Floats, covariance: Floats) -> tuple[Floats, float]:
        """The independent table with the least distance, in the measure of the covariance, and this distance.

        The distance has a chi-square law also where margins are noisy: a product of noisy margins, subtracted from the
        table, has not. Alternating least squares fit one margin at a time.
        """
        basis = _contrasts(len(shares))
        precision = basis.T @ np.linalg.solve(basis @ covariance @ basis.T, basis)
        columns = simplex(self._margins(shares)[1])
        fit, distance = shares, np.inf
        for _ in range(MOST_STEPS):
            rows = _margin_fit(np.kron(np.eye(self.rows), columns[:, None]), precision, shares)
            columns = _margin_fit(np.kron(rows[:, None], np.eye(self.columns)), precision, shares)
            fit = np.outer(rows, columns).ravel()
            before, distance = distance, float((shares - fit) @ precision @ (shares - fit))
            if before - distance < TINY * (1 + distance):
                break
        return fit, distance


def _two_way(estimate: Estimate, one: str, other: str) -> _TwoWay:
    axes, labels = estimate.axes, list(estimate.labels)
    pairs = [label for label in labels if isinstance(label, tuple) and len(label) == 2]
    if len(pairs) < len(labels) or axes.rows is not None:
        raise ParameterError(
            "A test of independence needs the shares of all pairs of two attributes, such as of"
            " Select(record, ['sex', 'smoker'])."
        )
    names = axes.names if len(axes.names) == 2 else tuple(getattr(axes.each[0].domain, "names", ("first", "second")))
    if (one or other) and {one, other} != {*names}:
        raise ParameterError(f"This table has the attributes {names[0]!r} and {names[1]!r}.")
    rows, columns = (len({repr(pair[place]) for pair in pairs}) for place in (0, 1))
    if rows * columns != len(labels):
        raise ParameterError("A test of independence needs the share of every pair of answers.")
    return _TwoWay((str(names[0]), str(names[1])), rows, columns)


def _of_one_mechanism(estimates: Sequence[Estimate], values: Floats) -> float:
    """The statistic of equal shares, where one report has the same covariance in all samples."""
    people = np.array([[one.n] for one in estimates], float)
    together = (people * values).sum(axis=0) / people.sum()
    covariance = covariance_at(estimates[0].mechanism, simplex(together))
    return float(along_simplex_many(np.sqrt(people) * (values - together), covariance).sum())


def _of_several_mechanisms(estimates: Sequence[Estimate], values: Floats) -> float:
    """The statistic of equal shares, where each sample is weighted by its precision at the common shares."""
    weights = np.array([[one.n] for one in estimates], float)
    for _ in range(2):
        pooled = simplex((weights * values).sum(axis=0) / weights.sum(axis=0))
        covariances = [covariance_at(one.mechanism, pooled) / one.n for one in estimates]
        weights = np.stack([1 / np.diag(covariance) for covariance in covariances])
    return sum_along_simplex(values, covariances)


# --- statistics ---------------------------------------------------------------------------------------------------
def along_simplex(differences: Floats, covariance: Floats) -> float:
    """The likelihood ratio statistic of differences whose true values sum to zero.

    The sum of estimated shares may itself be noisy: it carries no signal, and only its correlation with them is used.
    """
    return float(along_simplex_many(differences[None, :], covariance)[0])


def along_simplex_many(differences: Floats, covariance: Floats) -> Floats:
    """The statistic of `along_simplex` for many rows of differences."""
    total = float(covariance.sum())
    if total <= TINY * float(np.trace(covariance)):  # the estimated shares always sum to one
        basis = _contrasts(differences.shape[1])
        reduced = differences @ basis.T
        return np.asarray((reduced * np.linalg.solve(basis @ covariance @ basis.T, reduced.T).T).sum(axis=1))
    explained = differences.sum(axis=1) ** 2 / total
    return np.asarray((differences * np.linalg.solve(covariance, differences.T).T).sum(axis=1) - explained)


def sum_along_simplex(values: Floats, covariances: Sequence[Floats]) -> float:
    """The likelihood ratio statistic that several estimates of shares have the same mean."""
    basis = _contrasts(values.shape[1])
    reduced = [
        basis @ (row + _correction(row, covariance)) for row, covariance in zip(values, covariances, strict=True)
    ]
    precisions = [np.linalg.inv(basis @ _constrained(covariance) @ basis.T) for covariance in covariances]
    together = np.linalg.solve(
        np.sum(precisions, axis=0), np.sum([p @ r for p, r in zip(precisions, reduced, strict=True)], axis=0)
    )
    return float(sum((r - together) @ p @ (r - together) for p, r in zip(precisions, reduced, strict=True)))


def _margin_fit(design: NDArray[Any], precision: Floats, shares: Floats) -> Floats:
    """The margin of sum one whose table is nearest, for a table that is linear in it."""
    weighted = precision @ design
    count = design.shape[1]
    system = np.block([[design.T @ weighted, np.ones((count, 1))], [np.ones((1, count)), np.zeros((1, 1))]])
    return np.asarray(np.linalg.lstsq(system, np.append(weighted.T @ shares, 1.0), rcond=None)[0][:count])


def _correction(shares: Floats, covariance: Floats) -> Floats:
    """What least squares add to estimated shares so that they sum to one."""
    total = float(covariance.sum())
    if total <= TINY * float(np.trace(covariance)):
        return np.zeros(len(shares))
    return np.asarray(covariance.sum(axis=1) * (1 - shares.sum()) / total)


def _constrained(covariance: Floats) -> Floats:
    """The covariance of shares after `_correction`."""
    total = float(covariance.sum())
    if total <= TINY * float(np.trace(covariance)):
        return covariance
    rows = covariance.sum(axis=1)
    return np.asarray(covariance - np.outer(rows, rows) / total)


def _contrasts(count: int) -> Floats:
    """An orthonormal basis of the differences that sum to zero."""
    return np.linalg.qr(np.hstack([np.ones((count, 1)), np.eye(count)[:, : count - 1]]))[0][:, 1:].T


def cramers_v(table: Floats) -> float:
    """Strength of the association in a table of shares, between 0 and 1."""
    null = np.outer(table.sum(axis=1), table.sum(axis=0))
    known = null > 0
    phi = float(((table - null)[known] ** 2 / null[known]).sum())
    return float(np.sqrt(phi / max(1, min(table.shape) - 1)))


def _quadratic(values: Floats, stated: Floats, covariance: Floats, weights: Floats) -> Effect:
    """Cohen's w: the root of the squared relative distance, less what noise alone adds."""
    known = weights > 0
    squares = (values - stated)[known] ** 2 - np.diag(covariance)[known]
    return Effect("Cohen's w", float(np.sqrt(max(0.0, float((squares / weights[known]).sum())))))


# --- checks and results -------------------------------------------------------------------------------------------
def check_shares(estimate: Estimate, owner: str) -> None:
    """Refuse what is not an estimate of all shares by one mechanism whose covariance is known."""
    if not isinstance(estimate, Estimate) or Offer.ALL_SHARES not in estimate.evidence.offers:
        raise ParameterError(f"{owner} needs an estimate of the shares of all categories.")
    if len(estimate.sources) != 1:
        raise ParameterError(
            f"{owner} needs estimates of one mechanism each; combined ones are compared by sv.compare."
        )
    if len(estimate.labels) > MOST_VALUES:
        raise ParameterError(
            f"{owner} supports up to {MOST_VALUES} categories. Got {len(estimate.labels)}: compare them one by one by"
            " sv.compare."
        )
    if estimate.mechanism.channel.publics:
        raise NoCovarianceError(NOT_KNOWN)


def stated_shares(estimate: Estimate, shares: Any) -> Floats:
    """Stated shares in the order of the labels."""
    labels = list(estimate.labels)
    if hasattr(shares, "keys"):
        if {*shares} != {*labels}:
            raise ParameterError("The 'shares' parameter of goodness_of_fit must name each category once.")
        shares = [shares[label] for label in labels]
    try:
        stated = np.asarray(shares, float)
    except (TypeError, ValueError):
        stated = np.empty(0)
    if stated.shape != (len(labels),) or not (stated.min() >= 0 and abs(stated.sum() - 1) <= 1e-9):
        raise ParameterError(
            f"The 'shares' parameter of goodness_of_fit must be {len(labels)} shares from 0 to 1 that sum to 1."
        )
    return stated


def _result(
    said: str, statistic: float, degrees: int, effect: Effect, estimates: Sequence[Estimate], valid: str
) -> Test:
    sources: tuple[EstimateSource, ...] = tuple(source for one in estimates for source in one.sources)
    simulated = any(one.simulated for one in estimates)
    p_value = float(chdtrc(degrees, max(statistic, 0.0)))
    return Test(said, statistic, p_value, "chi-square", degrees, effect, valid, sources=sources, simulated=simulated)
