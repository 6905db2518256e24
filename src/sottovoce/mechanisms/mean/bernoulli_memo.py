"""The Bernoulli mechanism with a memo: a kept point of rounding, a memo of each end, and output flips."""

from __future__ import annotations

from typing import Any

from sottovoce.core.channel import Then
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Mean
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.mean.common import scale
from sottovoce.mechanisms.rappor.common import lifetime, two_responses


def build(domain: Domain, *, epsilon: Any, epsilon_forever: Any = None) -> Mechanism:
    """One bit, from a memo: the upper end of the range or the lower one.

    Law: a device draws a secret point of the range once; a number above it is rounded to the upper end, any other to
        the lower one. For each end it keeps a memo, the end itself with p = e**epsilon_forever /
        (e**epsilon_forever + 1). A report is the memo, flipped so often that it is the end with
        p* = e**epsilon / (e**epsilon + 1).
    Privacy: e**epsilon for one report, e**epsilon_forever for all reports of one unchanged value; the latter is
        2 epsilon unless it is given. A device keeps at most two memos, whatever its answers are. Reports also tell when
        the answer passed the point.
    Estimator: the mean of +B and -B with B = (e**epsilon + 1) / (e**epsilon - 1), scaled back to the range.
    Cost: one bit, and a file on the device; variance B**2 - x**2 for a number x in [-1, 1].
    Reference: Ding, Kulkarni, Yekhanin, "Collecting telemetry data privately", NeurIPS 2017 (1BitMean with alpha-point
        rounding, memoisation and output perturbation).
    """
    budget = check_epsilon("bernoulli-memo", epsilon)
    forever = lifetime("bernoulli-memo", budget, epsilon_forever)
    channel = Then(scale("bernoulli-memo", domain, 1), two_responses(2, forever, budget))
    return Mechanism("bernoulli-memo", Mean(domain), channel, budget, CountOutputs(), claimed_forever=forever)
