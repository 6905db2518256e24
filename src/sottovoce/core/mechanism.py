"""A mechanism: a question's domain, the channel of its answers, and the statistic of the reports."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

from sottovoce.core import late
from sottovoce.core.arithmetic.hashing import id_bytes, id_words
from sottovoce.core.arithmetic.rational import float_up, loss, within
from sottovoce.core.batches import Batches
from sottovoce.core.channel.base import NO_WORDS, Channel, Words, channel_from_spec
from sottovoce.core.channel.facets import Memoised, check_memos, facet, rounding_of, stages_of
from sottovoce.core.coins import Coins, SystemCoins
from sottovoce.core.domain.base import Domain, domain_from_spec
from sottovoce.core.errors import MismatchError, PrivacyError, SpecError
from sottovoce.core.exchange import codec
from sottovoce.core.fits import check_fits
from sottovoce.core.guarantee import PURE, Guarantee
from sottovoce.core.params import check_epsilon, count_text, decimal_text
from sottovoce.core.question import Question, question_from_brief
from sottovoce.core.spec_cost import Budget, check_nodes, check_work
from sottovoce.core.specs import Spec, canonical, integer, parse, take, text
from sottovoce.core.statistic import Statistic, statistic_from_spec

MAX_CELLS = 1 << 24
MAX_NAME = 100
MAX_REASON = 400  # characters of why budget is left unused
_KEYS = (
    *("name", "version", "epsilon", "epsilon_forever", "question", "domain", "channel", "statistic", "codec"),
    *("guarantee", "unused"),
)


@dataclass(frozen=True)
class Mechanism(Batches):
    """Hold everything about one way to randomize answers: sampler, privacy claim, and estimator.

    A mechanism is immutable. Its specification (`spec`) is complete: devices need nothing else. Build one with
    `sv.mechanism`.

    Attributes:
        name: The name in the registry, or the name that a protocol chose.
        question: The question about the crowd.
        channel: The law of a report given the code of an answer.
        claimed: The requested budget; `epsilon` is computed from the channel.
        statistic: What a tally counts.
        domain: What a device encodes: the domain of the question, or a view of it.
        version: The version of the specification.
        guarantee: The kind of privacy guarantee; pure by default.
        unused: Why the loss is smaller than claimed, where a mechanism cannot use all of its budget.
        claimed_forever: The budget of all reports of one unchanged value together, where a device keeps a memo;
            `epsilon_forever` is computed. Each further value spends it again.

    Examples:
        >>> m = sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon=1)
        >>> tally = m.tally(m.privatize(["yes"] * 700 + ["no"] * 300, seed=1))
        >>> m.estimate(tally)
        Estimate(grr, n=1000, 2 values, simulation)

    See also:
        `mechanism` builds one by name, `Client` runs one on a device.
    """

    name: str
    question: Question
    channel: Channel
    claimed: Decimal
    statistic: Statistic
    domain: Domain = None  # type: ignore[assignment]
    version: int = 1
    guarantee: Guarantee = PURE
    unused: str | None = None
    claimed_forever: Decimal | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isprintable() or not 0 < len(self.name) <= MAX_NAME:
            raise SpecError(f"The name of a mechanism is a text of 1 to {MAX_NAME} printable characters.")
        object.__setattr__(self, "claimed", check_epsilon(self.name, self.claimed))
        if type(self.version) is not int or self.version != 1:
            raise SpecError("This package supports version 1 of a mechanism.")
        if not isinstance(self.guarantee, Guarantee):
            raise SpecError("The guarantee of a mechanism must be an object such as Pure().")
        self._check_question()
        check_fits(self.domain, self.channel)
        check_memos(self.channel)
        if not isinstance(self.statistic, Statistic):
            raise SpecError("The statistic of a mechanism must be an object such as CountOutputs().")
        self.statistic.check(self.channel)
        if self.unused is not None and not _is_reason(self.unused):
            raise SpecError(f"The reason for unused budget is a text of 1 to {MAX_REASON} printable characters.")
        if self.statistic.known and self.cells > MAX_CELLS:
            raise SpecError(f"A tally has at most 2**24 cells; this mechanism needs {count_text(self.cells)}.")
        if not self.channel.exact and not self.guarantee.allows_floats:
            raise SpecError(f"A {self.channel.kind} channel computes with floats: its guarantee can only be idealised.")
        # Floats are not exact: an idealised claim is checked by the device and by the audit.
        broken = None if self.guarantee.allows_floats else self.guarantee.broken_by(self.channel, self.claimed)
        if broken is not None:
            raise PrivacyError(f"This {self.name} channel has {broken} it claims.")
        self._check_forever()

    def _check_forever(self) -> None:
        """A mechanism with a memo claims both budgets, and its memo must keep the second one."""
        forever = self.ratio_forever
        if forever is None:
            if self.claimed_forever is not None:
                raise SpecError("A mechanism without a memo claims no epsilon_forever: each report spends again.")
            return
        if self.claimed_forever is None:
            raise SpecError("A mechanism with a memo claims an epsilon_forever: of all reports of one unchanged value.")
        object.__setattr__(self, "claimed_forever", check_epsilon(self.name, self.claimed_forever))
        if not within(forever, self.claimed_forever):
            raise PrivacyError(
                f"This {self.name} channel has epsilon_forever {self.epsilon_forever:.6g}, more than the"
                f" {self.claimed_forever} it claims."
            )

    def _check_question(self) -> None:
        """The domain must be that of the question, or a view of it."""
        if not isinstance(self.question, Question):
            raise SpecError("The question of a mechanism must be an object such as Mean(Interval(0, 10)).")
        if self.domain is None:
            object.__setattr__(self, "domain", self.question.domain)
        if not isinstance(self.domain, Domain) or not self.question.is_asked_through(self.domain):
            raise MismatchError(f"The domain of this {self.name} does not answer its question {self.question.kind}.")

    # --- privacy -----------------------------------------------------------------------------------
    @property
    def delta(self) -> Decimal | None:
        """Return the claimed delta of an approximate guarantee; None for all other guarantees."""
        return self.guarantee.delta

    @cached_property
    def ratio(self) -> Fraction:
        """Compute the exact worst-case likelihood ratio of one report, over the answers that the guarantee protects."""
        return self.guarantee.ratio(self.channel)

    @cached_property
    def epsilon(self) -> float:
        """Compute the privacy loss of one report: ln(ratio), rounded up; with a delta, the epsilon of that delta."""
        if self.delta is not None:
            return float_up(self.claimed)
        return float_up(loss(self.ratio))

    @cached_property
    def epsilon_forever(self) -> float:
        """Compute the privacy loss of any number of reports of one *unchanged* value; infinite without a memo.

        Answers that change are not covered: reports also show when they changed (`privacy.accounting.sequences`).
        """
        return float("inf") if self.ratio_forever is None else float_up(loss(self.ratio_forever))

    @cached_property
    def ratio_forever(self) -> Fraction | None:
        """The exact likelihood ratio behind `epsilon_forever`: that of the stage that is kept; None without a memo."""
        stages = stages_of(self.channel)
        return None if stages is None else stages[0].ratio()

    # --- one answer --------------------------------------------------------------------------------
    @property
    def words(self) -> int:
        """Words of one report in a batch: its two public words where it has any, then the channel's, even."""
        total = self.channel.words + (2 if self.channel.publics else 0)
        return total + total % 2

    def randomize(self, value: object, coins: Coins | None = None, *, report_id: bytes | None = None) -> bytes:
        """Randomize one answer into the message that a device sends: a 16-byte id, then the payload.

        Devices call `Client.report`, which also checks the privacy loss and hides the duration.

        Args:
            value: The answer, a value of the domain.
            coins: The source of randomness. Default: the operating system.
            report_id: The id of the report. Default: drawn at random.

        Returns:
            The bytes of the message.

        Raises:
            DomainError: The answer is outside the domain.
        """
        code = self.domain.encode(value)  # refuses before a coin is drawn
        if stages_of(self.channel):
            raise PrivacyError(
                "This mechanism keeps a memo of each value: `remember` once, then `answer_from` the memo."
            )
        source = coins if coins is not None else SystemCoins()
        source.begin(self.channel.words + 2)
        public = self._public(source, report_id=report_id)
        return id_bytes(public) + self.payload(code, source, self._read(public))

    def _public(self, coins: Coins, cohort: int | None = None, report_id: bytes | None = None) -> Words:
        """An id: the next two words, or if no device may use them as an id, two of the overflow range.

        A device that keeps a cohort draws ids until one is of this cohort, so that it is uniform among them. Where the
        id is given, the two words are passed over, so that the sampler reads the same ones.
        """
        public = (coins.word(), coins.word())
        if report_id is not None:
            if not self.takes_id(report_id, cohort):
                raise PrivacyError(f"This id is invalid for {self.name}: its devices do not use it.")
            return id_words(report_id)
        while not self._takes(public, cohort):
            public = (coins.extra(), coins.extra())
        return public

    def takes_id(self, report_id: bytes, cohort: int | None = None) -> bool:
        """Whether a device may use an id; one that keeps a cohort uses those of its cohort only."""
        return len(report_id) == codec.ID_BYTES and self._takes(id_words(report_id), cohort)

    def _takes(self, public: Words, cohort: int | None) -> bool:
        memoised = None if cohort is None else facet(self.channel, Memoised)
        return (memoised is None or memoised.cohort(public) == cohort) and self.channel.accepts(public)

    def _read(self, public: Words) -> Words:
        """The public words that the sampler is given: none if its channel declares none, since it is audited so."""
        return public if self.channel.publics else NO_WORDS

    @property
    def cohorts(self) -> int:
        """How many cohorts there are; a device draws one and keeps it. 1 if there are none."""
        memoised = facet(self.channel, Memoised)
        return 1 if memoised is None else memoised.cohorts

    def draw_cohort(self, coins: Coins | None = None) -> int:
        """The cohort of a device, drawn once and kept: another cohort would need another memo of each value."""
        source = coins if coins is not None else SystemCoins()
        source.begin(1)
        return source.below(self.cohorts)

    def remember(self, value: object, coins: Coins | None = None, *, cohort: int = 0) -> int:
        """The memo of a value, drawn once and kept; drawing it again would spend the budget again."""
        code = self.domain.encode(value)
        self._check_cohort(cohort)
        return self.remember_code(self._memoised.mapped_in(cohort, code), coins)

    def kept_code(self, value: object, coins: Coins, *, cohort: int = 0) -> Any:
        """What a memo is kept of: the value of a cohort's map, or the grid point to which a number is rounded.

        `coins` are kept by the device and are the same for all values of a mechanism, so that all numbers are rounded
        at the same point.
        """
        self._check_cohort(cohort)
        code, grid = self._memoised.mapped_in(cohort, self.domain.encode(value)), rounding_of(self.channel)
        if grid is None:
            return code
        coins.begin(grid.words)
        return grid.codes()[grid.sample(code, coins)]  # type: ignore[index]

    def remember_code(self, code: Any, coins: Coins | None = None) -> int:
        """The memo of what `kept_code` says, drawn once and kept."""
        first, _ = self._memoised.stages
        source = coins if coins is not None else SystemCoins()
        source.begin(first.words)
        return first.sample(code, source)

    @property
    def _memoised(self) -> Memoised:
        memoised = facet(self.channel, Memoised)
        if memoised is None:
            raise PrivacyError(f"{self.name} keeps no memo: `randomize` answers.")
        return memoised

    def answer_from(
        self, memo: int, coins: Coins | None = None, *, cohort: int = 0, report_id: bytes | None = None
    ) -> bytes:
        """A fresh message of a device that keeps this memo, and the cohort in which it was drawn."""
        stages = stages_of(self.channel)
        if stages is None or type(memo) is not int or not stages[0].contains(memo):
            raise PrivacyError(f"This memo is invalid for {self.name}.")
        self._check_cohort(cohort)
        source = coins if coins is not None else SystemCoins()
        source.begin(stages[1].words + 2)
        public = self._public(source, cohort, report_id)
        return id_bytes(public) + codec.encode(self.channel, stages[1].sample(memo, source, self._read(public)))

    def _check_cohort(self, cohort: int) -> None:
        if type(cohort) is not int or not 0 <= cohort < self.cohorts:
            raise PrivacyError(f"This cohort is invalid for {self.name}.")

    def payload(self, code: Any, coins: Coins, public: Words = NO_WORDS) -> bytes:
        """The part of a message after the id."""
        return codec.encode(self.channel, self.channel.sample(code, coins, public))

    def draw(self, code: Any, coins: Coins) -> tuple[Words, int]:
        """Public words and report of one participant of a batch, from the words of this participant."""
        coins.begin(self.words)
        public = self._public(coins) if self.channel.publics else NO_WORDS
        return public, self.channel.sample(code, coins, public)

    # --- plain data --------------------------------------------------------------------------------
    def spec(self) -> Spec:
        """Write the mechanism as plain data for JSON, without floats.

        Returns:
            A dictionary that `from_spec` reads on any device.
        """
        return {
            "name": self.name,
            "version": self.version,
            "epsilon": decimal_text(self.claimed),
            "epsilon_forever": None if self.claimed_forever is None else decimal_text(self.claimed_forever),
            "question": self.question.brief(),
            "domain": self.domain.spec(),
            "channel": self.channel.spec(),
            "statistic": self.statistic.spec(),
            "codec": codec.spec(self.channel),
            "guarantee": str(self.guarantee),
            "unused": self.unused,
        }

    @classmethod
    def from_spec(
        cls, spec: Mapping[str, Any] | str | bytes, *, budget: Budget | None = None, device: bool = False
    ) -> Mechanism:
        """Rebuild a mechanism from its specification; the channel is taken as it is, and no builder is called.

        A specification that would cost a device too much work is refused before it is computed
        (`sottovoce.core.spec_cost`).

        Args:
            spec: The specification, as data or as JSON text.
            budget: A budget of work that several specifications of one file share.
            device: Accept questions and statistics of kinds that this version does not know. A device needs the channel
                only.

        Returns:
            The mechanism.

        Raises:
            SpecError: The data do not describe a mechanism of this version.
        """
        written = spec if isinstance(spec, (str, bytes)) else canonical(spec)
        plain = parse(written)
        (name, version, epsilon, forever, asked, held, nodes, statistic, _, promised, unused) = take(
            plain, "a mechanism", _KEYS
        )
        check_nodes(nodes)
        channel = channel_from_spec(nodes)
        guarantee = Guarantee.read(text(promised, "a mechanism", "guarantee"))
        check_work(channel, guarantee.effort(channel), budget or Budget(len(written)))
        domain = domain_from_spec(held)
        mechanism = cls(
            name=text(name, "a mechanism", "name"),
            question=question_from_brief(asked, domain, device=device),
            channel=channel,
            claimed=check_epsilon("a mechanism", text(epsilon, "a mechanism", "epsilon")),
            statistic=statistic_from_spec(statistic, device=device),
            domain=domain,
            version=integer(version, "a mechanism", "version"),
            guarantee=guarantee,
            unused=unused if unused is None else text(unused, "a mechanism", "unused"),
            claimed_forever=_budget(forever, "epsilon_forever"),
        )
        if canonical(mechanism.spec()) != canonical(plain):
            places = "; ".join(_corrections(mechanism.spec(), plain)[:8]) or "it has unknown keys"
            raise SpecError(f"The specification is not the one that this version writes for the mechanism: {places}.")
        return mechanism

    @cached_property
    def fingerprint(self) -> str:
        """Return the SHA-256 of the canonical specification. Equal fingerprints mean equal mechanisms."""
        return hashlib.sha256(canonical(self.spec())).hexdigest()

    # --- the shape of a tally ----------------------------------------------------------------------
    @property
    def cells(self) -> int:
        """How many integers a tally holds."""
        return self.statistic.cells(self.channel)

    # --- showing -----------------------------------------------------------------------------------
    def __repr__(self) -> str:
        return str(late.load("core.language.display:mechanism_text")(self))

    def _repr_html_(self) -> str:
        return str(late.load("core.language.display:mechanism_html")(self))


def _budget(written: object, name: str) -> Decimal | None:
    return None if written is None else check_epsilon("a mechanism", text(written, "a mechanism", name))


def _is_reason(reason: object) -> bool:
    return isinstance(reason, str) and reason.isprintable() and 0 < len(reason) <= MAX_REASON


def difference(left: Mapping[str, Any], right: Mapping[str, Any], path: str = "") -> list[str]:
    """Where two specifications differ, one line for each place."""
    lines: list[str] = []
    for key in sorted({*left, *right}):
        here = f"{path}.{key}" if path else str(key)
        a, b = left.get(key), right.get(key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            lines += difference(a, b, here)
        elif a != b:
            lines.append(f"{here}: {a!r:.60} against {b!r:.60}")
    return lines


def _corrections(own: Mapping[str, Any], written: Mapping[str, Any], path: str = "") -> list[str]:
    """The expected content of a specification at each difference; its own content is not repeated."""
    lines: list[str] = []
    for key in sorted(own):
        a, b, here = own[key], written.get(key), f"{path}{key}"
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            lines += _corrections(a, b, f"{here}.")
        elif canonical({"": a}) != canonical({"": b}):
            lines.append(f"{here} must be {a!r:.60}")
    return lines


def check_same(left: Mechanism, right: Mechanism, doing: str) -> None:
    """Refuse two different mechanisms, and show what differs."""
    if left.fingerprint != right.fingerprint:
        places = "; ".join(difference(left.spec(), right.spec()))
        raise MismatchError(
            f"Cannot {doing} of different mechanisms ({left.fingerprint[:12]} and {right.fingerprint[:12]}): {places}."
        )
