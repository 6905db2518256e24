"""The account of a study: what a person loses over its waves and beside other studies, and what a crowd would hide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from sottovoce.core.arithmetic.rational import float_up
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange.manifest import Manifest, memo_text
from sottovoce.core.exchange.repeat import Repeat
from sottovoce.core.guarantee import PURE, Loss, parallel
from sottovoce.core.language.plural import plural
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer, decimal_text
from sottovoce.core.round import Arm
from sottovoce.privacy.accounting.account import Account, Entry
from sottovoce.privacy.accounting.sampling import sampled
from sottovoce.privacy.accounting.sequences import fresh_loss
from sottovoce.privacy.accounting.shuffling import Amplified, fewest_of, shuffled

OWNER = "the account of a study"
DELTA = 1e-6
MOST_WAVES = 10_000
YEAR = 365  # days
UNCHANGED = "not counting what reports tell about when an answer changed"


@dataclass(frozen=True, slots=True)
class StudyAccount:
    """One person in one study.

    Attributes:
        waves: how often the person would like to take part.
        values: how many different answers a memoised question gets from the person, over all waves.
        also: budgets of other studies that the person answers.
        participants: of one wave; None where nothing is said about a crowd.
        rate: the fixed share of a population that is drawn to take part, if nobody can tell who is; 1 if someone can.
    """

    manifest: Manifest
    waves: int
    values: int
    also: tuple[Decimal, ...]
    participants: int | None
    delta: float
    rate: Decimal

    @classmethod
    def of(
        cls,
        manifest: Manifest,
        *,
        participants: int | None = None,
        waves: int = 1,
        values: int = 1,
        also: Sequence[object] = (),
        delta: float = DELTA,
        rate: object = 1,
    ) -> StudyAccount:
        """The account of a study from its manifest; all parameters are checked."""
        check_integer("waves", OWNER, waves, 1, MOST_WAVES)
        check_integer("values", OWNER, values, 1, MOST_WAVES)
        if participants is not None:
            check_integer("participants", OWNER, participants, 1, 1 << 40)
        if isinstance(delta, bool) or not isinstance(delta, (int, float)) or not 0 < delta < 1:
            raise ParameterError("The delta of an account must be a number in (0, 1).")
        sampled(manifest.facts.epsilon, rate=rate)  # refuses a rate that is none
        others = tuple(check_epsilon(OWNER, one) for one in also)
        return cls(manifest, waves, values, others, participants, float(delta), Decimal(str(rate)))

    # --- what adds up ----------------------------------------------------------------------------
    @property
    def once(self) -> Loss:
        """The largest loss of one report: each participant sends the report of one arm."""
        mechanisms = [arm.mechanism for arm in self.manifest.stage.arms]
        return parallel([mechanism.guarantee.loss(mechanism.claimed) for mechanism in mechanisms])

    @property
    def allowed(self) -> int | None:
        """How many reports the device sends to this study; None where memos allow one in each epoch."""
        return self.manifest.participations

    @property
    def taken(self) -> int:
        """In how many of the waves it takes part."""
        return self.waves if self.allowed is None else min(self.waves, self.allowed)

    @property
    def account(self) -> Account:
        """The account of this study, by the report that loses most, and of all other studies."""
        entries = []
        for arm in self.manifest.stage.arms:
            once, forever, guarantee = arm.mechanism.claimed, arm.mechanism.claimed_forever, arm.mechanism.guarantee
            if forever is not None and self.taken > 1:
                # Losses of single reports do not add up: they share a memo. Each different answer has one of its own.
                # That budget bounds all reports of an unchanged answer together, whatever is claimed of a single one.
                loss = replace(PURE.loss(forever), caveats=(UNCHANGED,))
                entries.append(Entry(f"{arm.name}, memo", loss, min(self.values, self.taken), "arm"))
            else:
                entries.append(Entry.of(arm.name, once, guarantee=guarantee, answers=self.taken, apart="arm"))
        others = [Entry.of(f"another study, {place}", one) for place, one in enumerate(self.also, 1)]
        return Account.of([*entries, *others])

    @property
    def total(self) -> Loss:
        """Everything together, by adding up."""
        return self.account.total()

    @property
    def advanced(self) -> Loss:
        """The loss if delta may be spent, of the arm with the largest budget. Reports from memos are not fresh."""
        if self._memos and self.taken > 1:
            return self.total
        entries = [Entry("this study", self.once, self.taken)]
        entries += [Entry.of(f"another study, {place}", one) for place, one in enumerate(self.also, 1)]
        return min(Account.of(entries).total(Decimal(repr(self.delta))), self.total, key=lambda one: one.epsilon)

    @property
    def _memos(self) -> list[Arm]:
        """The arms whose mechanisms keep a memo."""
        return [arm for arm in self.manifest.stage.arms if arm.mechanism.claimed_forever is not None]

    @property
    def sequences(self) -> dict[str, Decimal | None]:
        """The largest loss over all sequences of answers, by arm with a memo; None without a bound."""
        losses = {arm.name: fresh_loss(arm.mechanism) for arm in self._memos}
        return {name: None if one is None else self.taken * one for name, one in losses.items()}

    # --- what a crowd hides ----------------------------------------------------------------------
    @property
    def crowd_problem(self) -> str | None:
        """Why no crowd hides a report, whoever shuffles it; None if one may."""
        if self.manifest.facts.collection.invitations:
            return "whoever hands out invitations can tell whose report is whose"
        if self.manifest.stage.chosen:
            return "participants choose their budget, and few may choose the same one"
        return None

    @property
    def crowd(self) -> int | None:
        """Those among whom a shuffler hides a report: a batch, not all participants, where the study has batches.

        None where `crowd_problem` says that there is none.
        """
        batch = self.manifest.facts.collection.batch
        if self.crowd_problem is not None:
            return None
        return self.participants if self.participants is None or batch is None else min(self.participants, batch)

    @property
    def amplified(self) -> Amplified | None:
        """Behind a shuffler, among those who send the rarest report; known for pure guarantees.

        The collector sees which report it is, and coins decide how many of the crowd send it: with a probability of
        delta / 2 fewer than are counted here, and the other half of delta is that of the bound.
        """
        if self.crowd is None or not self.once.is_pure:
            return None
        arms = self.manifest.stage.arms
        if len(arms) == 1:
            return shuffled(_shuffled_alone(arms[0].mechanism), participants=self.crowd, delta=self.delta)
        total = sum(arm.weight for arm in arms)
        hidden = [
            shuffled(
                _shuffled_alone(arm.mechanism),
                participants=1 + fewest_of(self.crowd - 1, arm.weight / total, self.delta / 2),
                delta=self.delta / 2,
            )
            for arm in arms
        ]
        return replace(max(hidden, key=lambda one: one.epsilon), delta=self.delta)

    @property
    def hidden(self) -> float | None:
        """Epsilon where nobody can tell who takes part; None where someone can. Known for pure guarantees."""
        return None if self.rate == 1 or not self.once.is_pure else sampled(self.once.epsilon, rate=self.rate)[0]

    # --- words -----------------------------------------------------------------------------------
    def text(self) -> str:
        """One line for each fact."""
        facts, others = self.manifest.facts, len(self.also)
        loser = "device" if facts.unit == "event" else facts.unit
        beside = f" and beside {others} other stud{'y' if others == 1 else 'ies'}" if others else ""
        lines = [
            f"One participation loses at most {self.once}: each {facts.unit} gives the report of"
            " one question, and reports of different people do not add up.",
            f"Over {plural(self.taken, 'wave')} of this study{beside} a {loser} loses at most {self.total}:"
            " budgets add up.",
        ]
        if facts.repeat is not None:
            lines.append(repeat_text(facts.repeat, facts.epsilon, loser))
        if self.advanced.epsilon < self.total.epsilon:
            lines.append(f"If a small delta may be spent, together at most {self.advanced}.")
        lines.append(
            self.manifest.participation_text()
            + (f" Of {self.waves} waves it takes part in {self.taken}." if self.waves > self.taken else "")
        )
        lines += [f"{memo_text(arm)} {self._sequence_text(arm)}" for arm in self._memos]
        if (amplified := self.amplified) is not None:
            batch = self.manifest.facts.collection.batch
            mixed = "with all of them in one batch" if batch is None else f"in batches of {batch:,}"
            lines.append(
                f"Only in shuffler mode, {mixed}: {amplified.text()} Without a shuffler nothing of this is claimed."
            )
        if self.hidden is not None:
            lines.append(
                f"Only if nobody can tell who takes part: where a fixed {decimal_text(100 * self.rate)} % of a"
                f" population are drawn, and their reports have no senders, the loss is at most epsilon"
                f" {self.hidden:.4g}. Who invites people can tell."
            )
        return "\n".join(lines)

    def _sequence_text(self, arm: Arm) -> str:
        most = self.sequences[arm.name]
        reports = plural(self.taken, "report")
        if most is None:
            return f"Over all sequences of answers the loss of {reports} has no bound."
        verb = "loses" if self.taken == 1 else "lose"
        return f"Over all sequences of answers {reports} {verb} at most epsilon {most:.4g}."

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        amplified = self.amplified
        return {
            "once": decimal_text(self.once.epsilon),
            "waves": self.taken,
            "total": decimal_text(self.total.epsilon),
            "total_delta": decimal_text(self.total.delta),
            "caveats": list(self.total.caveats),
            "advanced": float(self.advanced.epsilon),
            "delta": self.delta,
            "lifetime": decimal_text(self.manifest.facts.lifetime),
            "participations": self.allowed,
            "memoised": {
                arm.name: decimal_text(arm.mechanism.claimed_forever)
                for arm in self.manifest.stage.arms
                if arm.mechanism.claimed_forever is not None
            },
            "sequences": {name: None if most is None else float_up(most) for name, most in self.sequences.items()},
            "shuffled": None if amplified is None else {"epsilon": amplified.epsilon, "delta": amplified.delta},
            "sampled": self.hidden,
        }


def repeat_text(repeat: Repeat, epsilon: Decimal, loser: str) -> str:
    """What epsilon protects in a repeated study, and what a year of answers loses."""
    protects = {
        "report": "each report by itself",
        "window": f"all reports in any {repeat.window} waves in a row together",
        "sequence": f"all reports of a {loser} together",
    }[repeat.guarantee]
    waves = min(repeat.waves, -(-YEAR // repeat.days))
    reports = -(-waves // repeat.window)
    total = reports * epsilon
    guess = math.ceil(1000 / (1 + math.exp(-float(total)))) / 10  # rounded up
    return (
        f"Epsilon {decimal_text(epsilon)} protects {protects}. A year of answers ({plural(reports, 'report')}) loses"
        f" at most epsilon {decimal_text(total)}: the right one of two equally likely histories is guessed at most"
        f" {guess:.1f} % of the time."
    )


def _shuffled_alone(mechanism: Mechanism) -> Mechanism | Decimal:
    """What the bound of a crowd is computed from: the law, or where reports come from a memo the epsilon of one."""
    return mechanism if mechanism.claimed_forever is None else mechanism.claimed
