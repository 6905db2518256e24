"""The law of a sampler, by walking through every outcome of its coins.

The walk runs the shipped `sample` itself. Each decision (a flip, a draw below n, a pick from a row, one lane of
`flips`) branches with its exact probability; a rejection is conditioning. So the result is the law given
uniform words, in `Fraction`s, at the full resolution of 2**53, whatever closed forms claim.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeVar

from sottovoce.core.channel.base import Channel, Words
from sottovoce.core.coins import Coins
from sottovoce.core.errors import TooLargeError
from sottovoce.core.rational import UNIT

H = TypeVar("H", bound=Hashable)
T = TypeVar("T")

MAX_PATHS = 1 << 18
MAX_PUBLIC_BITS = 16


class TreeCoins(Coins):
    """Coins that follow a path of decisions and take the first branch beyond its end."""

    __slots__ = ("_depth", "path", "weights")

    def __init__(self, path: list[int]) -> None:
        super().__init__()
        self.path = path
        self.weights: list[list[Fraction]] = []
        self._depth = 0

    def _load(self, words: int) -> bytes:
        return b""

    def extra(self) -> int:
        raise TypeError("An enumeration takes decisions, not words.")

    def word(self) -> int:
        raise TypeError("A sampler that reads raw words cannot be enumerated: use flip, flips, pick, below or until.")

    def seek(self, position: int) -> None:
        """Decisions have no positions."""

    def decide(self, weights: list[Fraction]) -> int:
        """Take one branch; weights of zero are passed over."""
        if self._depth == len(self.path):
            self.path.append(next(i for i, weight in enumerate(weights) if weight))
        self.weights.append(weights)
        self._depth += 1
        return self.path[self._depth - 1]

    def flip(self, num: int) -> bool:
        yes = Fraction(num, UNIT)
        return self.decide([1 - yes, yes]) == 1

    def pick(self, cumulative: Sequence[int]) -> int:
        return self.decide(_steps(tuple(cumulative)))

    def below(self, n: int) -> int:
        if n > MAX_PATHS:
            raise TooLargeError(f"A draw from {n} outcomes is too wide to enumerate.")
        return self.decide([Fraction(1, n)] * n)

    def flips(self, lanes: int, num: int) -> int:
        return sum(self.flip(num) << lane for lane in range(lanes))

    def when(self, counts: bool, draw: Callable[[Coins], int]) -> int:
        return draw(self) if counts else 0  # what does not count would only multiply the branches

    def until(self, draw: Callable[[Coins], T], accept: Callable[[T], bool], tries: int = 1) -> T:
        # What is kept for later must depend on its coins alone. That is known of the nodes here; a stranger's draw may
        # look at something that `sample` has put aside, and is walked through again.
        known = type(getattr(draw, "__self__", None)).__module__.startswith(Channel.__module__.removesuffix("base"))
        values, weights = (_accepted if known else _accepted.__wrapped__)(draw, accept)
        value: T = values[self.decide(weights)]
        return value


@lru_cache(maxsize=8)
def _steps(cumulative: tuple[int, ...]) -> list[Fraction]:
    """The weights of a row, once for all of its branches."""
    return [Fraction(b - a, UNIT) for a, b in pairwise((0, *cumulative))]


@lru_cache(maxsize=8)
def _accepted(draw: Callable[[Coins], Any], accept: Callable[[Any], bool]) -> tuple[list[Any], list[Fraction]]:
    """The outcomes that are accepted, once for all paths that lead to the same draw: it depends on its coins alone."""
    outcomes = [(value, weight) for value, weight in walk(draw) if accept(value)]
    total = sum((weight for _, weight in outcomes), Fraction(0))
    if not total:
        raise ValueError("A draw that is never accepted has no law.")
    return [value for value, _ in outcomes], [weight / total for _, weight in outcomes]


def walk(draw: Callable[[Coins], T], max_paths: int = MAX_PATHS) -> Iterator[tuple[T, Fraction]]:
    """Every outcome of a draw, path by path, with its probability."""
    path: list[int] = []
    for _ in range(max_paths):
        coins = TreeCoins(path)
        value = draw(coins)
        probability = Fraction(1)
        for weights, branch in zip(coins.weights, path, strict=True):
            probability *= weights[branch]
        yield value, probability
        # The next path: the last decision that has a further branch of positive weight takes it.
        while path:
            weights, branch = coins.weights[len(path) - 1], path[-1]
            following = next((i for i in range(branch + 1, len(weights)) if weights[i]), None)
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
        law[value] = law.get(value, Fraction(0)) + probability
    return law


def law(channel: Channel, code: int, public: Words | None = None) -> dict[tuple[Words, int], Fraction]:
    """The law of (public words, report) given a code.

    Without given public words all of them are walked through, which takes words shorter than 64 bits.
    """
    result: dict[tuple[Words, int], Fraction] = {}
    ids = [public] if public is not None else list(public_words(channel))
    for words in ids:
        for report, probability in law_of(lambda coins, w=words: channel.sample(code, coins, w)).items():  # type: ignore[misc]
            result[words, report] = probability / len(ids)
    return result


def public_words(channel: Channel) -> Iterator[Words]:
    """Every pair of public words that may be an id, each as likely as any other."""
    if not channel.publics:
        yield (0, 0)
        return
    if 2 * channel.public_bits > MAX_PUBLIC_BITS:
        raise TooLargeError("Public words of 64 bits are too many to enumerate; proofs use short ones.")
    for a in range(1 << channel.public_bits):
        for b in range(1 << channel.public_bits):
            if channel.accepts((a, b)):
                yield a, b


def worst_ratio(laws: Sequence[dict[H, Fraction]]) -> Fraction | None:
    """The largest ratio of probabilities of one outcome under two laws; None where it is infinite."""
    outcomes = set().union(*laws)
    worst = Fraction(1)
    for outcome in outcomes:
        column = [one.get(outcome, Fraction(0)) for one in laws]
        if not min(column):
            return None
        worst = max(worst, max(column) / min(column))
    return worst
