"""Linear decoders: unbiased shares of buckets as sums of scores of the outputs, of least variance for equal shares.

With the law M of an output given the bucket and D the rates of the outputs when all buckets are equally common, the
shares (M' D^-1 M)^-1 M' D^-1 r of the rates r have the least variance there, and are unbiased everywhere.
"""

from __future__ import annotations

import numpy as np

from sottovoce.core.channel import Channel, Table
from sottovoce.core.channel.shapes import alternatives_of
from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.estimate.distribution.readings.transition import Transition, WaveTransition, undetermined
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.reading import MatrixReading, OutputReading

MOST_DENSE = 1 << 11  # buckets whose shares are found by solving linear equations
_LEAST = 1e-9  # of the length of a function, that must lie outside the functions before it
_EXACT = 1e-6  # of a share, by which a solution may fail its equations


class DenseDecode(MatrixReading):
    """The scores of least variance for equal shares, by solving linear equations."""

    def __init__(self, transition: Transition) -> None:
        if transition.buckets > MOST_DENSE:
            raise TooLargeError(
                f"Unbiased shares of {transition.buckets} buckets need too large a matrix; {MOST_DENSE} are possible."
            )
        law = transition.matrix
        weight = law.mean(axis=1)
        used = weight > 0
        self.matrix = np.zeros(law.T.shape)
        for solve in (_normal_equations, _orthogonal):
            self.matrix[:, used] = solve(law[used], weight[used])
            if np.abs(self.matrix @ law - np.eye(transition.buckets)).max() < _EXACT:  # not NaN either
                return
        raise undetermined(transition.buckets)


def _normal_equations(law: Floats, weight: Floats) -> Floats:
    scaled = law.T / weight
    try:
        return np.asarray(np.linalg.solve(scaled @ law, scaled))
    except np.linalg.LinAlgError:
        return np.full(law.T.shape, np.nan)


def _orthogonal(law: Floats, weight: Floats) -> Floats:
    """The scores of least variance by orthogonal factors: twice as many digits, in twice the time."""
    root = np.sqrt(weight)
    basis, triangle = np.linalg.qr(law / root[:, None])
    try:
        return np.asarray(np.linalg.solve(triangle, basis.T / root))
    except np.linalg.LinAlgError:
        return np.full(law.T.shape, np.nan)


class ChainDecode(OutputReading):
    """Scores of a wave whose window moves by one output from each code to the next, in linear time.

    With G the cumulative shares of the codes and w the width, the rate of output y is q + (p - q) (G(y) - G(y - w)),
    where G is 0 before the first code and 1 from the last one on. So the outputs y, y + w, y + 2 w, ... tell one chain
    of cumulative shares, whose differences must sum to 1: what they miss is shared out in proportion to their
    variances. The cumulative share up to the end of a bucket is that of its code. Where numbers are rounded to the
    points of a grid, it is the mean of two straight lines, through the points of the bucket before the end and of the
    bucket behind it.
    """

    def __init__(self, transition: WaveTransition) -> None:
        self.buckets, self.outputs, self.width = transition.buckets, transition.outputs, transition.width
        self.each = transition.per_bucket
        self.slope = 1 / (transition.high - transition.low)
        self.stencil = _through_lines(self.each) if transition.rounded else np.ones(1)
        uniform = self._table(transition.uniform)
        sums = np.cumsum(uniform, axis=0)
        self.parts = sums / sums[-1]  # of its chain, up to each output
        place = np.arange(1, len(uniform) + 1)[:, None]
        length = np.bincount(np.arange(self.outputs) % self.width)
        excess = transition.low * self.slope
        self.base = self.parts * (1 + excess * length) - excess * place  # what no report adds

    def _table(self, numbers: Floats) -> Floats:
        """One column for each chain; chains are filled up with zeros."""
        rows = -(-self.outputs // self.width)
        return np.pad(numbers, (0, rows * self.width - len(numbers))).reshape(rows, self.width)

    def _edges(self, numbers: Floats) -> Floats:
        """Numbers at the edges between two buckets, from those of the codes."""
        inner, heights = self.each * (self.buckets - 2) + 1, np.zeros(self.buckets - 1)
        for start, weight in enumerate(self.stencil):
            heights += weight * numbers[start : start + inner : self.each]
        return heights

    def scores(self, weights: Floats) -> Floats:
        return np.array([self._scores(row) for row in np.atleast_2d(weights)])

    def _scores(self, weights: Floats) -> Floats:
        """Sums of shares are sums of cumulative shares: each share is the difference of two."""
        steps, inner = np.zeros(self.outputs), self.each * (self.buckets - 2) + 1
        for start, weight in enumerate(self.stencil):
            steps[start : start + inner : self.each] += weight * (weights[:-1] - weights[1:])
        table = self._table(steps)
        later = np.cumsum(table[::-1], axis=0)[::-1]
        scores = self.slope * (later - (table * self.parts).sum(axis=0))
        # Of the last bucket the cumulative share is known.
        return np.asarray(scores.ravel()[: self.outputs] + (table * self.base).sum() + weights[-1])

    def values(self, rates: Floats) -> Floats:
        upto = np.cumsum(self._table(rates), axis=0)
        heights = self.slope * (upto - self.parts * upto[-1]) + self.base * rates.sum()
        return np.diff(self._edges(heights.ravel()), prepend=0.0, append=rates.sum())

    def squares(self, rates: Floats) -> Floats:
        if self.buckets == 1:
            return np.array([rates.sum()])
        own, each = self.stencil, self.each
        rise = np.pad(own, (each, 0)) - np.pad(own, (0, each))
        first = self._squares(rates, own, 0, 1, 0.0)
        inner = self._squares(rates, rise, 0, self.buckets - 2, 0.0)
        last = self._squares(rates, -own, each * (self.buckets - 2), 1, 1.0)
        return np.concatenate([first, inner, last])

    def _squares(self, rates: Floats, weights: Floats, first: int, count: int, constant: float) -> Floats:
        """The mean squares of `count` scores: `constant` and the cumulative shares of neighbouring codes, weighted.

        The codes of one score begin at `first`, those of the next a bucket later. A report moves the cumulative shares
        of its own chain only, so codes of different chains have no products.
        """
        upto = np.cumsum(self._table(rates), axis=0)
        whole = np.broadcast_to(upto[-1], upto.shape)
        numbers = [one.ravel() for one in (upto, whole, self.parts, self.base)]
        last = first + self.each * (count - 1) + 1
        points = [[one[first + k : last + k : self.each] for one in numbers] for k in range(len(weights))]
        still, mean, square = np.full(count, constant), np.zeros(count), np.zeros(count)
        for k, (below, total, part, base) in enumerate(points):
            still += weights[k] * base
            mean += weights[k] * (below - part * total)
            for more in range(k, len(weights), self.width):
                above, _, share, _ = points[more]
                both = (1 - share) * ((1 - part) * below - part * (above - below)) + share * part * (total - above)
                square += (1 if more == k else 2) * weights[k] * weights[more] * both
        return np.asarray(self.slope**2 * square + 2 * self.slope * still * mean + still**2 * rates.sum())


def _through_lines(points: int) -> Floats:
    """Weights of the points of two buckets for the height between them: half of each line of least squares there.

    In steps of the grid the height of point r of a bucket is that of the curve at r + 1/2, since the share of a point
    is half that of the step before it and half that of the step behind it.
    """
    places = (np.arange(points) + 0.5) / points - 0.5
    ahead = 1 / points - 0.5 * places / (places**2).sum()
    return np.concatenate([ahead[::-1], ahead]) / 2


def functions_of(channel: Channel) -> tuple[Table, ...]:
    """The tables of two reports each, one of which a participant answers through; none for any other channel."""
    parts = [part for _, part in alternatives_of(channel)]
    tables = tuple(part for part in parts if isinstance(part, Table) and part.outputs == 2)
    return tables if len(tables) == len(parts) else ()


def is_projection(channel: Channel) -> bool:
    """Whether reports tell fewer functions than there are shares."""
    return 0 < len(functions_of(channel)) < channel.inputs - 1


class ProjectedDecode(MatrixReading):
    """Scores of least variance for equal shares, among those that are unbiased for the projection."""

    def __init__(self, channel: Channel, transition: Transition) -> None:
        tables = functions_of(channel)
        heights = np.array([[row[1] for row in table.rows] for table in tables], float).T
        heights = (heights - heights.mean(axis=0)) / np.ptp(heights, axis=0)
        basis, lengths = np.linalg.qr(np.column_stack([np.ones(len(heights)), heights]))
        if np.abs(np.diag(lengths)).min() < _LEAST * np.abs(lengths).max():
            raise ParameterError("The functions of these reports depend on each other.")
        law = transition.matrix @ basis
        scaled = law.T / transition.matrix.mean(axis=1)
        self.projection: Floats = basis @ basis.T
        self.matrix = basis @ np.linalg.solve(scaled @ law, scaled)

    def between(self, shares: Floats) -> Floats:
        return np.asarray(self.projection**2 @ shares)
