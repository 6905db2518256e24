"""What an epsilon means: odds, beliefs and guesses, in numbers and in plain words.

Standard library only, so that a device can show it. Every number is an upper bound for an observer who knows the
law of the reports and everything else but the answer; it is computed exactly and rounded against privacy.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import ceil

from sottovoce.client.arguments import SentenceParser
from sottovoce.core.arithmetic.rational import float_up
from sottovoce.core.params import (
    check_decimal,
    check_epsilon,
    check_integer,
    decimal_text,
    reject,
)

OWNER = "explain"
MOST = 700  # of epsilon times answers: e**700 is still a number that computers print
MAX_ANSWERS = 1_000_000
MAX_CHOICES = 1 << 53
_DIGITS = 60
HALF = Decimal("0.5")

RANGES = (
    ("0.1", "Very strong: a single answer reveals almost nothing; only large crowds give estimates."),
    ("0.5", "Strong: an answer is a faint hint at most."),
    ("1", "Fairly strong: an answer is a hint, not evidence."),
    ("2", "Moderate: an answer is weak evidence, and everyone can still deny it with good reason."),
    ("4", "Weak for one person: an answer is mostly true, though it can still be denied."),
    ("8", "Very weak: an answer is almost always true; denying it convinces few."),
)
WEAKEST = "Almost none: the reported answer is practically always the true one."


@dataclass(frozen=True, slots=True)
class Explanation:
    """What `answers` answers of `epsilon` each can reveal to an observer who gave a fact the probability `prior`.

    Fractions are exact up to e**epsilon, which is rounded up in the 60th digit; `to_dict` rounds upper bounds up and
    lower bounds down.
    """

    epsilon: Decimal
    prior: Decimal
    choices: int
    answers: int

    @property
    def total(self) -> Decimal:
        """The epsilon of all answers together: budgets add, at worst."""
        return Context(prec=2 * _DIGITS + 80).multiply(self.epsilon, self.answers)

    @property
    def odds(self) -> Fraction:
        """The largest factor by which a report changes the odds between two answers: e**epsilon."""
        context = Context(prec=_DIGITS)
        return Fraction(context.next_plus(context.exp(self.total)))

    @property
    def posterior(self) -> Fraction:
        """The highest probability that a fact of probability `prior` can have after the report."""
        raised = Fraction(self.prior) * self.odds
        return raised / (raised + 1 - Fraction(self.prior))

    @property
    def posterior_low(self) -> Fraction:
        """The lowest probability to which a belief can fall."""
        prior = Fraction(self.prior)
        return prior / (prior + (1 - prior) * self.odds)

    @property
    def guess(self) -> Fraction:
        """How often the best guess of a yes or no that is as likely as not is right: e/(1 + e) for e = e**epsilon."""
        return self.odds / (1 + self.odds)

    @property
    def guess_with_prior(self) -> Fraction:
        """How often the best guess of a yes of probability `prior` is right."""
        prior = Fraction(self.prior)
        return max(self.guess, prior, 1 - prior)

    @property
    def guess_of_choices(self) -> Fraction:
        """How often the best guess of one of `choices` equally likely answers is right: e/(e + choices - 1)."""
        return self.odds / (self.odds + self.choices - 1)

    @property
    def advantage(self) -> Fraction:
        """The largest total variation distance of two answers' reports, (e - 1)/(e + 1).

        The number is also twice the gain over a blind guess of an even yes or no (right minus wrong), and how often
        randomized response reports the truth without a fair coin.
        """
        return (self.odds - 1) / (self.odds + 1)

    @property
    def words(self) -> str:
        """A plain word for the range of the total epsilon; the borders are conventions."""
        return next((words for limit, words in RANGES if self.total <= Decimal(limit)), WEAKEST)

    def over(self, answers: int) -> Explanation:
        """The explanation for this many answers."""
        return explain(self.epsilon, prior=self.prior, choices=self.choices, answers=answers)

    def coin(self) -> str:
        """The randomized response of this epsilon, truths rounded up."""
        for cases in (100, 1000, 10**4, 10**5):
            truths = ceil(self.advantage * cases)
            if truths < cases and (truths >= 10 or cases == 10**5):
                return f"{truths} times out of {cases} the answer is true; otherwise a fair coin decides it"
        return f"an untrue answer comes once in {ceil(1 + self.odds):,} or more"

    def to_dict(self) -> dict[str, object]:
        """Plain data for JSON; floats are rounded against privacy."""
        return {
            "epsilon": decimal_text(self.epsilon),
            "answers": self.answers,
            "total_epsilon": decimal_text(self.total),
            "odds": _up(self.odds),
            "prior": decimal_text(self.prior),
            "posterior": _up(self.posterior),
            "posterior_low": -_up(-self.posterior_low),
            "guess": _up(self.guess),
            "guess_with_prior": _up(self.guess_with_prior),
            "choices": self.choices,
            "guess_of_choices": _up(self.guess_of_choices),
            "advantage": _up(self.advantage),
            "coin": self.coin(),
            "words": self.words,
        }

    def text(self) -> str:
        """The explanation in plain words; numbers are rounded against privacy."""
        what = "one answer changes" if self.answers == 1 else f"{self.answers} answers together change"
        per_answer = "" if self.answers == 1 else f" each, {decimal_text(self.total)} together"
        chosen = f"one of {self.choices} equally likely answers" if self.choices > 2 else "an even yes or no"
        lines = [
            f"Epsilon {decimal_text(self.epsilon)}{per_answer}. {self.words}",
            f"Odds: {what} the odds between two answers by at most a factor {_figures(self.odds)}.",
            f"Belief: a fact of probability {decimal_text(self.prior.scaleb(2))} % can rise to at most"
            f" {_percent(self.posterior)} and fall to at least {_percent(self.posterior_low, up=False)}.",
            f"Guess: the best guess of {chosen} is right at most {_percent(self.guess_of_choices)} of the time;"
            f" a blind one {_percent(Fraction(1, self.choices))}.",
            f"Coin: at worst as if {self.coin()}.",
        ]
        if self.answers == 1:
            lines.append(f"Again: {self._again()}")
        return "\n".join(lines)

    def _again(self) -> str:
        """How answers add up."""
        parts = [f"{times} answers {_percent(self.over(times).posterior)}" for times in (2, 5, 10)]
        return f"fresh answers add up; the belief above can rise to, after {', '.join(parts)}."


def explain(epsilon: object, *, prior: object = HALF, choices: int = 2, answers: int = 1) -> Explanation:
    """What an epsilon means to an observer who gave a fact the probability `prior` before.

    `choices` is the number of equally likely answers to guess from, `answers` the number of fresh answers of a person.
    """
    number = check_epsilon(OWNER, epsilon)
    try:
        belief = check_decimal("prior", OWNER, prior)
    except ValueError:
        raise reject("prior", OWNER, "a number in (0, 1)", prior) from None
    if not 0 < belief < 1:
        raise reject("prior", OWNER, "a number in (0, 1)", prior)
    check_integer("choices", OWNER, choices, 2, MAX_CHOICES)
    check_integer("answers", OWNER, answers, 1, MAX_ANSWERS)
    if number * answers > MOST:
        raise reject("answers", OWNER, f"few enough that epsilon times answers is at most {MOST}", answers)
    return Explanation(number, belief, choices, answers)


OF_A_STUDY = (
    "FILE [--participants N] [--waves N] [--values N] [--also EPSILON] [--delta DELTA] [--rate SHARE]"
    " [--question NAME --belief P,P,...] [--json]"
)


def main(arguments: Sequence[str]) -> int:
    """The verb `explain` of the command line; it needs the standard library only."""
    takes = "EPSILON [--prior PRIOR] [--choices CHOICES] [--answers ANSWERS] [--json]"
    about = "What an epsilon means, in plain words. With a study file (.toml) or a manifest (.json) instead of EPSILON:"
    parser = SentenceParser(
        "explain",
        takes,
        f"{about} what that study means for one person.",
        ["explain 1", "explain 1 --choices 5", "explain sleep.toml --participants 3000"],
        f"With a study file or a manifest:\n  {OF_A_STUDY}\n`sottovoce explain sleep.toml --help` explains them.",
    )
    parser.add_argument("epsilon", help="the privacy budget of one answer")
    parser.add_argument("--prior", default="0.5", help="what an observer believed before, a probability")
    parser.add_argument("--choices", type=int, default=2, help="number of equally likely answers to guess from")
    parser.add_argument("--answers", type=int, default=1, help="number of fresh answers of a person")
    parser.add_argument("--json", action="store_true", help="print plain data")
    options = parser.parse_args(arguments)
    said = explain(options.epsilon, prior=options.prior, choices=options.choices, answers=options.answers)
    print(json.dumps(said.to_dict(), indent=2) if options.json else said.text())
    return 0


# --- rounding ------------------------------------------------------------------------------------------------
def _decimal(value: Fraction, digits: int, rounding: str) -> Decimal:
    context = Context(prec=digits, rounding=rounding)
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def _up(value: Fraction) -> float:
    """The smallest float that is not below the value, but for one part in 10**50."""
    return float_up(_decimal(value, _DIGITS, ROUND_CEILING))


def _figures(value: Fraction) -> str:
    """Four figures, rounded up; more for numbers without an exponent."""
    number = _decimal(value, 4, ROUND_CEILING)
    return f"{number:,f}" if value < 10**15 else f"{number:.3e}"


def _percent(value: Fraction, *, up: bool = True) -> str:
    """A share in per cent: one decimal, or as many as keep it away from 0 and 100."""
    hundredfold = 100 * value
    rest = min(hundredfold, 100 - hundredfold)
    places = 1
    while rest * 10**places < 10 and places < 6:
        places += 1
    step = Decimal(1).scaleb(-places)
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    number = _decimal(hundredfold, _DIGITS, rounding).quantize(step, rounding=rounding)
    return f"{decimal_text(number)} %"
