"""Tables of published formulas, right and wrong, for the museum."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np
from scipy.optimize import linprog

from sottovoce.core.arithmetic.rational import UNIT, floor_unit, odds
from sottovoce.core.channel import Table

SLACK = Decimal("1e-9")  # below the budget, so that rounding to a table does not exceed it


def table(rows: Sequence[Sequence[Fraction | float]]) -> Table:
    """Integer weights near the given probabilities; what rounding leaves over goes to the largest of a row."""
    result = []
    for row in rows:
        # A long row is made of few numbers: each is rounded once and found by its id; to hash fractions is slow.
        numbers, times = {id(p): Fraction(p) for p in row}, Counter(map(id, row))
        total = sum(number * times[key] for key, number in numbers.items())
        rounded = {key: floor_unit(number / total) for key, number in numbers.items()}
        weights = [rounded[id(p)] for p in row]
        weights[weights.index(max(weights))] += UNIT - sum(weights)
        result.append(weights)
    return Table(result)


def budget(epsilon: float | str) -> Fraction:
    """e**epsilon, a trifle low."""
    return odds(Decimal(str(epsilon)) - SLACK / 1000)


@lru_cache
def group_nprr(epsilon: str, k: int, groups: int, *, neutral: str) -> Table:
    """Group-means, Algorithm 3 with NPRR and the allocation of Theorem 3.

    neutral "published": where the group changed, the value 0 is perturbed; "uniform": the corrected report.
    """
    e2 = budget(epsilon)
    e1 = e2 / ((k + 1) * e2 / (e2 + k))
    stay = e1 / (e1 + groups - 1)
    move = 1 / (e1 + groups - 1)
    zero = [Fraction((k // 2 == y) + ((k + 1) // 2 == y), 2) for y in range(k + 1)]  # 0 lies on the grid, or between

    def perturbed(rounded: Fraction | int) -> Fraction:
        return (rounded * e2 + 1 - rounded) / (e2 + k)

    kept = [stay * perturbed(held) for held in (0, 1)]
    changed = [move * (perturbed(held) if neutral == "published" else Fraction(1, k + 1)) for held in zero]

    def entry(code: tuple[int, int], output: tuple[int, int]) -> Fraction:
        (g, v), (h, y) = code, output
        return kept[v == y] if g == h else changed[y]

    cells = list(product(range(groups), range(k + 1)))
    return table([[entry(code, output) for output in cells] for code in cells])


def group_nprr_loss(epsilon: float, k: int) -> float:
    """Erratum 1: the exact loss of the published allocation."""
    return 2 * epsilon - math.log((k + 1) * math.exp(epsilon) / (math.exp(epsilon) + k))


def aaa(epsilon: float, steps: int, reach: int, *, tails: bool, floor: float = 1e-6, decay: float = 0.5) -> Table:
    """AAA, Eq. (14) of the paper for a normal prior, with the unbiasedness of Eq. (10) put back.

    The window of noise is -reach..reach around each of steps + 1 inputs. The paper's q are positive: `floor`.
    With `tails` the geometric tails of Eq. (12) are kept, as far as the widest window, where all that is left is
    collected (post-processing); without them they are cut off, as in the released code.
    """
    inputs, window = range(steps + 1), range(-reach, reach + 1)
    place = {(i, j): n for n, (i, j) in enumerate(product(inputs, window))}
    mass, mean, square = (sum((reach + t) ** power * decay**t for t in range(200)) for power in range(3))
    prior = [math.exp(-2 * (2 * i / steps - 1) ** 2) for i in inputs]
    cost = [prior[i] * (square if abs(j) == reach else j * j) for i, j in place]
    ratios = []
    for (i, j), other in product(place, inputs):
        if other != i and (other, i + j - other) in place:
            row = np.zeros(len(place))
            row[place[i, j]], row[place[other, i + j - other]] = 1, -math.exp(epsilon)
            ratios.append(row)
    equal = np.zeros((2 * len(inputs), len(place)))
    for (i, j), n in place.items():
        outer = abs(j) == reach
        equal[i, n] = mass if outer else 1
        equal[len(inputs) + i, n] = math.copysign(mean, j) if outer else j
    sums = [1] * len(inputs) + [0] * len(inputs)
    q = linprog(cost, np.array(ratios), np.zeros(len(ratios)), equal, sums, bounds=(floor, 1), method="highs").x
    rows = []
    for i in inputs:
        row = [0.0] * (steps + 2 * reach + 1)
        for j in range(-reach - 200, reach + 201) if tails else window:
            inner = max(-reach, min(reach, j))
            output = max(0, min(len(row) - 1, i + j + reach))
            row[output] += q[place[i, inner]] * decay ** abs(j - inner)
        rows.append(row)
    return table(rows)


@lru_cache
def laplace(epsilon: str, inputs: int, *, scale: str = "1") -> Table:
    """Two-sided geometric noise on a grid of inputs over [-1, 1], clamped; `scale` multiplies what is right."""
    loss = (Decimal(epsilon) / Decimal(scale) - SLACK) / (inputs - 1)
    return table([geometric_row(loss, i + inputs, 3 * inputs) for i in range(inputs)])


def geometric_row(loss: Decimal, centre: int, outputs: int) -> list[Fraction]:
    """Geometric noise around an output, e**-loss from one to the next; what lies beyond an end is collected there."""
    inner = 1 - (-loss).exp()
    weights = [power(loss, abs(y - centre)) for y in range(outputs)]
    return [Fraction(w if y in (0, outputs - 1) else w * inner) for y, w in enumerate(weights)]


@lru_cache(maxsize=1024)
def power(loss: Decimal, distance: int) -> Decimal:
    """e**-(loss distance)."""
    return (-loss * distance).exp()


def histogram_encoding(scale: Decimal) -> Table:
    """Two categories, one-hot, Laplace noise of this scale on each entry, on a grid of a quarter, clamped."""
    loss = (2 / scale - SLACK) / 8
    rows = []
    for code in range(2):
        sides = [geometric_row(loss, 4 + 4 * (code == entry), 13) for entry in range(2)]
        rows.append([a * b for a, b in product(*sides)])
    return table(rows)


def answer_at_random(p: Fraction) -> Table:
    """The truth with probability p, else a fair coin."""
    return table([[(1 + p) / 2, (1 - p) / 2], [(1 - p) / 2, (1 + p) / 2]])


def flip(p: Fraction) -> Table:
    """The truth with probability p, else the contrary."""
    return table([[p, 1 - p], [1 - p, p]])


def rounding(levels: int) -> Table:
    """Unbiased rounding of 2 levels - 1 inputs to a grid of half as many: sure on it, a fair coin between."""
    half = UNIT // 2
    rows = []
    for code in range(2 * levels - 1):
        row = [0] * levels
        row[code // 2] += half
        row[-(-code // 2)] += half
        rows.append(row)
    return Table(rows)


def unequal_supports(k: int) -> Table:
    """A band matrix: far outputs are impossible."""
    return table([[max(0, 2 - abs(x - y)) for y in range(k)] for x in range(k)])


def half_spaces(epsilon: float | str, dimensions: int, *, ties: str) -> Table:
    """The l_inf mechanism of Duchi et al. as texts have it that differ in where ties t.v = 0 go, for even d.

    With probability e**epsilon / (e**epsilon + 1) the report is uniform on the side of v, else on the other one. Ties
    belong to "both" sides, to the "near" one (the survey's text) or to the "far" one. Codes and reports are masks.
    """
    p = budget(epsilon) / (budget(epsilon) + 1)
    near = [ones for ones in range(dimensions + 1) if 2 * ones < dimensions]  # ones: how many signs differ
    far = [dimensions - ones for ones in near]
    tied = [dimensions // 2] if dimensions % 2 == 0 else []
    near += tied if ties in ("both", "near") else []
    far += tied if ties in ("both", "far") else []
    sizes = [sum(math.comb(dimensions, ones) for ones in side) for side in (near, far)]
    weights = [
        (p / sizes[0] if ones in near else 0) + ((1 - p) / sizes[1] if ones in far else 0)
        for ones in range(dimensions + 1)
    ]
    masks = range(1 << dimensions)
    return table([[weights[(code ^ report).bit_count()] for report in masks] for code in masks])
