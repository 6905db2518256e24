"""The share of reports that chance alone decides: what all answers have in common in the law of a channel."""

from __future__ import annotations

from fractions import Fraction

from sottovoce.core.channel.base import Channel
from sottovoce.core.channel.closed_forms import extremes
from sottovoce.core.channel.facets import outputs_of, stages_of
from sottovoce.core.errors import PrivacyError, TooLargeError

MOST_OUTPUTS = 1 << 16  # that are added up


def overlap(channel: Channel) -> Fraction:
    """The sum over reports of the least probability that any answer gives them.

    A report can be drawn in two steps: with this probability it comes from one law that is the same for all answers,
    else from a law of the answer. Where the reports are too many to add up, it is the bound 1 / ratio: each report has
    at least that part of its probability under any other answer. A memo is drawn once, so its first stage counts.
    """
    stages = stages_of(channel)
    if stages is not None:
        return overlap(stages[0])
    outputs = outputs_of(channel)
    try:
        if outputs is not None and outputs <= MOST_OUTPUTS:
            return sum(extremes(channel)[1], Fraction(0))
    except TooLargeError:
        pass
    try:
        return 1 / channel.ratio()
    except PrivacyError:  # some answer has a report of its own
        return Fraction(0)
