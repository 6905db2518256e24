"""Checks of mechanisms for numbers within groups: those of a distribution over the cells of the table."""

from __future__ import annotations

from sottovoce.core.channel import Channel
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.within_groups.table import flat
from sottovoce.testing import distribution


def instance(mechanism: Mechanism, channel: Channel) -> Mechanism:
    """The cells asked through a small channel."""
    return distribution.instance(flat(mechanism), channel)


def check_small(mechanism: Mechanism) -> None:
    """The shares of all cells are unbiased over the enumerated law, with the predicted variance."""
    distribution.check_small(mechanism)


def check_drawn(mechanism: Mechanism, seed: int, reports: int) -> None:
    """Drawn reports have the rates of the law."""
    distribution.check_drawn(flat(mechanism), seed, reports)
