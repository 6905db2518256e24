"""Group mechanisms as they were published, not registered: some lose more than they claim, one wastes budget.

All of them send the group through randomized response and, where it was changed, a *neutral* value in place of the
true one. What differs from the registered mechanisms is the law of that neutral report. Each function returns a
channel, not a mechanism, since a mechanism that loses more than it claims cannot be built; `sv.audit(channel,
epsilon=...)` gives the exact loss. Values lie in [-1, 1], with the neutral value 0 in the middle.

Reference: Raab, Bohr, Klede, Gmeiner, Eskofier, "Estimating group means under local differential privacy", PoPETs
2025(4); Juarez, Korolova, "You can't fix what you can't measure", 2023.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from sottovoce.core.arithmetic.rational import UNIT, floor_unit, odds
from sottovoce.core.channel import Channel, Keyed, Noise, Subset, Then
from sottovoce.core.channel.compose.keyed import rounded_law
from sottovoce.core.channel.facets import Rounded, facet
from sottovoce.core.domain import Domain, Interval
from sottovoce.core.params import check_epsilon, check_integer
from sottovoce.mechanisms.mean import bernoulli, laplace, nprr, piecewise

VALUES = Interval(-1, 1)
_FINE = Context(prec=40)


def group_nprr(epsilon: Any, k: int = 2, *, groups: int = 2) -> Keyed:
    """Algorithm 3 with NPRR and the allocation of Theorem 3: epsilon2 = epsilon, epsilon1 what the theorem leaves.

    The proof takes the neutral report to be uniform on the k + 1 levels. The algorithm perturbs the value 0, which is
    not uniform for k > 1, and loses epsilon1 + epsilon2.
    """
    e = odds(check_epsilon("group_nprr", epsilon))
    inner = nprr.build(VALUES, epsilon=epsilon, k=k).channel
    return Keyed(_response(groups, (e + k) / (k + 1)), inner, middle_law(inner))


def group_bernoulli(epsilon: Any, *, groups: int = 2) -> Keyed:
    """One bit for the value, with epsilon1 = epsilon2 = epsilon, as Juarez and Korolova claimed.

    The neutral report is a fair coin and causes no loss; the claim ignores that a bit of the value is likelier than a
    fair one if the group was kept. Theorem 2 has the corrected guarantee.
    """
    e = odds(check_epsilon("group_bernoulli", epsilon))
    inner = bernoulli.build(VALUES, epsilon=epsilon).channel
    return Keyed(_response(groups, e), inner, middle_law(inner))


def group_laplace(epsilon: Any, *, reach: int, scale: Any = "0.5", groups: int = 2) -> Keyed:
    """Laplace noise with the allocation of Theorem 1, and `scale` times as much of it on a neutral value.

    Proposition 2: there is no epsilon for this, since the tails fall at different rates. Here sums are clamped `reach`
    ranges beyond the values, so that the loss is finite; it grows with the reach. With scale 1 the theorem holds, but
    for what rounding to units adds.
    """
    budget = check_epsilon("group_laplace", epsilon)
    whole = laplace.build(VALUES, epsilon=budget).channel
    if not isinstance(whole, Then) or not isinstance(whole.second, Noise):
        raise TypeError("The Laplace mechanism must be a rounding and noise.")
    noise = _clamped(whole.second, check_integer("reach", "group_laplace", reach, 1, len(whole.second.bands) - 3))
    weights = _laplace_law(noise, budget / Decimal(str(scale)))
    return Keyed(_response(groups, odds(budget / 2)), Then(whole.first, noise), rounded_law(weights))


def group_piecewise(group_epsilon: Any, value_epsilon: Any, *, groups: int = 2, values: Domain = VALUES) -> Keyed:
    """The piecewise mechanism for the true or the neutral value, the middle of the range.

    It keeps epsilon1 + epsilon2 (Proposition 6). With a uniform neutral report it would keep max(epsilon2, epsilon1 +
    epsilon2 / 2): see the registered group mechanism.
    """
    inner = piecewise.build(values, epsilon=value_epsilon).channel
    e = odds(check_epsilon("group_piecewise", group_epsilon))
    return Keyed(_response(groups, e), inner, middle_law(inner))


def middle_law(inner: Channel) -> tuple[int, ...]:
    """The law of the inner report of the value 0, which lies on the grid, or is rounded to either side alike."""
    if not isinstance(inner, Then) or facet(inner, Rounded) is None:
        raise TypeError("The inner channel does not round numbers.")
    codes = _middles(inner.rounding.steps)
    return rounded_law(
        [sum((inner.second.likelihood(y, c) for c in codes), Fraction(0)) / 2 for y in range(inner.outputs)]
    )


def _response(groups: int, e: Fraction) -> Subset:
    """Randomized response on the group with the odds e."""
    return Subset(groups, 1, floor_unit(e / (e + groups - 1)))


def _middles(steps: int) -> tuple[int, int]:
    """The grid points next to the middle of the range: twice the same, where it is one."""
    return steps // 2, (steps + 1) // 2


def _clamped(noise: Noise, reach: int) -> Noise:
    """The same noise, clamped nearer: what lies beyond is the last band."""
    kept = noise.bands[: reach + 1]
    return Noise(noise.steps, noise.first, noise.cycle, (*kept, UNIT - sum(kept)))


def _laplace_law(noise: Noise, budget: Decimal) -> list[Fraction]:
    """Geometric noise of this budget around the middle of the range, on the outputs of `noise`."""
    falls = _FINE.exp(-budget / noise.steps)
    weights = []
    for y in range(noise.outputs):
        border, weight = y in (0, noise.outputs - 1), Decimal(0)
        for middle in _middles(noise.steps):
            offset = y - noise.limit - 1 - middle
            weight += _FINE.power(falls, offset if offset >= 0 else -1 - offset) * (1 if border else 1 - falls)
        weights.append(Fraction(weight))
    return weights
