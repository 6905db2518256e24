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
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Evidence, Ints
from sottovoce.estimate.frequency.base import SharesEvidence
from sottovoce.estimate.mean.evidence import MeanEvidence, from_cells
from sottovoce.estimate.mean.evidence import evidence as mean_evidence
from sottovoce.estimate.mean.from_sums import SummedMeanEvidence, from_sums
from sottovoce.estimate.mean.of_shares import coded_numbers, mean_of_shares
from sottovoce.estimate.mean.readings import scale_of
from sottovoce.estimate.request import Target
from sottovoce.estimate.sources import sources_of
from sottovoce.estimate.variance.errors import MeanPart, ReadingNoise
from sottovoce.estimate.variance.same_reports import from_outputs
from sottovoce.estimate.variance.spread import DeviationEvidence, VarianceEvidence, from_readings
from sottovoce.tally.tally import Tally

READS = (CountJoint, Moments)


def evidence(mechanism: Mechanism, tally: Tally, candidates: Iterable[object] | None = None) -> VarianceEvidence:
    """The evidence of a tally of both reports of every participant."""
    refuse(mechanism, candidates)
    return from_both(tally)


def answer(evidence: Evidence, question: Question) -> Evidence | None:
    """The variance of numbers from evidence about their shares, or from the same reports as their mean."""
    if isinstance(evidence, SharesEvidence):
        return from_shares(evidence, question.domain)
    about = evidence.question is not None and evidence.question.domain == question.domain
    if isinstance(evidence, MeanEvidence) and evidence.counted is not None and about:
        return from_outputs(evidence)
    return None


def from_shares(evidence: SharesEvidence, domain: Domain) -> VarianceEvidence | None:
    """The variance from shares: a report is read as a number and as its squared distance from the middle."""
    numbers, mean = coded_numbers(evidence, domain), mean_of_shares(evidence, domain)
    if numbers is None or mean is None:
        return None
    shares, rows = evidence.values(), np.array([numbers.away, numbers.away**2])
    values, products = rows @ shares, rows @ evidence.second_moments() @ rows.T
    return from_readings(
        *(evidence.n, numbers.ends, values, products - np.outer(values, values)),
        lambda: np.asarray(products - (rows * shares) @ rows.T),
        reach=[evidence.reach_of(row) for row in rows],
        poor=mean.poor,
        question=Variance(domain),
        mean=mean,
    )


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
    """The variance from tallies of different participants: the number, and its squared distance from a centre."""
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
    domain, product = mechanism.domain, each_of(mechanism.channel)
    if not isinstance(domain, Powers) or product is None:
        raise ParameterError(f"The joint cells of {mechanism.name} are not those of a number and its square.")
    first, second = (
        Mechanism(f"{mechanism.name}: {name}", Mean(part), channel, mechanism.claimed, CountOutputs())
        for name, part, channel in zip(("number", "square"), domain.parts, product.channels, strict=True)
    )
    return first, second


def from_both(tally: Tally) -> VarianceEvidence:
    """The evidence about variance and mean of one tally of both reports of every participant."""
    mechanisms, view = parts(tally.mechanism), tally.mechanism.domain
    first: MeanEvidence | SummedMeanEvidence
    second: MeanEvidence | SummedMeanEvidence
    if isinstance(tally.mechanism.statistic, Moments):
        rows, columns = (len(_stretches(mechanism)) for mechanism in mechanisms)
        table = tally.cells.astype(object).reshape(rows, columns, len(POWERS))  # whole numbers that do not overflow
        first = from_sums(mechanisms[0], [[int(n) for n in row] for row in table[:, :, [0, 1, 3]].sum(axis=1)])
        second = from_sums(mechanisms[1], [[int(n) for n in row] for row in table[:, :, [0, 2, 4]].sum(axis=0)])
    else:
        joint = tally.cells.reshape([mechanism.cells for mechanism in mechanisms])
        first, second = (from_cells(m, tally.n, joint.sum(axis=1 - axis)) for axis, m in enumerate(mechanisms))
        table = _moment_table(mechanisms, joint)
    number, square = MeanPart.of(first), MeanPart.of(second)
    centre = Fraction(view.centre)  # type: ignore[attr-defined]
    products = _products(mechanisms, table)
    return VarianceEvidence(
        *(number, square, centre, first.ends),
        joint=(products - number.n * number.mean * square.mean) / (number.n - 1),
        noise=lambda: ReadingNoise(first.noise, second.noise),
        question=tally.mechanism.question,
        also=(first,),
    )


def _moment_table(mechanisms: tuple[Mechanism, Mechanism], joint: Ints) -> NDArray[np.object_]:
    """Moments of joint cells by stretch of the number, stretch of the square and power, as far as needed."""
    rows, columns = (_stretches(mechanism) for mechanism in mechanisms)
    table = np.zeros((len(rows), len(columns), len(POWERS)), object)
    for r, (_, row) in enumerate(rows):
        for c, (_, column) in enumerate(columns):
            block = joint[row, column].astype(object)
            ys, zs = (np.arange(size).astype(object) for size in block.shape)
            table[r, c] = [block.sum(), ys @ block.sum(axis=1), zs @ block.sum(axis=0), 0, 0, ys @ block @ zs]
    return table


def _products(mechanisms: tuple[Mechanism, Mechanism], table: NDArray[np.object_]) -> Fraction:
    """The sum of the products of both readings of each participant, exactly."""
    rows, columns = (_stretches(mechanism) for mechanism in mechanisms)
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
