"""d-bit flip with a memo: randomized bits for a few buckets that a device keeps, and output flips."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import UNIT, floor_unit, odds, sqrt_down, units
from sottovoce.core.channel import AskedMap, Bits, Chain, Cohorts
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.asked import CountAsked
from sottovoce.mechanisms.frequency.common import categories
from sottovoce.mechanisms.frequency.d_bit_flip import BYTE
from sottovoce.mechanisms.rappor.common import MAX_COHORTS, fresh_keep, lifetime


def build(domain: Domain, *, epsilon: Any, epsilon_forever: Any = None, d: int | None = None) -> Mechanism:
    """Bits for d of the k codes, always the same ones of a device; by default for eight, or for all if there are fewer.

    Law: a device keeps d neighbouring codes on a circle of all codes, and for each of them, and once for all others,
        a memo of d bits: bit v is 1 with p = e**(epsilon_forever/2) / (e**(epsilon_forever/2) + 1) for the code v,
        else with 1 - p. A report is a memo whose bits are flipped so often that they are right with
        p* = e**(epsilon/2) / (e**(epsilon/2) + 1).
    Privacy: e**epsilon for one report, e**epsilon_forever for all reports of one unchanged value; the latter is
        2 epsilon unless it is given. If d is 1, codes differ in one bit, and no budget is halved. A device keeps at
        most d + 1 memos, whatever its answers are. Reports also tell when the answer moved to another of these codes.
    Estimator: that of `d-bit-flip`: the share of ones among the reports with a bit for a code.
    Cost: d bits, and a file on the device; for rare values and large n k / d times the variance of symmetric unary
        encoding. At most 1,024 codes.
    Reference: Ding, Kulkarni, Yekhanin, "Collecting telemetry data privately", NeurIPS 2017 (dBitFlipPM).
    """
    budget = check_epsilon("d-bit-flip-memo", epsilon)
    forever = lifetime("d-bit-flip-memo", budget, epsilon_forever)
    k = categories("d-bit-flip-memo", domain, MAX_COHORTS)
    asked = min(k, BYTE) if d is None else check_integer("d", "d-bit-flip-memo", d, 1, k)
    all_reports, once = (odds(one) if asked == 1 else sqrt_down(odds(one)) for one in (forever, budget))
    kept = floor_unit(all_reports / (all_reports + 1))
    sent = fresh_keep(units(kept), 2, once)
    memo = Chain(Bits(asked, kept, UNIT - kept, "optional"), Bits(asked, sent, UNIT - sent, "mask", 0))
    channel = Cohorts(AskedMap(k, asked), memo)
    return Mechanism("d-bit-flip-memo", Frequency(domain), channel, budget, CountAsked(), claimed_forever=forever)
