"""What decides sentences of the papers that need no figure: privacy losses, formulas and identities."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, pairwise, product
from random import Random
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT, float_up, floor_unit, loss, odds
from sottovoce.core.channel import Bits, Channel, PoolMap, Table
from sottovoce.core.params import check_epsilon
from sottovoce.estimate.distribution.iterate import smoothed
from sottovoce.protocols.mean.belief import belief_error, variance_error
from sottovoce_experiments.group_means.losses import published, sibling
from sottovoce_experiments.papers.paper import Case

ROUNDED = 1e-6  # what rounding to integers over 2**53 may add to a loss
BUDGETS = (0.5, 1.0, 2.0, 4.0)
UNIT_INTERVAL = sv.Interval(-1, 1)


def _kept(name: str, channel: Channel, epsilon: float) -> Case:
    """The exact loss of a published channel, and whether it keeps its budget."""
    exact = float_up(loss(channel.ratio()))
    return Case(name, exact, exact <= epsilon + ROUNDED)


def _table(rows: Sequence[Sequence[float | Fraction]]) -> Table:
    """A channel of these probabilities, each rounded to a unit; the last output takes what is left."""
    weights = [[floor_unit(Fraction(p)) for p in row[:-1]] for row in rows]
    return Table([[*row, UNIT - sum(row)] for row in weights])


def _odds(epsilon: float) -> Fraction:
    return odds(check_epsilon("a sentence", epsilon))


# --- SoK -------------------------------------------------------------------------------------------------------------
def pure_protocols() -> Iterator[Case]:
    """Unary encoding with p / q = e**epsilon."""
    for epsilon in BUDGETS:
        p = floor_unit(_odds(epsilon) / (_odds(epsilon) + 1))
        yield _kept(f"loss at epsilon {epsilon:g}", Bits(4, p, UNIT - p), epsilon)


def direct_encoding() -> Iterator[Case]:
    """Direct encoding with p / q = e**epsilon."""
    for epsilon in BUDGETS:
        yield _kept(
            f"loss at epsilon {epsilon:g}", sv.mechanism("grr", sv.Integers(0, 3), epsilon=epsilon).channel, epsilon
        )


def random_answers() -> Iterator[Case]:
    """The truth with e / (e + 1), a random answer otherwise."""
    for epsilon in BUDGETS:
        keep = _odds(epsilon) / (_odds(epsilon) + 1)
        truth = keep + (1 - keep) / 2
        yield _kept(f"loss at epsilon {epsilon:g}", _table([[truth, 1 - truth], [1 - truth, truth]]), epsilon)


def histogram_noise() -> Iterator[Case]:
    """Laplace noise of scale epsilon / 2 on a vector that changes in two entries."""
    for epsilon in BUDGETS:
        exact = 2 / (epsilon / 2)
        yield Case(f"loss at epsilon {epsilon:g}", exact, exact <= epsilon)


def bernoulli_names() -> Iterator[Case]:
    """Proposition 1: the Bernoulli mechanisms are one law."""
    for epsilon in BUDGETS:
        e = math.exp(epsilon)
        channel = sv.mechanism("bernoulli", UNIT_INTERVAL, epsilon=epsilon).channel
        ours = [float(channel.likelihood(1, x)) for x in (-1, 1)]
        forms = [
            [(x * (e - 1) + e + 1) / (2 * e + 2) for x in (-1, 1)],
            [1 / (e + 1) + x * (e - 1) / (e + 1) for x in (0, 1)],
        ]
        off = max(abs(a - b) for form in forms for a, b in zip(ours, form, strict=True))
        yield Case(f"largest difference at epsilon {epsilon:g}", off, off < ROUNDED)


def one_side() -> Iterator[Case]:
    """A two-sided interval with the radius of one side: the miss that Hoeffding's bound allows, beside beta."""
    for beta in (0.01, 0.05, 0.1):
        allowed = 2 * math.exp(-math.log(1 / beta))
        yield Case(f"bound of the miss at beta {beta:g}", allowed, allowed <= beta)


def plug_in() -> Iterator[Case]:
    """The plug-in variance from two reports of one bit, all of which are listed; the truth is 1."""
    bit = sv.mechanism("bernoulli", UNIT_INTERVAL, epsilon=1)
    (scale,) = bit.channel.scales()  # type: ignore[attr-defined]
    reads = [scale.read(report) for report in (0, 1)]
    mean = sum((1 - ((a + b) / 2) ** 2 for a, b in product(reads, repeat=2)), Fraction(0)) / 4
    yield Case("expected plug-in variance", float(mean), mean == 1)


def constant_error() -> Iterator[Case]:
    """Duchi's l-infinity mechanism for 32 numbers: the error with 100 times the participants, over one tenth."""
    for epsilon in BUDGETS:
        ((_, _, slope),) = sv.mechanism("duchi-linf", sv.Box(-1, 1, 32), epsilon=epsilon).channel.part_scales()  # type: ignore[attr-defined]
        errors = [float(1 / slope) / math.sqrt(n) for n in (1_000, 100_000)]
        yield Case(f"error at epsilon {epsilon:g}, 100,000 participants", errors[1], errors[1] > 0.9 * errors[0])


def released_rappor() -> Iterator[Case]:
    """RAPPOR with f for one hash and two hashes: flips with f / 2 = 1 / (e**(epsilon / 2) + 1)."""
    for epsilon in BUDGETS:
        root = math.exp(epsilon / 2)
        exact = 2 * 2 * math.log(root)  # two hashes, two bits each
        yield Case(f"loss at epsilon {epsilon:g}", exact, exact <= epsilon + ROUNDED)


def hybrid_is_best() -> Iterator[Case]:
    """The worst-case variance of hybrid, over the least of piecewise, bernoulli and designed."""
    for epsilon in BUDGETS:
        worst = {
            name: sv.mechanism(name, UNIT_INTERVAL, epsilon=epsilon).worst_case_variance()
            for name in ("hybrid", "piecewise", "bernoulli")
        }
        designed = sv.mechanism("designed", UNIT_INTERVAL, epsilon=epsilon, objective="worst-case")
        worst["designed"] = designed.worst_case_variance()
        ratio = worst["hybrid"] / min(worst.values())
        yield Case(f"over the least at epsilon {epsilon:g}", ratio, ratio <= 1.001)


# --- AAA -------------------------------------------------------------------------------------------------------------
def claim_3() -> Iterator[Case]:
    """A belief that is off by psi: the relative error of the promised variance, beside psi / (1 + psi)."""
    truth, belief, variances = sv.Prior([0, 1], [0.5, 0.5]), sv.Prior([0, 1], [0.25, 0.75]), (0, 1)
    psi = belief_error(truth, belief)
    true, promised = (sum(w * v for w, v in zip(law.weights, variances, strict=True)) for law in (truth, belief))
    error = abs(promised - true) / true
    yield Case(f"error, bound {psi / (1 + psi):.3f}", error, error <= psi / (1 + psi))


def claim_3_corrected() -> Iterator[Case]:
    """The corrected interval of the true variance holds it."""
    truth, belief = sv.Prior([0, 1], [0.5, 0.5]), sv.Prior([0, 1], [0.25, 0.75])
    low, high = variance_error(belief_error(truth, belief))
    yield Case("true over promised", 0.5 / 0.75, low <= 0.5 / 0.75 + ROUNDED and high >= 0.5 / 0.75)


def algorithm_6() -> Iterator[Case]:
    """Each of k reported numbers with the whole budget."""
    for k in (2, 3):
        bit = _odds(1.0) ** k
        exact = float_up(loss(bit))
        yield Case(f"loss at epsilon 1, k = {k}", exact, exact <= 1 + ROUNDED)


def half_the_variance() -> Iterator[Case]:
    """Variance of the adaptive channel on N(0, 0.1**2), over the best fixed one."""
    law = sv.Prior.normal(0, 0.1, -1, 1)
    fixed = [sv.mechanism(name, UNIT_INTERVAL, epsilon=1) for name in ("piecewise", "bernoulli", "hybrid")]
    own = sv.mechanism("designed", UNIT_INTERVAL, epsilon=1, objective="prior", prior=law).variance(law)
    ratio = own / min(one.variance(law) for one in fixed)
    yield Case("over the best at epsilon 1", ratio, ratio <= 0.55)


# --- survey ----------------------------------------------------------------------------------------------------------
def numerators() -> Iterator[Case]:
    """Eq. (36): the probabilities of both ends at x = 1 as printed."""
    for epsilon in BUDGETS:
        e = math.exp(epsilon)
        printed = ((e - 1) + e - 1) / (2 * (e + 1)) + (-(e - 1) + e - 1) / (2 * (e + 1))
        yield Case(f"sum at epsilon {epsilon:g}", printed, abs(printed - 1) < ROUNDED)


def how_many() -> Iterator[Case]:
    """k = floor(2 epsilon / 3) of six attributes for piecewise: its variance over that of the best k."""
    even, six = sv.Prior.uniform(-1, 1), sv.Box(-1, 1, 6)
    for epsilon in (4, 6):
        found = [
            sv.mechanism("sampled", six, epsilon=epsilon, inner="piecewise", count=k).variance(even)[0]
            for k in (2 * epsilon // 3, *range(1, 5))
        ]
        ratio = float(found[0] / min(found))
        yield Case(f"over the best at epsilon {epsilon}", ratio, ratio < 1.01)


def steps_of_noise() -> Iterator[Case]:
    """Eq. (33): the mass of the printed SCDF density."""
    for epsilon in BUDGETS:
        half, height = 2 / epsilon - 2 / math.expm1(epsilon), epsilon / 4
        mass = 2 * half * height + sum(4 * height * math.exp(-i * epsilon) for i in range(1000))
        yield Case(f"mass at epsilon {epsilon:g}", mass, abs(mass - 1) < ROUNDED)


def ties() -> Iterator[Case]:
    """The text of Eq. (34) for two numbers: t.v >= 0 with e / (e + 1), the other vectors otherwise."""
    for epsilon in BUDGETS:
        e = math.exp(epsilon)
        same = [
            e / (e + 1) / 3 if sum(t * v for t, v in zip(a, b, strict=True)) >= 0 else 1 / (e + 1)
            for a in _SIGNS
            for b in _SIGNS
        ]
        first = [row[0] for row in _SIGNS]
        mean = sum(p * sign for p, sign in zip(same[len(_SIGNS) * 3 :], first, strict=True))  # of a vector of ones
        size = (4 + (2 - 1) * (e - 1)) / (e - 1)  # B of Eq. (34), d = 2
        yield Case(f"mean of a report of 1 at epsilon {epsilon:g}", mean * size, abs(mean * size - 1) < ROUNDED)


_SIGNS = tuple(product((-1, 1), repeat=2))


def piecewise_and_bits() -> Iterator[Case]:
    """Piecewise has the larger worst variance below epsilon 1.29, the smaller one above."""
    for epsilon in (0.5, 1.0, 1.28, 1.3, 2.0, 4.0):
        pm, bits = (
            sv.mechanism(name, UNIT_INTERVAL, epsilon=epsilon).worst_case_variance()
            for name in ("piecewise", "bernoulli")
        )
        yield Case(f"ratio at epsilon {epsilon:g}", pm / bits, (pm > bits) == (epsilon < 1.29))


def mean_est_budget() -> Iterator[Case]:
    """Table 5: MeanEst spends epsilon / d."""
    for d in (2, 8):
        exact = sv.mechanism("duchi-linf", sv.Box(-1, 1, d), epsilon=1).epsilon
        yield Case(f"loss for d = {d}", exact, exact <= 1 / d + ROUNDED)


def better_noise() -> Iterator[Case]:
    """SCDF and staircase noise have less variance than Laplace noise."""
    for epsilon in BUDGETS:
        worst = [
            sv.mechanism(name, UNIT_INTERVAL, epsilon=epsilon).worst_case_variance()
            for name in ("laplace", "scdf", "staircase")
        ]
        yield Case(f"scdf over laplace at epsilon {epsilon:g}", worst[1] / worst[0], max(worst[1:]) < worst[0])


def one_value_grows() -> Iterator[Case]:
    """Table 4: the error of one share through OUE grows with the number of categories, as k."""
    for epsilon in BUDGETS:
        found = [_rare("oue", k, epsilon) for k in (16, 1024)]
        yield Case(f"k = 1,024 over k = 16 at epsilon {epsilon:g}", found[1] / found[0], found[1] > 8 * found[0])


def response_grows() -> Iterator[Case]:
    """Table 4: the error of one share through randomized response grows with the number of categories."""
    for epsilon in BUDGETS:
        found = [_rare("grr", k, epsilon) for k in (16, 1024)]
        yield Case(f"k = 1,024 over k = 16 at epsilon {epsilon:g}", found[1] / found[0], found[1] > 4 * found[0])


def low_privacy() -> Iterator[Case]:
    """Table 4: randomized response over the best of the others, 64 categories, where privacy is low."""
    for epsilon in (4.0, 6.0, 8.0):
        others = [_rare(name, 64, epsilon) for name in ("oue", "olh", "hadamard", "sue")]
        ratio = _rare("grr", 64, epsilon) / min(others)
        yield Case(f"over the best at epsilon {epsilon:g}", ratio, ratio > 1.1)


def _rare(name: str, k: int, epsilon: float) -> float:
    """The standard error of the share of a value that nobody holds, times the root of participants."""
    held = np.full(k, 1 / (k - 1))
    held[0] = 0
    m = sv.mechanism(name, sv.Integers(0, k - 1), epsilon=epsilon)
    return math.sqrt(1_000_000 * float(m.variance(held, 1_000_000)[0]))


# --- group means -----------------------------------------------------------------------------------------------------
def _variants(variant: str, ours: bool = False) -> Callable[[], Iterator[Case]]:
    def cases() -> Iterator[Case]:
        for epsilon in BUDGETS:
            if ours:
                exact = sibling(variant, epsilon)
                yield Case(f"loss at epsilon {epsilon:g}", exact, exact <= epsilon + ROUNDED)
            else:
                yield _kept(f"loss at epsilon {epsilon:g}", published(variant, epsilon), epsilon)

    return cases


nprr_2, nprr_8 = _variants("nprr, k = 2"), _variants("nprr, k = 8")
nprr_uniform = _variants("nprr, k = 8", ours=True)
bernoulli_claim = _variants("bernoulli, first claim")
piecewise_sum = _variants("piecewise")


def laplace_unbounded() -> Iterator[Case]:
    """The loss grows with the reach of the noise."""
    near, far = (float_up(loss(published(f"laplace, half the scale, {r} ranges", 1).ratio())) for r in (2, 4))
    yield Case("loss at epsilon 1, noise to 4 ranges", far, far > near + ROUNDED)


def piecewise_tight() -> Iterator[Case]:
    """Proposition 6: group Piecewise needs all of epsilon1 + epsilon2, even with a uniform neutral report."""
    domain = sv.Pair(sv.Categories(["a", "b"]), UNIT_INTERVAL)
    for epsilon in BUDGETS:
        m: Any = sv.mechanism("group-piecewise", domain, epsilon=epsilon, value_epsilon=epsilon)
        yield Case(f"loss with epsilon2 = {epsilon:g}", m.epsilon, m.epsilon > epsilon + ROUNDED)


# --- square wave -----------------------------------------------------------------------------------------------------
def borders() -> Iterator[Case]:
    """Section 5.5: averaging with weights 1/4, 1/2, 1/4 keeps the sum of shares."""
    for shares in ([0.8, 0.2, 0.0, 0.0], [0.1, 0.2, 0.3, 0.4]):
        left = float(np.convolve(shares, [1 / 4, 1 / 2, 1 / 4], "same").sum())
        yield Case(f"what is left, first share {shares[0]:g}", left, abs(left - 1) < ROUNDED)


def borders_mended() -> Iterator[Case]:
    """With 2/3 and 1/3 at the ends, scaled, the sum is kept."""
    for shares in ([0.8, 0.2, 0.0, 0.0], [0.1, 0.2, 0.3, 0.4]):
        left = float(smoothed(np.array(shares), circular=False).sum())
        yield Case(f"sum, first share {shares[0]:g}", left, abs(left - 1) < ROUNDED)


def lemma_5_5() -> Iterator[Case]:
    """Lemma 5.5 as printed: 1 <= 2 b e**epsilon q, which every wave with these b and q must satisfy."""
    for epsilon in BUDGETS:
        e = math.exp(epsilon)
        b = (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon))
        q = 1 / (2 * b * e + 1)
        yield Case(f"1 - 2 b e q at epsilon {epsilon:g}", 1 - 2 * b * e * q, 2 * b * e * q + ROUNDED >= 1)


def least_density() -> Iterator[Case]:
    """q >= 1 / (2 b e**epsilon + 1), which the square wave reaches."""
    for epsilon in BUDGETS:
        m = sv.mechanism("square-wave", sv.Interval(0, 1), epsilon=epsilon, buckets=64)
        yield Case(f"loss at epsilon {epsilon:g}", m.epsilon, m.epsilon <= epsilon + ROUNDED)


def widths_fall() -> Iterator[Case]:
    """Section 5.3: b is near 1/2 for small epsilon and falls to 0."""
    found = []
    for epsilon in (0.01, 0.5, 1.0, 2.0, 4.0, 8.0):
        e = math.exp(epsilon)
        found.append((epsilon, (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon))))
    for (_, wide), (epsilon, b) in pairwise(found):
        yield Case(f"b at epsilon {epsilon:g}", b, b < wide <= 0.5)


# --- beside the papers ------------------------------------------------------------------------------------------------
def random_pool() -> Iterator[Case]:
    """The largest bias of a share from 500 random functions of 16 values to 4, beside a balanced pool."""
    draw = Random(1)
    pools = [[[draw.randrange(4) for _ in range(16)] for _ in range(500)]]
    balanced = PoolMap(16, 4, 2)
    pools.append([[balanced.apply((seed << 11, 0), v) for v in range(16)] for seed in range(balanced.seeds)])
    for name, pool in zip(("random pool", "balanced pool"), pools, strict=True):
        together = [sum(h[u] == h[v] for h in pool) / len(pool) for u, v in combinations(range(16), 2)]
        bias = max(abs(c - 1 / 4) / (1 - 1 / 4) for c in together)
        yield Case(f"bias, {name}", bias, bias < ROUNDED)
