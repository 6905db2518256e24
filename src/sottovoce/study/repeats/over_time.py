"""One question asked again and again: what epsilon protects, what a person loses in all, and a series of estimates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sottovoce.client.memo import KeptCoins
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange.repeat import Repeat
from sottovoce.core.language.plural import plural
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_integer, decimal_text, reject
from sottovoce.core.question import Question
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.series.series import Series
from sottovoce.privacy.accounting.repeats import repeat_loss
from sottovoce.privacy.accounting.sequences import fresh_loss
from sottovoce.protocols.simulate import derived_seed
from sottovoce.study.plan import plan
from sottovoce.study.repeats.repeated import CHOOSE, GUARANTEES, WINDOWED, in_one_round
from sottovoce.study.repeats.waves import people_of
from sottovoce.tally.tally import Tally

if TYPE_CHECKING:
    import pandas as pd

OWNER = "a question over time"
START = date(2000, 1, 1)  # of schedules whose days do not matter


@dataclass(frozen=True, slots=True)
class OverTime:
    """One question in several waves, with the guarantee that the analyst chose.

    The participants are divided over the waves of a window: each answers once in any window, in waves that chance drew
    beforehand. With the guarantee "report" everyone answers every wave, with "sequence" each person answers once.

    Attributes:
        mechanism: how an answer becomes a report.
        repeat: the waves, and the window.

    Examples:
        >>> from sottovoce.study.repeats.over_time import OverTime
        >>> mood = sv.Frequency(sv.Categories(["well", "badly"]))
        >>> weekly = OverTime.of(mood, epsilon=1, waves=12, guarantee="window", window=4)
        >>> waves = [["well"] * (6_000 - 200 * wave) + ["badly"] * (2_000 + 200 * wave) for wave in range(12)]
        >>> low, high = weekly.simulate(waves, seed=1).trend().ci()
        >>> bool(low[0] < -0.025 < high[0])
        True
    """

    mechanism: Mechanism
    repeat: Repeat

    @classmethod
    def of(
        cls,
        asked: Mechanism | Question,
        *,
        waves: int,
        guarantee: str,
        window: int | None = None,
        epsilon: Any = None,
    ) -> OverTime:
        """A question, answered by the best method for it, or by a mechanism.

        Args:
            asked: A question, such as `Frequency`, or a mechanism.
            waves: How many waves there are.
            guarantee: What epsilon protects: "report" (each report by itself, everyone answers every wave), "window"
                (all reports within any `window` waves in a row), or "sequence" (all reports of a person). There is no
                default.
            window: The length of a window in waves, with the guarantee "window".
            epsilon: The budget, with a question.

        Raises:
            ParameterError: The guarantee is missing, or cannot be had from a mechanism that keeps a memo.
        """
        if guarantee not in GUARANTEES:
            raise ParameterError(CHOOSE)
        if (guarantee in WINDOWED) != (window is not None):
            raise ParameterError('A window belongs to the guarantee "window", and to no other.')
        count = check_integer("waves", OWNER, waves, 2, 10_000)
        repeat = Repeat(1, count, {"report": 1, "sequence": count}.get(guarantee, window))  # type: ignore[arg-type]
        if repeat.guarantee != guarantee:
            raise ParameterError("A window has at least 2 waves, and fewer than all.")
        if isinstance(asked, Mechanism):
            if epsilon is not None:
                raise ParameterError("A mechanism has its epsilon already: leave epsilon out.")
            mechanism = asked
        elif isinstance(asked, Question):
            mechanism = in_one_round(plan(asked, epsilon=epsilon, participants=10_000)).best.mechanism
        else:
            raise reject("asked", OWNER, "a question or a mechanism", asked)
        if mechanism.claimed_forever is not None and repeat.window > 1:
            raise ParameterError(
                "A memo has no guarantee for a window or a sequence: reports tell when an answer changed. Take a"
                ' mechanism without a memo, or guarantee = "report".'
            )
        return cls(mechanism, repeat)

    # --- privacy -----------------------------------------------------------------------------------
    @property
    def keeps_memo(self) -> bool:
        """Whether devices keep a memo of each answer."""
        return self.mechanism.claimed_forever is not None

    @property
    def lifetime(self) -> Decimal | None:
        """The largest loss of all reports of a person, for any answers; None where it is infinite."""
        if not self.keeps_memo:
            return self.repeat.lifetime(self.mechanism.claimed)
        each = fresh_loss(self.mechanism)
        return None if each is None else self.repeat.waves * each

    def loss(self, span: int | None = None) -> float:
        """The exact loss over all pairs of histories that differ in at most `span` waves in a row, by enumeration.

        For few waves and categories. Default: histories that differ anywhere.
        """
        return repeat_loss(self.mechanism, self.repeat, span=span)

    def explain(self) -> str:
        """What epsilon protects, what it does not, and what all waves together lose."""
        budget = f"Epsilon {decimal_text(self.mechanism.claimed)}"
        if self.keeps_memo:
            most = self.lifetime
            return (
                f"{budget} protects each report by itself. All reports of an unchanged value together lose at most"
                f" epsilon {decimal_text(cast(Decimal, self.mechanism.claimed_forever))}. Where answers change, reports"
                f" also tell when: over all sequences of answers, {self.repeat.waves} waves may lose"
                f" {'any amount' if most is None else f'up to epsilon {math.ceil(100 * most) / 100:.2f}'}."
            )
        protects = {
            "report": "each report by itself",
            "window": f"all reports of a person in any {self.repeat.window} waves in a row",
            "sequence": "all reports of a person",
        }[self.repeat.guarantee]
        total = self.repeat.lifetime(self.mechanism.claimed)
        return (
            f"{budget} protects {protects}. A person sends at most {plural(self.repeat.answers, 'report')} in"
            f" {self.repeat.waves} waves, which lose at most epsilon {decimal_text(total)} together: the right one of"
            f" two equally likely histories is guessed at most {_guess(total)} % of the time."
        )

    # --- estimates ---------------------------------------------------------------------------------
    def series(self, tallies: Mapping[int, Tally] | Sequence[Tally], *, changed: Any = None) -> Series:
        """The series of estimates from one tally for each wave; waves are numbered from 1.

        Args:
            tallies: Tallies by the number of the wave, or those of all waves in order.
            changed: The share of people whose answers differ between two waves, where it is known; see `Series.of`.
        """
        by_wave = dict(tallies) if isinstance(tallies, Mapping) else dict(enumerate(tallies, 1))
        if not all(type(wave) is int and 1 <= wave <= self.repeat.waves for wave in by_wave):
            raise ParameterError(f"Waves are numbered from 1 to {self.repeat.waves}.")
        estimates: dict[object, Estimate] = {wave: self.mechanism.estimate(by_wave[wave]) for wave in sorted(by_wave)}
        people = people_of(self.repeat)
        if people == "different":
            return Series.of(estimates, people=people)
        return Series.of(estimates, people=people, window=self.repeat.window, changed=changed)

    def simulate(self, answers: Sequence[Any], *, seed: int | None = None, changed: Any = None) -> Series:
        """Ask known people in all waves: each draws the waves of their turn, then answers in these.

        Args:
            answers: For each wave the answers of all people, in one order of people.
            seed: The seed of the simulation. Default: secure randomness.
            changed: As for `series`.
        """
        if len(answers) != self.repeat.waves or len({len(column) for column in answers}) != 1:
            raise ParameterError(f"Give the answers of all people in each of {self.repeat.waves} waves.")
        people = len(answers[0])
        turns = np.random.default_rng(derived_seed(seed, "turns")).integers(0, self.repeat.window, people)
        tallies = []
        report = self._from_memos(seed) if self.keeps_memo else None
        for wave, column in enumerate(answers):
            who = np.flatnonzero(turns == wave % self.repeat.window)
            values = column[who] if isinstance(column, np.ndarray) else [column[int(place)] for place in who]
            if report is not None:
                tally = self.mechanism.tally(
                    [report(int(one), wave, value) for one, value in zip(who, values, strict=True)]
                )
            else:
                drawn = self.mechanism.privatize(values, seed=derived_seed(seed, f"wave {wave}"))
                tally = self.mechanism.tally(drawn)
            tallies.append(replace(tally, simulated=True))
        return self.series(tallies, changed=changed)

    def _from_memos(self, seed: int | None) -> Callable[[int, int, object], bytes]:
        """Reports of devices that keep memos: a function of the person, the wave and the answer."""
        secret = b"%d" % (derived_seed(seed, "memos") or int(np.random.default_rng().integers(1 << 62)))
        mechanism = self.mechanism

        def report(person: int, wave: int, value: object) -> bytes:
            device = b"%d|" % person
            cohort = mechanism.draw_cohort(KeptCoins(secret, b"cohort", device))
            code = mechanism.kept_code(value, KeptCoins(secret, b"point", device), cohort=cohort)
            memo = mechanism.remember_code(code, KeptCoins(secret, b"answer", device + repr(code).encode()))
            return mechanism.answer_from(memo, KeptCoins(secret, b"report %d" % wave, device), cohort=cohort)

        return report

    # --- planning ----------------------------------------------------------------------------------
    def designs(self, participants: int, *, prior: Any = None) -> pd.DataFrame:
        """Standard errors of a wave, of a change and of the trend, for designs with one loss in any window of waves.

        "divide people" is this schedule. "divide epsilon" asks everyone in every wave with a part of epsilon. Errors of
        the same people are upper bounds: answers of a person may depend on each other in any way.
        """
        import pandas as pd

        window, waves, question = self.repeat.window, self.repeat.waves, self.mechanism.question
        place = np.arange(waves)
        slope = (place - place.mean()) / np.sum((place - place.mean()) ** 2)
        change = np.zeros(waves)
        change[-2:] = -1, 1
        rows = []
        for name, budget, people in (
            ("divide people", self.mechanism.claimed, participants // window),
            ("divide epsilon", self.mechanism.claimed / window, participants),
        ):
            error, noise = (
                in_one_round(
                    plan(question, epsilon=budget, participants=people, prior=prior, target=target)
                ).best.std_error
                for target in ("population", "sample")
            )
            sampling = math.sqrt(max(error**2 - noise**2, 0))
            apart = window if name == "divide people" else 1
            numbers = {"wave": error}
            for what, row in (("change", change), ("trend", slope)):
                groups = [np.abs(row[start::apart]).sum() for start in range(apart)]
                numbers[what] = math.sqrt(np.sum(row**2) * noise**2 + sampling**2 * sum(one**2 for one in groups))
            rows.append({"design": name, "epsilon": float(budget), "people in a wave": people, **numbers})
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        return f"OverTime({self.mechanism.name}, {self.repeat.waves} waves, guarantee={self.repeat.guarantee!r})"


def _guess(total: Decimal) -> str:
    """The best probability of the right guess between two equally likely histories, in per cent, rounded up."""
    return f"{math.ceil(1000 / (1 + math.exp(-float(total)))) / 10:.1f}"
