"""A mechanism: a question's domain, the channel its answers go through, and what is counted of the reports."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

from sottovoce.core import codec, late
from sottovoce.core.channel.base import NO_WORDS, Channel, Words, channel_from_spec
from sottovoce.core.channel.compose.each import Each
from sottovoce.core.channel.compose.keyed import Keyed
from sottovoce.core.channel.facets import (
    Coordinates,
    Numbered,
    Pooled,
    Rounded,
    Summed,
    Supporting,
    Vectors,
    check_memos,
    facet,
    outputs_of,
    stages_of,
)
from sottovoce.core.coins import Coins, SystemCoins
from sottovoce.core.domain.base import Domain, domain_from_spec
from sottovoce.core.errors import MismatchError, PrivacyError, SpecError
from sottovoce.core.fits import check_fits
from sottovoce.core.guarantee import Guarantee
from sottovoce.core.hashing import id_bytes
from sottovoce.core.params import check_epsilon, count_text, decimal_text
from sottovoce.core.rational import float_up, loss
from sottovoce.core.simulation import marked
from sottovoce.core.specs import Spec, canonical, integer, parse, take, text
from sottovoce.core.work import Budget, check_nodes, check_work

MAX_CELLS = 1 << 24
MAX_JOINT = 1 << 20  # cells of a statistic "joint": combinations of what several channels report
MAX_NAME = 100
STATISTICS = ("outputs", "supports", "seeds", "keyed", "parts", "sums", "joint")
_HOMES = {
    "frequency": "shares.frequency",
    "mean": "mean.mean",
    "variance": "variance.variance",
    "group": "group.group",
    "vector": "vector.vector",
}
_KEYS = ("name", "version", "epsilon", "domain", "channel", "statistic", "codec", "guarantee")


@dataclass(frozen=True)
class Mechanism:
    """Frozen and complete: `spec()` holds all of it, `from_spec` needs no builder.

    `claimed` is the budget that was asked for; `epsilon` is computed from the channel. `statistic` says what a
    tally counts: each output ("outputs"), for each code the reports that support it ("supports"), each pair of public
    function and payload ("seeds"), for each group and inner report the reports that support the group ("keyed"), for
    each coordinate of a vector its reports ("parts"); or what a tally adds up, where reports are numbers ("sums").
    "joint" counts each combination of the reports of channels side by side, the last one fastest.
    """

    name: str
    domain: Domain
    channel: Channel
    claimed: Decimal
    statistic: str
    version: int = 1
    guarantee: str = "pure"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isprintable() or not 0 < len(self.name) <= MAX_NAME:
            raise SpecError(f"The name of a mechanism is a text of 1 to {MAX_NAME} printable characters.")
        object.__setattr__(self, "claimed", check_epsilon(self.name, self.claimed))
        if type(self.version) is not int or self.version != 1:
            raise SpecError("This package knows version 1 of a mechanism.")
        promised = Guarantee.read(self.guarantee)
        if self.statistic not in STATISTICS:
            raise SpecError(f"A statistic is one of {', '.join(STATISTICS)}.")
        check_fits(self.domain, self.channel)
        check_memos(self.channel)
        if self.statistic == "outputs" and (outputs_of(self.channel) is None or self.channel.publics):
            raise SpecError("The reports of this channel are not numbered, so they cannot be counted one by one.")
        if (self.statistic == "keyed") != isinstance(self.channel, Keyed):
            raise SpecError("The reports of a keyed channel are counted by group and inner report, and no others are.")
        if self.statistic == "seeds" and not (facet(self.channel, Pooled) and facet(self.channel, Numbered)):
            raise SpecError("The public functions of this channel are not numbered, so they cannot be counted apart.")
        if self.statistic == "parts" and facet(self.channel, Coordinates) is None:
            raise SpecError("The reports of this channel are not counted by coordinate.")
        if self.statistic == "sums" and facet(self.channel, Summed) is None:
            raise SpecError("The reports of this channel are not added up.")
        if self.statistic == "joint" and not 0 < self.cells <= MAX_JOINT:
            raise SpecError("Joint cells are for channels side by side with at most 2**20 combinations of outputs.")
        supporting = facet(self.channel, Supporting)
        rates = [supporting and supporting.rates(code) for code in (0, self.channel.inputs - 1)]
        if self.statistic == "supports" and None in rates:
            raise SpecError("The reports of this channel do not support every code, so supports cannot be counted.")
        if self.cells > MAX_CELLS:
            raise SpecError(f"A tally has at most 2**24 cells; this mechanism needs {count_text(self.cells)}.")
        if not self.channel.exact and self.guarantee != "idealised":
            raise SpecError(f"A {self.channel.kind} channel computes with floats: its guarantee can only be idealised.")
        # Of floats nothing is exact: an idealised claim is looked at by the device and by the audit.
        broken = None if promised.kind == "idealised" else promised.broken_by(self.channel, self.claimed)
        if broken is not None:
            raise PrivacyError(f"This {self.name} channel has {broken} it claims.")

    # --- privacy -----------------------------------------------------------------------------------
    @property
    def delta(self) -> Decimal | None:
        """The delta of a guarantee "approximate(delta)", as claimed; None for all others."""
        return Guarantee.read(self.guarantee).delta

    @cached_property
    def ratio(self) -> Fraction:
        """The worst-case likelihood ratio of one report, exactly: of all, or of those that the guarantee protects."""
        return Guarantee.read(self.guarantee).ratio(self.channel)

    @cached_property
    def epsilon(self) -> float:
        """The privacy loss of one report: ln(ratio), rounded up; with a delta, the epsilon that it belongs to."""
        if self.delta is not None:
            return float_up(self.claimed)
        return float_up(loss(self.ratio))

    @cached_property
    def epsilon_forever(self) -> float:
        """The privacy loss of any number of reports of one unchanged value; infinite without a memo."""
        stages = stages_of(self.channel)
        return float_up(loss(stages[0].ratio())) if stages else float("inf")

    @property
    def question(self) -> str:
        """What is asked: the "mean" of numbers or of a "vector", a "variance", means by "group", or "frequency"."""
        if isinstance(self.channel, Keyed):
            return "group"
        if self.statistic == "joint":
            return "variance"
        if facet(self.channel, Vectors) is not None:
            return "vector"
        return "mean" if facet(self.channel, Rounded) is not None else "frequency"

    # --- one answer --------------------------------------------------------------------------------
    @property
    def words(self) -> int:
        """Words of one report in a batch: its two public words where it has any, then the channel's, even."""
        total = self.channel.words + (2 if self.channel.publics else 0)
        return total + total % 2

    def randomize(self, value: object, coins: Coins | None = None) -> bytes:
        """The message of one participant: a 16-byte id, then the payload."""
        code = self.domain.encode(value)  # refuses before a coin is drawn
        if stages_of(self.channel):
            raise PrivacyError(
                "This mechanism keeps a memo of each value: `remember` once, then `answer_from` the memo."
            )
        source = coins if coins is not None else SystemCoins()
        source.begin(self.channel.words + 2)
        public = self._public(source)
        return id_bytes(public) + self.payload(code, source, self._read(public))

    def _public(self, coins: Coins) -> Words:
        """An id: the next two words, or if no device may use them as an id, two of the overflow range."""
        public = (coins.word(), coins.word())
        while not self.channel.accepts(public):
            public = (coins.extra(), coins.extra())
        return public

    def _read(self, public: Words) -> Words:
        """What the sampler sees of an id: nothing, where its channel declares no public words and is audited so."""
        return public if self.channel.publics else NO_WORDS

    def remember(self, value: object, coins: Coins | None = None) -> int:
        """The memo of a value, drawn once and kept; drawing it again would spend the budget again."""
        code = self.domain.encode(value)
        stages = stages_of(self.channel)
        if stages is None:
            raise PrivacyError(f"{self.name} keeps no memo: `randomize` answers.")
        first, _ = stages
        source = coins if coins is not None else SystemCoins()
        source.begin(first.words)
        return first.sample(code, source)

    def answer_from(self, memo: int, coins: Coins | None = None) -> bytes:
        """A fresh message of a device that remembers its memo."""
        stages = stages_of(self.channel)
        if stages is None or type(memo) is not int or not stages[0].contains(memo):
            raise PrivacyError(f"This is no memo of {self.name}.")
        source = coins if coins is not None else SystemCoins()
        source.begin(stages[1].words + 2)
        public = self._public(source)
        return id_bytes(public) + codec.encode(self.channel, stages[1].sample(memo, source, self._read(public)))

    def payload(self, code: Any, coins: Coins, public: Words = NO_WORDS) -> bytes:
        """What leaves the device beside the id."""
        return codec.encode(self.channel, self.channel.sample(code, coins, public))

    def draw(self, code: Any, coins: Coins) -> tuple[Words, int]:
        """Public words and report of one participant of a batch, from the words a batch gives to it."""
        coins.begin(self.words)
        public = self._public(coins) if self.channel.publics else NO_WORDS
        return public, self.channel.sample(code, coins, public)

    # --- plain data --------------------------------------------------------------------------------
    def spec(self) -> Spec:
        """All of the mechanism in plain data, without floats."""
        return {
            "name": self.name,
            "version": self.version,
            "epsilon": decimal_text(self.claimed),
            "domain": self.domain.spec(),
            "channel": self.channel.spec(),
            "statistic": self.statistic,
            "codec": codec.spec(self.channel),
            "guarantee": self.guarantee,
        }

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any] | str | bytes, *, budget: Budget | None = None) -> Mechanism:
        """The mechanism a specification describes. The channel is taken as it is; no builder is called.

        What would cost a device too much is refused before it is computed (`sottovoce.core.work`). Where a file holds
        several specifications they share a budget.
        """
        written = spec if isinstance(spec, (str, bytes)) else canonical(spec)
        plain = parse(written)
        name, version, epsilon, domain, nodes, statistic, _, guarantee = take(plain, "a mechanism", _KEYS)
        check_nodes(nodes)
        channel = channel_from_spec(nodes)
        check_work(channel, text(guarantee, "a mechanism", "guarantee"), budget or Budget(len(written)))
        mechanism = cls(
            name=text(name, "a mechanism", "name"),
            domain=domain_from_spec(domain),
            channel=channel,
            claimed=check_epsilon("a specification", text(epsilon, "a mechanism", "epsilon")),
            statistic=text(statistic, "a mechanism", "statistic"),
            version=integer(version, "a mechanism", "version"),
            guarantee=guarantee,
        )
        if canonical(mechanism.spec()) != canonical(plain):
            places = "; ".join(_corrections(mechanism.spec(), plain)[:8]) or "it has unknown keys"
            raise SpecError(f"This is not how this version writes the mechanism: {places}.")
        return mechanism

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical specification."""
        return hashlib.sha256(canonical(self.spec())).hexdigest()

    # --- the shape of a tally ----------------------------------------------------------------------
    @property
    def cells(self) -> int:
        """How many integers a tally holds."""
        if isinstance(self.channel, Keyed):
            return self.channel.key.inputs * self.channel.inner_outputs
        if self.statistic == "outputs":
            return outputs_of(self.channel) or 0
        if self.statistic == "seeds" and (pooled := facet(self.channel, Pooled)):
            return pooled.seeds * (outputs_of(self.channel) or 0)
        if self.statistic == "parts" and (known := facet(self.channel, Coordinates)):
            return known.dimensions * known.part_outputs
        if self.statistic == "sums" and (summed := facet(self.channel, Summed)):
            return len(summed.sums)
        if self.statistic == "joint":
            parts = self.channel.channels if isinstance(self.channel, Each) else ()
            return prod(outputs_of(part) or 0 for part in parts) if parts else 0
        return self.domain.size or self.channel.inputs

    # --- batches: bound late, need the extra `analysis` ---------------------------------------------
    def privatize(self, values: Any, *, seed: int | None = None, threads: int | None = None) -> Any:
        """Reports of many participants; secure randomness unless a seed is given for a simulation."""
        return late.load("fast.batch:privatize")(self, values, seed=seed, threads=threads)

    def tally(self, reports: Any, *, threads: int | None = None) -> Any:
        """Count reports: a batch from `privatize`, or messages as devices send them."""
        return late.load("tally.count:tally")(self, reports, threads=threads)

    def tally_batches(self, batches: Iterable[Any], *, threads: int | None = None) -> Any:
        """Count a stream of Arrow batches in bounded memory."""
        return late.load("tally.stream:tally_batches")(self, batches, threads=threads)

    def estimate(self, tally: Any) -> Any:
        """What the crowd said: unbiased, with intervals."""
        found = late.load(f"estimate.{_HOMES[self.question]}:estimate")(self, tally)
        return marked(found, tally.simulated)

    def decode(self, data: Any, *, method: str = "em", tolerance: float = 1e-9, max_iterations: int = 20_000) -> Any:
        """The shares of largest likelihood, from a tally of outputs or from reports, with the unbiased intervals."""
        decode = late.load("estimate.shares.likelihood:decode")
        found = decode(self, data, method=method, tolerance=tolerance, max_iterations=max_iterations)
        return marked(found, getattr(data, "simulated", False))

    def variance(self, truth: Any, n: int = 1, *, target: str = "population") -> Any:
        """The exact variance of an estimate from n reports, were this the truth.

        For frequencies the truth are the shares of all codes, and each share has a variance. For a mean it is a number
        that all participants hold, or an array of such numbers.
        """
        return late.load(f"estimate.{_HOMES[self.question]}:predicted_variance")(self, truth, n, target=target)

    def worst_case_variance(self) -> float:
        """The largest variance of one report read as a number, over every answer of the domain."""
        found: float = late.load("estimate.mean.moments:worst_case_variance")(self)
        return found

    def average_variance(self, prior: Any) -> float:
        """The variance of one report read as a number, averaged over what is believed of the answers."""
        found: float = late.load("estimate.mean.moments:average_variance")(self, prior)
        return found


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


def _corrections(own: Mapping[str, Any], given: Mapping[str, Any], path: str = "") -> list[str]:
    """What a specification should say where it differs; what it says instead is not repeated."""
    lines: list[str] = []
    for key in sorted(own):
        a, b, here = own[key], given.get(key), f"{path}{key}"
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            lines += _corrections(a, b, f"{here}.")
        elif canonical({"": a}) != canonical({"": b}):
            lines.append(f"{here} must be {a!r:.60}")
    return lines


def check_same(left: Mechanism, right: Mechanism, doing: str) -> None:
    """Refuse to go on with two different mechanisms, and show what differs."""
    if left.fingerprint != right.fingerprint:
        places = "; ".join(difference(left.spec(), right.spec()))
        raise MismatchError(
            f"Cannot {doing} of different mechanisms ({left.fingerprint[:12]} and {right.fingerprint[:12]}): {places}."
        )
