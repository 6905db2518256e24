"""The wheel mechanism: items on a circle, of which a position is reported."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sottovoce.core.arithmetic.rational import odds
from sottovoce.core.channel import Wheel
from sottovoce.core.channel.compose.wheel import arc_weight
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import SetShares
from sottovoce.core.statistic.items import CountItems
from sottovoce.mechanisms.sets.mask import checked_sets


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """The wheel: items lie on a circle by a public hash, and the report is a position, likelier in an arc of an item.

    Law: m fillers join the d items, and a person who holds fewer than m items also holds the first fillers. Each
        element begins an arc of the part p = 1 / (2 m - 1 + m e**epsilon) of the circle. A position in an arc that is
        held has the density e**epsilon / Z with Z = m p e**epsilon + 1 - m p; all others share the rest evenly.
    Privacy: e**epsilon, reached where the arcs of a person do not overlap, whatever the hash does.
    Estimator: (count / n - p) / (P - p) for the share of each item, where count is the number of reports in its arc and
        P = p e**epsilon / Z.
    Cost: 20 bits for any number of items. The variance of a rare item is about a tenth above that of `cells`.
    Reference: Wang, Qian, Du, Hu, Wang, Chen, "Set-valued data publication with local privacy: tight error bounds and
        efficient mechanisms", VLDB 2020, with their length of an arc; their circle is continuous.
    """
    budget = check_epsilon("wheel", epsilon)
    sets = checked_sets("wheel", domain)
    most, ratio = sets.most, odds(budget)
    positions = 1 << 20
    arc = max(1, int(Fraction(positions) / (2 * most - 1 + most * ratio)))
    channel = Wheel(len(sets.labels()), most, positions, arc, arc_weight(most, positions, arc, ratio))
    return Mechanism("wheel", SetShares(sets), channel, budget, CountItems())
