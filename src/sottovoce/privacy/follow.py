"""What the audit passes to a device: every code as a value, and coins that branch or record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sottovoce.core.arithmetic.rational import FINE
from sottovoce.core.channel import Channel
from sottovoce.core.channel.facets import stages_of
from sottovoce.core.coins import Coins, SeededCoins
from sottovoce.core.domain import Domain
from sottovoce.core.exact import ENDS, STALE, TrackedCoins, TreeCoins
from sottovoce.core.specs import Spec

AGAIN = "A sampler asks for new words in the middle of a report."
SPAN = "A device asks for a number of words that its channel does not declare."


@dataclass(frozen=True, slots=True)
class Codes(Domain):
    """The codes of a channel as values, so that a device can be given each of them."""

    channel: Channel

    @property
    def size(self) -> int:
        return self.channel.inputs

    def encode(self, value: object) -> Any:
        return value

    def spec(self) -> Spec:
        return {"kind": "codes", "size": self.size}


def message_spans(channel: Channel) -> list[int]:
    """The words that a device asks for, one span after another: two for the id, and those of the channel."""
    stages = stages_of(channel)
    if stages is not None:
        memo, fresh = stages
        return [memo.words, fresh.words + 2]
    return [channel.words + 2]


class _Watch:
    """The spans that a report may ask for, and the problems found. It records them and lets the sampler continue."""

    __slots__ = ("problems", "spans")

    def __init__(self, spans: Sequence[int], problems: list[str]) -> None:
        self.spans = list(spans)
        self.problems = problems

    def begin(self, words: int, coins: TrackedCoins, passed_all: bool) -> None:
        if not passed_all:
            self.note(ENDS)
        if not self.spans:
            self.note(AGAIN)
        elif self.spans.pop(0) != words:
            self.note(SPAN)
        if coins.closed:
            self.note(AGAIN)

    def note(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


class MessageCoins(TreeCoins):
    """Coins of an enumerated message: the two words of its id are given, every decision branches."""

    __slots__ = ("_id", "_watch")

    def __init__(
        self, tree: TreeCoins, words: Sequence[int], spans: Sequence[int], problems: list[str], *, last: bool = False
    ) -> None:
        super().__init__(tree.path, last=last)
        self.weights = tree.weights  # what the walk reads
        self._id = list(words)
        self._span = 0  # nothing may be read before a span is asked for
        self._watch = _Watch(spans, problems)

    def begin(self, words: int) -> None:
        self._watch.begin(words, self, self.position == self._span)
        super().begin(words)

    def word(self) -> int:
        if not self._id:
            return super().word()
        self.pass_words(1)
        return self._id.pop(0)

    def misuse(self, problem: str) -> None:
        self._watch.note(problem)


class WatchedCoins(TrackedCoins):
    """The words of seeded coins; each is checked when it is read, and cannot be read in any other way.

    Draws that do not count get other words than those of the seed: a message that depends on them comes out different.
    """

    __slots__ = ("_hidden", "_source", "_watch")

    def __init__(self, source: SeededCoins, spans: Sequence[int], problems: list[str]) -> None:
        super().__init__()
        self._source = source
        self._hidden = b""
        self._span = 0
        self._watch = _Watch(spans, problems)

    def begin(self, words: int) -> None:
        self._watch.begin(words, self, self.position == self._span)
        super().begin(words)
        self._hidden, self._raw = self._raw, b""

    def _load(self, words: int) -> bytes:
        return self._source._load(words)

    def word(self) -> int:
        """The next word. One that follows all that were passed is in order: it is read without further questions."""
        at = self._at
        place = at >> 3
        if (
            at & 7
            or place != self._highest
            or at >= len(self._hidden)
            or self._idle
            or self.closed
            or self.bits != FINE
        ):
            return self._take(1)
        self._highest = place + 1
        self._at = at + 8
        return int.from_bytes(self._hidden[at : at + 8], "little")

    def _take(self, words: int) -> int:
        at = self._at
        self.pass_words(words)
        if self._at > len(self._hidden):
            raise IndexError("A channel reads more words than it owns.")
        value = int.from_bytes(self._hidden[at : self._at], "little")
        return ~value & ((1 << 64 * words) - 1) if self._idle else value

    def extra(self) -> int:
        if self.closed:
            self.misuse(STALE)
        return self._source.extra()

    def misuse(self, problem: str) -> None:
        self._watch.note(problem)


class NoCoins(Coins):
    """Coins that record whether they were used."""

    __slots__ = ("touched",)

    def __init__(self) -> None:
        super().__init__()
        self.touched = False

    def _load(self, words: int) -> bytes:
        self.touched = True
        return bytes(8 * words)

    def extra(self) -> int:
        self.touched = True
        return 0
