"""`small-sample`: shares of largest likelihood, less a multiple of their second-order error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sottovoce.core.params import check_integer
from sottovoce.estimate.decoder import Decoded, Decoder
from sottovoce.estimate.decoders.norm_mul import norm_mul
from sottovoce.estimate.evidence import Evidence, Floats, Offer, OutputTally
from sottovoce.estimate.frequency.maximise import maximise
from sottovoce.estimate.frequency.mixture import Dense, Product

TOLERANCE = 1e-6  # of the log-likelihood per report; statistical error is far larger
RIDGE = 1e-6  # of the mean of the diagonal, so that a singular matrix has an inverse


@dataclass(frozen=True, slots=True)
class SmallSampleDecoder(Decoder):
    """For few reports of many values: less error than "em", at the price of a bias toward equal shares.

    The second-order term of the error of a maximum-likelihood estimate is estimated from the same reports, and a
    multiple of it is subtracted; negative shares become zero, and the rest is scaled to sum one. The multiple is the
    one of least squared error for `runs` tallies drawn from the estimate itself, by a seed.

    Reference: Murakami, Hino, Sakuma, "Toward distribution estimation under local differential privacy with small
    samples", PoPETs 2018, whose multiple is searched on a grid. As there, scores are not centred: a term of the error
    of centred scores would be zero inside the simplex for k-ary randomized response, and correct nothing.
    """

    name: ClassVar[str] = "small-sample"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.OUTPUT_TALLIES})
    projects: ClassVar[bool] = False
    kind: ClassVar[str] = "those of largest likelihood, corrected for few reports"
    runs: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer("runs", "the decoder small-sample", self.runs, 1, 1 << 16)
        check_integer("seed", "the decoder small-sample", self.seed, 0, 1 << 64)

    def solve(self, evidence: Evidence) -> Decoded:
        tallies = evidence.output_tallies()
        shares, fit = maximise(_mixture(tallies), tolerance=TOLERANCE)
        rng = np.random.default_rng(self.seed)
        products, squares = 0.0, 0.0
        for _ in range(self.runs):
            drawn = [OutputTally(law, rng.multinomial(cells.sum(), _law(shares @ law))) for law, cells in tallies]
            again, _ = maximise(_mixture(drawn), tolerance=TOLERANCE)
            term = second_order(again, drawn)
            products += float(term @ (again - shares))
            squares += float(term @ term)
        multiple = max(0.0, products / squares) if squares > 0 else 0.0
        return Decoded(norm_mul(shares - multiple * second_order(shares, tallies)), fit)


def _law(probabilities: Floats) -> Floats:
    return np.asarray(probabilities / probabilities.sum())  # to the last digit, as a multinomial draw wants it


def _mixture(tallies: list[OutputTally]) -> Product:
    seen = [(law[:, cells > 0], cells[cells > 0]) for law, cells in tallies]
    return Product([Dense(np.ascontiguousarray(law.T), cells.astype(np.float64)) for law, cells in seen])


def second_order(shares: Floats, tallies: list[OutputTally]) -> Floats:
    """The term of order 1/n of the error of an estimate that solves mean score = 0.

    The score of a report is its row x of the law over its density, and its slope is -x x'. With S the mean of x x', let
    Q = -1/S, d = Q x and D the mean of d d'. Then it is Q (mean of (S - x x') d - mean of (x' D x) x) / n.

    Reference: Rilstone, Srivastava, Ullah, "The second-order bias and mean squared error of nonlinear estimators",
    Journal of Econometrics 1996.
    """
    rows = np.concatenate([(law / (shares @ law)).T[cells > 0] for law, cells in tallies])
    counts = np.concatenate([cells[cells > 0] for _, cells in tallies]).astype(np.float64)
    n = float(counts.sum())
    weights = counts[:, None] / n
    slope = (weights * rows).T @ rows
    inverse = -np.linalg.inv(slope + RIDGE * np.trace(slope) / len(shares) * np.eye(len(shares)))
    steps = rows @ inverse
    first = (weights * (steps @ slope - rows * (rows * steps).sum(axis=1, keepdims=True))).sum(axis=0)
    spread = (weights * steps).T @ steps
    second = (weights * rows * ((rows @ spread) * rows).sum(axis=1, keepdims=True)).sum(axis=0)
    return np.asarray(inverse @ (first - second) / n)
