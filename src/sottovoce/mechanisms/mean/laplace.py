"""The Laplace mechanism on a grid: two-sided geometric noise."""

from __future__ import annotations

from typing import Any

from sottovoce.core.channel import Then
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Mean
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.mean.common import geometric, noise, power_of_two, scale


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """Noise whose likelihood falls geometrically, by e**epsilon over the length of the range.

    Law: the number rounded to a grid of at least 8 epsilon steps, plus m or -1 - m with m geometric, P(m)
        proportional to e**(-epsilon m / steps), clamped far outside the range.
    Privacy: numbers at most one range apart have likelihoods at most e**epsilon apart; clamping is post-processing.
    Estimator: the mean report; clamping biases it by less than 1e-9 of the range.
    Cost: two bytes or more; variance about 2 / epsilon**2 in lengths of the range, whatever the number is.
    Reference: Dwork, McSherry, Nissim, Smith, "Calibrating noise to sensitivity in private data analysis", TCC 2006;
        Ghosh, Roughgarden, Sundararajan, "Universally utility-maximizing privacy mechanisms", 2012 (geometric noise).
    """
    budget = check_epsilon("laplace", epsilon)
    steps = power_of_two(8 * float(budget))
    profile = geometric(budget, steps)
    channel = Then(scale("laplace", domain, steps), noise("laplace", budget, profile, profile))
    return Mechanism("laplace", Mean(domain), channel, budget, CountOutputs())
