"""Published bounds of what shuffling gives: from the budget of one report, or from its whole law.

Each is a function from epsilon to delta, or a closed form; `shuffling.amplify` takes the best that applies.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sottovoce.privacy.accounting.clones import Tokens


def erlingsson(local: float, n: int, delta: float) -> float:
    """Erlingsson et al. 2019, Theorem 7: the closed form for small budgets; infinite where it says nothing."""
    if not (0 < local < 0.5 and n > 1000 and 0 < delta < 0.01):
        return math.inf
    return 12 * local * math.sqrt(math.log(1 / delta) / n)


def clones_closed_form(local: float, n: int, delta: float) -> float:
    """Feldman, McMillan and Talwar 2021, Theorem 3.1; infinite where it says nothing."""
    if n <= 16 * math.log(2 / delta) or local > math.log(n / (16 * math.log(2 / delta))):
        return math.inf
    odds = math.exp(local)
    inner = 8 * math.sqrt(odds * math.log(4 / delta)) / math.sqrt(n) + 8 * odds / n
    return math.log1p((odds - 1) / (odds + 1) * inner)


def clones(local: float, n: int) -> Tokens:
    """Feldman, McMillan and Talwar 2021: another report is that of a clone with probability e**-epsilon.

    Where a and b are the laws of two answers and E = e**epsilon, Q = (E a - b) / (E - 1) and its mirror Q' are laws, a
    is (E Q + Q') / (E + 1), and any other answer's law is at least max(a, b) / E, so at least (Q + Q') / (2 E).
    """
    odds = math.exp(local)
    return Tokens(n, math.exp(-local), odds / (odds + 1), 1 / (odds + 1))


def stronger_clones(local: float, n: int, distance: float | None = None) -> Tokens:
    """Feldman, McMillan and Talwar 2023, and its refinement by the largest distance between the laws of two answers.

    The decomposition splits the laws a and b of two answers into p E and p of two parts and a rest that both share; any
    other answer's law has p of both parts, p = distance / (E - 1), at most 1 / (E + 1), E = e**epsilon. The observer
    gets the tokens only, but who hides the person without a token depends on the answer: the reduction has a gap. With
    randomized response of three values it lies below the exact loss, so this is shown and never claimed.
    """
    odds = math.exp(local)
    part = 1 / (odds + 1) if distance is None else min(distance / math.expm1(local), 1 / (odds + 1))
    return Tokens(n, 2 * part, odds * part, part)


def blanket(local: float, n: int, mass: float | None = None) -> Callable[[float], float]:
    """Balle et al. 2019, by Hoeffding's inequality: the part of a report that does not depend on the answer hides it.

    With L the difference a(y) - e**eps b(y) of two laws in units of the blanket at a draw y from it, delta is at most
    E[(L_1 + ... + L_M)+] / (mass n), M binomial; L has the mean 1 - e**eps. `mass` is that of the smallest likelihoods,
    where the law is known; then L / mass lies in [1 - e**(eps + local), e**local - e**eps]. Without it the blanket is
    e**-local of the other answer's own law, and L lies in [e**-local - e**eps, e**local - e**eps].
    """
    covered, odds_local = math.exp(-local) if mass is None else mass, math.exp(local)

    def delta(epsilon: float) -> float:
        drift = math.expm1(epsilon)
        if drift <= 0:
            return 1.0
        if mass is None:
            width = odds_local - 1 / odds_local
        else:
            width = mass * (odds_local - 1) * (drift + 2)
        moment = math.exp(-2 * drift**2 / width**2)
        bound = width**2 / (4 * drift * covered * n) * math.exp(n * math.log1p(-covered * (1 - moment)))
        return min(1.0, bound)

    return delta
