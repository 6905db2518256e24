"""The law of a sampler, by walking through every outcome of its coins.

The walk runs the shipped `sample` itself. Each decision (a flip, a draw below n, a pick from a row, one lane of
`flips`) branches with its exact probability; a rejection is conditioning. So the result is the law given
uniform words, in `Fraction`s, at the full resolution of 2**53, independently of closed forms.

Decisions branch independently of each other only if each has words of its own. So the walk also tracks the position in
the span: reading a word twice, or outside the requested span, is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain, pairwise
from operator import is_
from typing import Any, NamedTuple, TypeVar

from sottovoce.core.arithmetic.hashing import WORD
from sottovoce.core.arithmetic.rational import FINE, UNIT
from sottovoce.core.channel.base import Channel, Words, nested
from sottovoce.core.channel.facets import PublicCoins, facet
from sottovoce.core.coins import BACKWARD, Coins, flips_span
from sottovoce.core.errors import TooLargeError, WordsError

H = TypeVar("H", bound=Hashable)
T = TypeVar("T")

MAX_PATHS = 1 << 18
MAX_PUBLIC_BITS = 16

TWICE = "A sampler reads a word twice, so two of its decisions are dependent."
BEYOND = "A sampler reads words beyond those that its channel owns."
ENDS = "A sampler does not end at the last word that its channel owns."
COPIED = "A sampler copies its coins and could read their words again."
STALE = "A sampler reads the words of an earlier report."
NO_LAW = "A sampler draws with probabilities that are negative or do not sum to one."
COARSE = "A sampler changes how many bits of a word its coins read."


class TrackedCoins(Coins):
    """Coins that track which words of the span were read: each at most once, and none outside the span."""

    __slots__ = ("_highest", "_skipped", "_span", "closed")

    def __init__(self) -> None:
        super().__init__()
        self._span: int | None = None  # words that may be read; None: no span was requested, so all may
        self._highest = 0  # all words before this one were read or skipped
        self._skipped: list[tuple[int, int]] = []  # (start, stop)
        self.closed = False

    def begin(self, words: int) -> None:
        super().begin(words)
        self._span, self._highest, self._skipped = words, 0, []

    def flip(self, num: int) -> bool:
        self.check_law(num)
        return super().flip(num)

    def pick(self, cumulative: Sequence[int]) -> int:
        if cumulative[-1] != UNIT:  # the remaining probability would belong to no outcome
            self.misuse(NO_LAW)
        return super().pick(cumulative)

    def flips(self, lanes: int, num: int) -> int:
        self.check_law(num)
        return super().flips(lanes, num)

    def check_law(self, num: int) -> None:
        """Check a probability in units: branches of negative weight would hide excess weight of others."""
        if not 0 <= num <= UNIT:
            self.misuse(NO_LAW)

    def seek(self, position: int) -> None:
        if position < self.position:
            self.misuse(BACKWARD)
        if position > self._highest:
            self._skipped.append((self._highest, position))
            self._highest = position
        self._at = 8 * position

    def pass_words(self, words: int) -> None:
        """Read the next `words` words. A draw that does not count skips them, so another draw may read them."""
        here = self._at // 8
        there = here + words
        if self.bits != FINE:
            self.misuse(COARSE)
        if self.closed:
            self.misuse(STALE)
        if words and self._span is not None and there > self._span:
            self.misuse(BEYOND)
        if self._idle:
            self.seek(there)
            return
        if here < self._highest and words:
            self._return_to(here, min(there, self._highest))
        if there > self._highest:
            self._highest = there
        self._at = 8 * there

    def _return_to(self, here: int, there: int) -> None:
        """Read words below the highest position: each must be one that was skipped."""
        for number, (start, end) in enumerate(self._skipped):
            if start <= here and there <= end:
                self._skipped[number : number + 1] = [(start, here), (there, end)]
                return
        self.misuse(TWICE)

    def close(self) -> None:
        """The report is drawn: its whole span was passed, and no later report reads it."""
        if self._span is not None and self.position != self._span:
            self.misuse(ENDS)
        self.closed = True

    def __reduce_ex__(self, protocol: Any) -> Any:
        self.misuse(COPIED)
        raise WordsError(COPIED)

    def misuse(self, problem: str) -> None:
        """Called when a sampler misuses its words."""
        raise WordsError(problem)


class TreeCoins(TrackedCoins):
    """Coins that follow a path of decisions and take the first branch beyond its end.

    A decision that does not count has no branches. It is `ignored`: it takes its first outcome, or its last where that
    is asked for, and what is drawn must be the same in both cases.
    """

    __slots__ = ("_depth", "_last", "ignored", "path", "weights")

    def __init__(self, path: list[int], *, last: bool = False) -> None:
        super().__init__()
        self.path = path
        self.weights: list[list[Fraction]] = []
        self.ignored = False
        self._last = last
        self._depth = 0

    def _load(self, words: int) -> bytes:
        return b""

    def extra(self) -> int:
        raise TypeError("An enumeration takes decisions, not words.")

    def word(self) -> int:
        raise TypeError("A sampler that reads raw words cannot be enumerated: use flip, flips, pick, below or until.")

    def decide(self, weights: list[Fraction]) -> int:
        """Take one branch; weights of zero are skipped. A draw that does not count adds no branches."""
        if self._idle:
            possible = [i for i, weight in enumerate(weights) if weight]
            return possible[self._ignore(len(possible))]
        if self._depth == len(self.path):
            self.path.append(next(i for i, weight in enumerate(weights) if weight))
        self.weights.append(weights)
        self._depth += 1
        return self.path[self._depth - 1]

    def _ignore(self, outcomes: int) -> int:
        """The outcome of a decision that does not count."""
        self.ignored |= outcomes > 1
        return outcomes - 1 if self._last else 0

    def flip(self, num: int) -> bool:
        self.pass_words(1)
        self.check_law(num)
        return self.decide(_chances(num)) == 1

    def pick(self, cumulative: Sequence[int]) -> int:
        self.pass_words(1)
        weights, lawful = _steps(tuple(cumulative))
        if not lawful:
            self.misuse(NO_LAW)
        return self.decide(weights)

    def below(self, n: int) -> int:
        self.pass_words(1)
        if self._idle:
            return self._ignore(n)
        if n > MAX_PATHS:
            raise TooLargeError(f"A draw from {n} outcomes is too wide to enumerate.")
        return self.decide(_equal(n))

    def flips(self, lanes: int, num: int) -> int:
        self.pass_words(flips_span(lanes, num))
        self.check_law(num)
        weights = _chances(num)
        return sum(self.decide(weights) << lane for lane in range(lanes))

    def until(self, draw: Callable[[Coins], T], accept: Callable[[T], bool], tries: int = 1) -> T:
        """Rejection is conditioning. After it, a sampler may not rely on a word that some try could have read."""
        accepted = self._accepted(draw, accept)
        self.pass_words(tries * accepted.words)
        value: T = accepted.values[self.decide(accepted.weights)]
        return value

    def _accepted(self, draw: Callable[[Coins], Any], accept: Callable[[Any], bool]) -> _Accepted:
        # Cached laws must depend on the coins alone. That is known for the nodes of this package; the draw of another
        # node may depend on state that `sample` keeps, so it is enumerated each time.
        known = type(getattr(draw, "__self__", None)).__module__.startswith(Channel.__module__.removesuffix("base"))
        return (_accepted if known else _accepted.__wrapped__)(draw, accept, self.position)


class _Accepted(NamedTuple):
    """The law of a draw given that it is accepted."""

    values: list[Any]
    weights: list[Fraction]
    words: int  # the most that one try reads


@lru_cache(maxsize=64)
def _chances(num: int) -> list[Fraction]:
    """The weights of tails and heads of a flip."""
    yes = Fraction(num, UNIT)
    return [1 - yes, yes]


@lru_cache(maxsize=64)
def _equal(n: int) -> list[Fraction]:
    """The weights of n outcomes that are equally likely."""
    return [Fraction(1, n)] * n


@lru_cache(maxsize=8)
def _steps(cumulative: tuple[int, ...]) -> tuple[list[Fraction], bool]:
    """The weights of a row, and whether they are a law, once for all of its branches."""
    steps = [b - a for a, b in pairwise((0, *cumulative))]
    return [Fraction(step, UNIT) for step in steps], cumulative[-1] == UNIT and min(steps) >= 0


@lru_cache(maxsize=8)
def _accepted(draw: Callable[[Coins], Any], accept: Callable[[Any], bool], start: int) -> _Accepted:
    """The accepted outcomes, cached for all paths that lead to the same draw: it depends on its coins alone."""
    words = 0

    def counted(coins: Coins) -> Any:
        nonlocal words
        coins.seek(start)
        value = draw(coins)
        words = max(words, coins.position - start)
        return value

    outcomes = [(value, weight) for value, weight in walk(counted) if accept(value)]
    total = sum((weight for _, weight in outcomes), Fraction(0))
    if not total:
        raise ValueError("A draw that is never accepted has no law.")
    return _Accepted([value for value, _ in outcomes], [weight / total for _, weight in outcomes], words)


def walk(draw: Callable[[Coins], T], max_paths: int = MAX_PATHS) -> Iterator[tuple[T, Fraction]]:
    """Every outcome of a draw, path by path, with its probability."""
    path: list[int] = []
    before: list[list[Fraction]] = []  # the weights of the last path's decisions
    products = [Fraction(1)]  # the probability of each beginning of the path that was not left
    for _ in range(max_paths):
        kept = len(products) - 1
        coins = TreeCoins(path)
        value = draw(coins)
        if not all(map(is_, coins.weights[:kept], before)):  # a sampler may keep state
            del products[1:]
        for weights, branch in zip(coins.weights[len(products) - 1 :], path[len(products) - 1 :], strict=True):
            products.append(products[-1] * weights[branch])
        yield value, products[-1]
        # The next path: the last decision that has a further branch of positive weight takes it.
        before = coins.weights
        while path:
            weights, branch = before[len(path) - 1], path[-1]
            following = next((i for i in range(branch + 1, len(weights)) if weights[i]), None)
            products.pop()
            if following is not None:
                path[-1] = following
                break
            path.pop()
        if not path:
            return
    raise TooLargeError(f"The coins of this sampler have more than {max_paths} outcomes.")


def law_of(draw: Callable[[Coins], H], max_paths: int = MAX_PATHS) -> dict[H, Fraction]:
    """The law of any draw."""
    law: dict[H, Fraction] = {}
    for value, probability in walk(draw, max_paths):
        law[value] = law[value] + probability if value in law else probability
    return law


def law(channel: Channel, code: Any, public: Words | None = None) -> dict[tuple[Words, int], Fraction]:
    """The law of (public words, report) given a code.

    Without given public words all of them are enumerated, which needs words shorter than 64 bits.
    """
    result: dict[tuple[Words, int], Fraction] = {}
    ids = [public] if public is not None else list(public_words(channel))
    for words in ids:
        for report, probability in law_of(lambda coins, w=words: channel.sample(code, coins, w)).items():  # type: ignore[misc]
            result[words, report] = probability / len(ids)
    return result


def public_words(channel: Channel) -> Iterator[Words]:
    """Every pair of public words that may be an id; all are equally likely."""
    if not channel.publics:
        yield (0, 0)
        return
    bits = public_bits(channel)
    if 2 * bits > MAX_PUBLIC_BITS:
        raise TooLargeError("Public words of 64 bits are too many to enumerate; proofs use short ones.")
    for a in range(1 << bits):
        for b in range(1 << bits):
            if channel.accepts((a, b)):
                yield a, b


def public_bits(channel: Channel) -> int:
    """Bits of each of the two public words: those of the node that reads the shortest."""
    readers = (facet(node, PublicCoins) for node in (channel, *nested(channel)))
    return min((reader.public_bits for reader in readers if reader is not None), default=WORD)


class Distinction(NamedTuple):
    """An outcome, and the two laws, by number, under which its probabilities differ most."""

    outcome: Any
    likelier: int
    rarer: int
    probabilities: tuple[Fraction, Fraction]

    @property
    def ratio(self) -> Fraction | None:
        """How many times as likely the outcome is under the first; None where the second never has it."""
        more, less = self.probabilities
        return more / less if less else None


def worst_distinction(laws: Sequence[dict[H, Fraction]]) -> Distinction:
    """The outcome with the largest ratio of probabilities under two laws; where it is infinite, the likeliest such."""
    worst, rank = None, (False, Fraction(0))
    for outcome in dict.fromkeys(chain.from_iterable(laws)):  # in the order of the laws: ties are always broken alike
        column = [one.get(outcome, Fraction(0)) for one in laws]
        more, less = max(column), min(column)
        candidate = (not less, more / less if less else more)
        if candidate > rank:
            rank = candidate
            worst = Distinction(outcome, column.index(more), column.index(less), (more, less))
    if worst is None:
        raise ValueError("Laws without outcomes cannot be compared.")
    return worst


def worst_ratio(laws: Sequence[dict[H, Fraction]]) -> Fraction | None:
    """The largest ratio of probabilities of one outcome under two laws; None where it is infinite."""
    return worst_distinction(laws).ratio
