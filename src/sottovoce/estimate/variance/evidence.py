"""The variance of a number from tallies: of two arms, of two reports of each participant, or of shares."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel.shapes import each_of
from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.powers import Powers
from sottovoce.core.domain.views import Square
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Mean, Question, Variance
from sottovoce.core.statistic.joint import CountJoint
from sottovoce.core.statistic.moments import POWERS, Moments
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.estimate.candidates import refuse
from sottovoce.estimate.estimate import Estimate, sources_of
from sottovoce.estimate.evidence import Evidence, Ints
from sottovoce.estimate.frequency.base import SharesEvidence
from sottovoce.estimate.mean.evidence import MeanEvidence, from_cells
from sottovoce.estimate.mean.evidence import evidence as mean_evidence
from sottovoce.estimate.mean.from_sums import SummedMeanEvidence, from_sums
from sottovoce.estimate.mean.readings import scale_of
from sottovoce.estimate.request import Target
from sottovoce.estimate.variance.errors import MeanPart, ReadingNoise
from sottovoce.estimate.variance.of_shares import variance_of_shares
from sottovoce.estimate.variance.same_reports import from_outputs
from sottovoce.estimate.variance.spread import DeviationEvidence, VarianceEvidence
from sottovoce.tally.tally import Tally

READS = (CountJoint, Moments)


def evidence(mechanism: Mechanism, tally: Tally, candidates: Iterable[object] | None = None) -> VarianceEvidence:
    """The evidence of a tally of both reports of every participant."""
    refuse(mechanism, candidates)
    return from_both(tally)


def answer(found: Evidence, question: Question) -> Evidence | None:
    """The variance of numbers from evidence about their shares, or from the same reports as their mean."""
    if isinstance(found, SharesEvidence):
        return variance_of_shares(found, question.domain)
    about = found.question is not None and found.question.domain == question.domain
    if isinstance(found, MeanEvidence) and found.counted is not None and about:
        return from_outputs(found)
    return None


def moments(domain: Domain, spread: VarianceEvidence, tallies: Iterable[Tally]) -> dict[str, Estimate]:
    """Mean, variance and standard deviation of the numbers of a domain as estimates."""
    sources = sources_of(tallies)
    (mean,) = spread.also
    return {
        "mean": Estimate.of(Mean(domain), mean, sources),
        "variance": Estimate.of(Variance(domain), spread, sources),
        "sd": Estimate.of(Variance(domain), DeviationEvidence(spread), sources),
    }


# --- from tallies ----------------------------------------------------------------------------------
def from_arms(number: Tally, square: Tally, *, learned: bool = False) -> VarianceEvidence:
    """Two tallies of different participants: of the number, and of its squared distance from a centre."""
    view = square.mechanism.domain
    if not isinstance(view, Square):
        raise ParameterError(f"The second tally of a variance must be of squares. Got a domain of kind {view.kind}.")
    if not number.n or not square.n:
        raise ParameterError("A variance needs at least two reports of the number and two of its square.")
    first, second = (mean_evidence(tally.mechanism, tally) for tally in (number, square))
    return VarianceEvidence(
        MeanPart.of(first),
        MeanPart.of(second),
        Fraction(view.centre),
        first.ends,
        learned,
        question=Variance(number.mechanism.question.domain),
        also=(first,),
    )


def parts(mechanism: Mechanism) -> tuple[Mechanism, Mechanism]:
    """The two mechanisms that one with joint cells holds side by side."""
    domain, each = mechanism.domain, each_of(mechanism.channel)
    if not isinstance(domain, Powers) or each is None:
        raise ParameterError(f"The joint cells of {mechanism.name} are not those of a number and its square.")
    first, second = (
        Mechanism(f"{mechanism.name}: {name}", Mean(own), part, mechanism.claimed, CountOutputs())
        for name, own, part in zip(("number", "square"), domain.parts, each.channels, strict=True)
    )
    return first, second


def from_both(tally: Tally) -> VarianceEvidence:
    """The evidence about variance and mean of one tally of both reports of every participant."""
    both, view = parts(tally.mechanism), tally.mechanism.domain
    first: MeanEvidence | SummedMeanEvidence
    second: MeanEvidence | SummedMeanEvidence
    if isinstance(tally.mechanism.statistic, Moments):
        table = _moment_table(both, tally.cells)
        first = from_sums(both[0], [[int(n) for n in row] for row in table[:, :, [0, 1, 3]].sum(axis=1)])
        second = from_sums(both[1], [[int(n) for n in row] for row in table[:, :, [0, 2, 4]].sum(axis=0)])
        products = _products(both, table)
    else:
        joint = tally.cells.reshape([mechanism.cells for mechanism in both])
        first, second = (from_cells(one, tally.n, joint.sum(axis=1 - axis)) for axis, one in enumerate(both))
        products = _products(both, _moments_of(both, joint))
    number, square = MeanPart.of(first), MeanPart.of(second)
    centre = Fraction(view.centre)  # type: ignore[attr-defined]
    covariance = (products - number.n * number.mean * square.mean) / (number.n - 1)

    def noise() -> ReadingNoise:
        return ReadingNoise(first.noise, second.noise)

    asked = tally.mechanism.question
    return VarianceEvidence(
        number, square, centre, first.ends, joint=covariance, noise=noise, question=asked, also=(first,)
    )


def _moment_table(both: tuple[Mechanism, Mechanism], cells: Ints) -> NDArray[np.object_]:
    """Moments by stretch of the number, stretch of the square and power: as whole numbers that do not overflow."""
    rows, columns = (len(_stretches(mechanism)) for mechanism in both)
    return cells.astype(object).reshape(rows, columns, len(POWERS))


def _moments_of(both: tuple[Mechanism, Mechanism], joint: Ints) -> NDArray[np.object_]:
    """The same moments from joint cells; only those that a covariance needs."""
    rows, columns = (_stretches(mechanism) for mechanism in both)
    found = np.zeros((len(rows), len(columns), len(POWERS)), object)
    for r, (_, row) in enumerate(rows):
        for c, (_, column) in enumerate(columns):
            block = joint[row, column].astype(object)
            ys, zs = (np.arange(size).astype(object) for size in block.shape)
            found[r, c] = [block.sum(), ys @ block.sum(axis=1), zs @ block.sum(axis=0), 0, 0, ys @ block @ zs]
    return found


def _products(both: tuple[Mechanism, Mechanism], table: NDArray[np.object_]) -> Fraction:
    """The sum of the products of both readings of each participant, exactly."""
    rows, columns = (_stretches(mechanism) for mechanism in both)
    total = Fraction(0)
    for r, (left, _) in enumerate(rows):
        for c, (right, _) in enumerate(columns):
            n, linear, other, crossed = (int(table[r, c, power]) for power in (0, 1, 2, 5))
            a, b = left.first - left.origin, right.first - right.origin
            total += (crossed + b * linear + a * other + a * b * n) / (left.slope * right.slope)
    return total


def _stretches(mechanism: Mechanism) -> list[tuple[Any, slice]]:
    numbers = mechanism.domain.numbers
    scales, ends = scale_of(mechanism.channel, numbers.origin if numbers is not None else Fraction(0))
    return [(scale, slice(scale.first, end)) for scale, end in zip(scales, ends, strict=True)]


def predicted_variance(mechanism: Mechanism, truth: Any, n: int = 1, *, target: Target = Target.POPULATION) -> Any:
    """Raises: only the protocol can predict this error, not its mechanism."""
    raise ParameterError(
        f"The error of a variance by {mechanism.name} depends on the whole law of the answers: use the protocol's"
        " predicted_error(participants, law)."
    )
