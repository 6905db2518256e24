"""`Noise`: the code plus two-sided noise whose likelihood falls by e**epsilon over the length of the range."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from typing import ClassVar

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.facets import Costed, Extremal, Numeric, Scale
from sottovoce.core.channel.shapes import Clamped, Indexed
from sottovoce.core.coins import Coins
from sottovoce.core.declared import declared, integer, integers
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_integer
from sottovoce.core.spec_cost import Effort, summed

MAX_OUTPUTS = 1 << 24
_HALF = UNIT // 2


@declared
class Noise(Indexed, Numeric, Extremal, Clamped, Costed):
    """Codes 0, ..., steps plus noise of a magnitude m with a fair sign: m or -1 - m, so that zero is not counted twice.

    Magnitudes come in bands: `bands` holds their weights, `first` the weights within band 0 and `cycle` those within
    each later one, which is `steps` long, as long as the range of the codes. All lists sum to 2**53. The last band
    stands for everything beyond: the sum is clamped to a public range in which every code reaches every output, and a
    magnitude of the last band always ends on its border. So no tail is ever rounded to weight zero.
    """

    kind: ClassVar[str] = "noise"
    words: ClassVar[int] = 3
    steps: int = integer(1, MAX_OUTPUTS)
    first: tuple[int, ...] = integers(1, UNIT)
    cycle: tuple[int, ...] = integers(1, UNIT)
    bands: tuple[int, ...] = integers(1, UNIT)

    def check_fields(self) -> None:
        for name in ("first", "cycle", "bands"):
            if sum(getattr(self, name)) != UNIT:
                raise ParameterError(f"The {name!r} weights of a noise channel must sum to 2**53.")
        if len(self.cycle) != self.steps or len(self.first) > self.steps or len(self.bands) < 3:
            raise ParameterError(
                "A noise channel must have at least three bands: the first at most as long as the range, each later one"
                " exactly as long."
            )
        check_integer("outputs", self.kind, self.outputs, 2, MAX_OUTPUTS)
        if self._rises():
            raise ParameterError("In a noise channel a larger magnitude must not be likelier than a smaller one.")

    @property
    def inputs(self) -> int:
        return self.steps + 1

    @property
    def limit(self) -> int:
        """How far beyond the codes the reports reach: a magnitude of the last band is beyond that for every code."""
        return len(self.first) + (len(self.bands) - 3) * self.steps

    @property
    def outputs(self) -> int:
        return self.steps + 2 * self.limit + 2

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        band = coins.pick(_cumulative(self.bands))
        later = band > 0
        within = coins.pick((_cumulative(self.first), _cumulative(self.cycle))[later])
        magnitude = within + (len(self.first) + (band - 1) * self.steps) * later
        noise = (-1 - magnitude, magnitude)[coins.flip(_HALF)]
        beyond = self.limit + 1
        return min(max(code + noise + beyond, 0), self.steps + 2 * beyond - 1)

    def ratio(self) -> Fraction:
        """The ratio of a magnitude and the one a whole range beyond, or of the tails at the border.

        Larger magnitudes are never likelier, so the worst pair of codes are the two ends.
        """
        worst = Fraction(self.bands[-2] + self.bands[-1], self.bands[-1])
        beyond = self.cycle[self.steps - len(self.first) :]  # the weights a whole range beyond the first band
        for near, far in {*zip(self.first, beyond, strict=True)}:
            worst = max(worst, Fraction(self.bands[0] * near, self.bands[1] * far))
        for nearer, farther in {*pairwise(self.bands[1:-1])}:
            worst = max(worst, Fraction(nearer, farther))
        return worst

    def _rises(self) -> bool:
        """Whether some magnitude is likelier than the one before it: in a list, or from one band to the next."""
        lists = (self.first, self.cycle, self.bands[1:-1])
        if any(later > earlier for listed in lists for earlier, later in pairwise(listed)):
            return True
        ends = [self.bands[0] * self.first[-1], *(band * self.cycle[-1] for band in self.bands[1:-1])]
        starts = [band * self.cycle[0] for band in self.bands[1:-1]]
        return any(later > earlier for earlier, later in zip(ends, starts, strict=False))

    def effort(self) -> Effort:
        """The ratio needs the lists only; all else needs the weight of every magnitude."""
        known = summed(self, Effort(ratio=len(self.first) + len(self.bands)))
        return known._replace(extremes=4 * self.outputs)

    def likelihood(self, report: int, code: int, public: Words = NO_WORDS) -> Fraction:
        table = _tails(self) if report in (0, self.outputs - 1) else _magnitudes(self)
        return Fraction(table[self._magnitude(report, code)], 2 * UNIT * UNIT)

    def _magnitude(self, report: int, code: int) -> int:
        noise = report - self.limit - 1 - code
        return noise if noise >= 0 else -1 - noise

    def tail(self, distance: int) -> Fraction:
        """The probability of noise of at least this many steps upwards, or of one step more downwards."""
        return Fraction(_tails(self)[distance], 2 * UNIT * UNIT)

    def extremes(self) -> tuple[list[Fraction], list[Fraction]]:
        """Likeliest from the nearest code, least likely from the farther end."""
        most, least, (tails, magnitudes) = [], [], (_tails(self), _magnitudes(self))  # looked up once: they are long
        for y in range(self.outputs):
            table = tails if y in (0, self.outputs - 1) else magnitudes
            nearest = min(max(y - self.limit - 1, 0), self.steps)
            most.append(Fraction(table[self._magnitude(y, nearest)], 2 * UNIT * UNIT))
            farther = min(table[self._magnitude(y, 0)], table[self._magnitude(y, self.steps)])
            least.append(Fraction(farther, 2 * UNIT * UNIT))
        return most, least

    def scales(self) -> tuple[Scale, ...]:
        """The noise has mean -1/2, apart from what is clamped, which `moments` takes into account."""
        return (Scale(0, self.limit + Fraction(1, 2), Fraction(1)),)

    def moments(self, code: int) -> tuple[Fraction, Fraction]:
        # Read as a number, a magnitude m is m + 1/2 to either side; upwards it is clamped at the distance of the
        # border. Sums up to there, and the tail beyond, are known for every distance.
        first = second = Fraction(0)
        for side, distance in ((1, self.steps + self.limit - code), (-1, self.limit + code)):
            odd, square = _sums(self)[distance]  # sums of (2m + 1) weight and of its square, below the distance
            border = 2 * distance + 1
            tail = _tails(self)[distance]
            first += side * Fraction(odd + border * tail, 4 * UNIT * UNIT)
            second += Fraction(square + border**2 * tail, 8 * UNIT * UNIT) + Fraction(
                side * code * (odd + border * tail), 2 * UNIT * UNIT
            )
        return code + first, second + code**2

    def miniatures(self) -> tuple[Channel, ...]:
        """Fewer steps and bands, if larger magnitudes are still not likelier."""
        small_channels = []
        for steps, bands in ((1, 4), (2, 4), (3, 3), (4, 5)):
            shorter = max(1, steps * len(self.first) // self.steps)
            try:
                first, cycle = _coarse(self.first, shorter), _coarse(self.cycle, steps)
                small_channels.append(
                    type(self)(steps, first, cycle, (*self.bands[: bands - 1], sum(self.bands[bands - 1 :])))
                )
            except ParameterError:
                continue
        return tuple(small_channels)


@lru_cache(maxsize=24)
def _cumulative(weights: tuple[int, ...]) -> tuple[int, ...]:
    """Running sums, cached for devices that answer often."""
    return tuple(accumulate(weights))


@lru_cache(maxsize=8)
def _magnitudes(channel: Noise) -> tuple[int, ...]:
    """The weight of each magnitude before the last band, in units of 2**-106."""
    bands = [[channel.bands[0] * weight for weight in channel.first]]
    bands += [[band * weight for weight in channel.cycle] for band in channel.bands[1:-1]]
    return tuple(chain.from_iterable(bands))


@lru_cache(maxsize=8)
def _tails(channel: Noise) -> tuple[int, ...]:
    """The weight of each magnitude and all larger ones; the last entry is that of the last band."""
    return tuple(accumulate(reversed(_magnitudes(channel)), initial=channel.bands[-1] * UNIT))[::-1]


@lru_cache(maxsize=8)
def _sums(channel: Noise) -> tuple[tuple[int, int], ...]:
    """For each distance the sums of (2m + 1) weight and (2m + 1)**2 weight over the magnitudes below it."""
    odd = accumulate(((2 * m + 1) * weight for m, weight in enumerate(_magnitudes(channel))), initial=0)
    square = accumulate(((2 * m + 1) ** 2 * weight for m, weight in enumerate(_magnitudes(channel))), initial=0)
    return tuple(zip(odd, square, strict=True))


def _coarse(weights: tuple[int, ...], length: int) -> tuple[int, ...]:
    """A number of the weights, evenly spaced, scaled to the same sum."""
    taken = [weights[place * len(weights) // length] for place in range(length)]
    total = sum(taken)
    later = [weight * UNIT // total for weight in taken[1:]]
    return (UNIT - sum(later), *later)
