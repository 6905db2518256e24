"""What an audit may find, one sentence each, and what repairs it."""

from __future__ import annotations

from sottovoce.core.coins import BACKWARD
from sottovoce.core.exact import BEYOND, COARSE, COPIED, ENDS, NO_LAW, STALE, TWICE
from sottovoce.privacy.declared import HIDDEN_PART, OTHER_CLASSES, WRONG_CODES
from sottovoce.privacy.drawn import (
    LARGER_RATIO,
    NOT_REPEATABLE,
    UNREADABLE,
    WRONG_BITS,
    WRONG_DRAWS,
    WRONG_ID,
    WRONG_SUPPORT,
)
from sottovoce.privacy.follow import AGAIN, SPAN
from sottovoce.privacy.forever import EXCESS_FOREVER, MORE_TOGETHER, WRONG_COHORT, WRONG_MEMO

INFINITE = "Some message can come from one value and not from another: the ratio is infinite."
LENGTH = "The length of a report depends on the coins."
WRONG_RATIO = "The closed form of the ratio differs from the enumerated messages."
WRONG_DELTA = "The closed form of the delta differs from the enumerated messages."
WRONG_LAW = "The closed form of the likelihood differs from the enumerated messages."
BETWEEN = "A number between two grid points is not reported like a mixture of its neighbours."
UNPROVEN = "There is no small instance on which the closed form could be proven."
LATE_REFUSAL = "A value outside the domain is refused only after coins were drawn."
NOT_REFUSED = "A value outside the domain is not refused by the domain."
REPORTED = "A value outside the domain is reported."
NO_CODE = "A value gets a code that the channel does not have."

EXCESS = "The exact epsilon is"  # how sentences with numbers begin
IDEAL_EXCESS = "The epsilon is"
EXCESS_DELTA = "The exact delta is"
FAILED = "The sampler cannot be followed"

_CLOSED_FORM = "Correct `sample` or the closed form: one of them states other probabilities than the other."
_WORDS = "Read each of the channel's `words` once, in rising order, and skip those that a branch leaves with `seek`."
_DOMAIN = "Refuse it in `Domain.encode`, which runs before a coin is drawn."
_LARGER_CLAIM = "Move the two probabilities together, or claim the larger epsilon."

REMEDIES = {
    INFINITE: "Give every report a positive probability under every value.",
    LENGTH: "Encode all reports in the same number of bytes.",
    WRONG_RATIO: _CLOSED_FORM,
    WRONG_DELTA: _CLOSED_FORM,
    WRONG_LAW: _CLOSED_FORM,
    WRONG_MEMO: _CLOSED_FORM,
    WRONG_SUPPORT: _CLOSED_FORM,
    WRONG_DRAWS: _CLOSED_FORM,
    WRONG_BITS: _CLOSED_FORM,
    LARGER_RATIO: _CLOSED_FORM,
    BETWEEN: "Round to one of the two neighbours, with the distance as probability, before anything else is drawn.",
    UNPROVEN: "Let `miniatures` yield an instance that is small enough to enumerate.",
    LATE_REFUSAL: _DOMAIN,
    NOT_REFUSED: _DOMAIN,
    REPORTED: _DOMAIN,
    NO_CODE: "Give each value of the domain a code below `inputs`, and refuse all others.",
    EXCESS_FOREVER: "Move the probabilities of the memo together, or claim the larger epsilon_forever.",
    EXCESS: _LARGER_CLAIM,
    IDEAL_EXCESS: _LARGER_CLAIM,
    EXCESS_DELTA: "Add noise, or claim the larger delta.",
    FAILED: "Let the sampler run for every code with any coins, without an error.",
    TWICE: _WORDS,
    BEYOND: _WORDS,
    ENDS: _WORDS,
    BACKWARD: _WORDS,
    AGAIN: _WORDS,
    SPAN: _WORDS,
    STALE: "Use the coins of a call in that call only.",
    COPIED: "Use the coins that are given, and no copy of them.",
    NO_LAW: "Give `flip` and `pick` integers from 0 to 2**53, and rows that sum to 2**53.",
    COARSE: "Leave the resolution of the coins as it is.",
    WRONG_CODES: "Let `codes` list 0 ... inputs - 1.",
    OTHER_CLASSES: "Let `miniatures` yield instances of the same classes.",
    HIDDEN_PART: "Name every inner channel in `parts`.",
    NOT_REPEATABLE: "Take all randomness from the coins, and keep nothing between calls.",
    UNREADABLE: "Send what `codec` writes: the id and a payload of fixed length.",
    WRONG_ID: "Send the two words that were drawn as the id, unchanged.",
    WRONG_COHORT: "Draw the cohort uniformly.",
    MORE_TOGETHER: "Draw the first stage once, keep it, and make every report of it.",
}


def remedy(problem: str) -> str | None:
    """What repairs a problem, where that is known."""
    return next((advice for start, advice in REMEDIES.items() if problem.startswith(start)), None)
