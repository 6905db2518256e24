"""Questions that are asked again: how long a wave is, how many there are, and in which of them a device answers.

The participants are divided over the waves. A device draws a public number once, before it is asked anything, and the
number decides its first wave; from then on it answers in every `window`-th wave. So no answer moves a report in time,
and all reports of a person in any `window` waves in a row are one report. Nothing else in the package says when a
device answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from sottovoce.core.arithmetic.hashing import public_ticket
from sottovoce.core.errors import SpecError
from sottovoce.core.specs import Spec, take

MOST_WAVES = 10_000
MOST_DAYS = 366
LATE_DAYS = 1  # a report of a wave is counted until so many days after it; clocks may be as fast
_KEYS = ("days", "waves", "window")


@dataclass(frozen=True, slots=True)
class Repeat:
    """How a study is repeated.

    Attributes:
        days: the days of one wave.
        waves: how many waves there are; they are numbered from 0.
        window: a person answers once in any so many waves in a row. With 1 each report is protected by itself, with all
            waves the whole sequence of answers is.
    """

    days: int
    waves: int
    window: int

    def __post_init__(self) -> None:
        for name, most in (("days", MOST_DAYS), ("waves", MOST_WAVES), ("window", MOST_WAVES)):
            number = getattr(self, name)
            if type(number) is not int or not 1 <= number <= most:
                raise SpecError(f"The {name} of a repeated study must be a whole number from 1 to {most:,}.")
        if self.waves < 2 or self.window > self.waves:
            raise SpecError("A repeated study has at least two waves, and a window of at most all of them.")

    @property
    def guarantee(self) -> str:
        """What epsilon protects: a "report", the reports of a "window", or the whole "sequence"."""
        return "report" if self.window == 1 else "sequence" if self.window == self.waves else "window"

    @property
    def answers(self) -> int:
        """The most reports that a device sends."""
        return -(-self.waves // self.window)

    def lifetime(self, epsilon: Decimal) -> Decimal:
        """The largest loss of all reports of a device together."""
        return self.answers * epsilon

    # --- time ------------------------------------------------------------------------------------
    def wave(self, start: date, day: date) -> int:
        """The wave of a day; below 0 before the start, and at least `waves` after the end."""
        return (day - start).days // self.days

    def begins(self, start: date, wave: int) -> date:
        """The first day of a wave."""
        try:
            return start + timedelta(wave * self.days)
        except OverflowError:
            raise SpecError("A repeated study ends before the year 10000: make its waves fewer or shorter.") from None

    def end(self, start: date) -> date:
        """The last day of the last wave."""
        return self.begins(start, self.waves) - timedelta(1)

    def counted(self, start: date, day: date) -> range:
        """The waves whose reports are counted on a day: also those of a wave that has just ended, or soon begins."""
        late = timedelta(LATE_DAYS)
        first, last = self.wave(start, day - late), self.wave(start, day + late)
        return range(max(0, first), min(self.waves, last + 1))

    # --- who answers when ------------------------------------------------------------------------
    def turns(self, study: str, number: bytes, joined: int) -> range:
        """The waves in which a device answers.

        Args:
            study: The hash of the study's first manifest.
            number: 16 bytes that the device drew for this study.
            joined: The wave in which it drew them; the first turn is one of the `window` waves from there on.
        """
        begun = max(0, joined)
        if begun >= self.waves:
            return range(0)
        first = public_ticket(bytes.fromhex(study) + number, min(self.window, self.waves - begun))
        return range(begun + first, self.waves, self.window)

    # --- plain data ------------------------------------------------------------------------------
    def spec(self) -> Spec:
        """In plain data."""
        return {key: getattr(self, key) for key in _KEYS}

    @classmethod
    def from_spec(cls, spec: object) -> Repeat:
        """Read it from plain data."""
        return cls(*take(spec, "a repeated study", _KEYS))
