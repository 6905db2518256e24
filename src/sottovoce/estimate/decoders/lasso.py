"""A few of many candidates: a lasso chooses, non-negative least squares estimates, and other reports confirm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.optimize import nnls
from scipy.special import ndtr

from sottovoce.core.late import missing
from sottovoce.core.params import reject
from sottovoce.estimate.decoder import Decoded, Decoder, Fit
from sottovoce.estimate.evidence import Evidence, Floats, Ints, Offer
from sottovoce.estimate.shares.design import RowCounts
from sottovoce.estimate.shares.rows import MAX_TOGETHER, RowsEvidence, fitted

Chosen = NDArray[np.intp]
SCREEN = 1.0  # standard errors below which the lasso leaves a candidate out
MAX_STEPS = 10_000
MAX_CANDIDATES = 1 << 12  # that a lasso compares
RIDGE = 1e-6  # where there are more candidates than positions, their products have no square root without it


@dataclass(frozen=True, slots=True)
class LassoFit(Fit):
    """What was found.

    Attributes:
        discoveries: places of the candidates whose share is above zero, in the order of the candidates.
        false_discovery: the stated level: at most this share of the discoveries is expected to be false.
        unexplained: the share of answers that are no candidates, and its standard error.
        held_back: whether reports of other rows than those that chose the candidates confirmed them; otherwise all
            candidates were tested.
    """

    discoveries: tuple[int, ...]
    false_discovery: float
    unexplained: float
    unexplained_error: float
    held_back: bool

    def sentences(self) -> tuple[str, ...]:
        """The same in words."""
        how = "reports that did not choose them" if self.held_back else "a fit of all candidates"
        low, high = (min(1.0, max(0.0, self.unexplained + side * 1.96 * self.unexplained_error)) for side in (-1, 1))
        return (
            f"{len(self.discoveries)} candidates have a share above zero, confirmed by {how} with a false discovery"
            f" rate of at most {self.false_discovery:g}; the others are shown as zero.",
            f"An estimated {100 * min(1.0, max(0.0, self.unexplained)):.1f} % of the answers are no candidates (95 %"
            f" normal interval from {100 * low:.1f} to {100 * high:.1f} %).",
        )


@dataclass(frozen=True, slots=True)
class LassoDecoder(Decoder):
    """Shares of the candidates that are there: selected by a lasso, estimated by non-negative least squares.

    Which candidates count as discoveries is decided by the unbiased fit of all of them, or, where there are too many
    for such a fit, by the odd rows after the even rows made the selection: never by the reports that selected. The
    procedure is that of Benjamini and Hochberg at `false_discovery`. Other candidates get zero. Intervals are those of
    the unbiased estimates.
    """

    name: ClassVar[str] = "lasso"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.DESIGN})
    projects: ClassVar[bool] = False
    false_discovery: float = 0.05

    def __post_init__(self) -> None:
        given = self.false_discovery
        if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given < 1:
            raise reject("false_discovery", "lasso", "a number in (0, 1)", given)

    def decode(self, evidence: Evidence) -> Decoded:
        if not isinstance(evidence, RowsEvidence):
            raise TypeError("Only the rows of sketches and cohorts have a design.")
        values = np.zeros(len(evidence.codes))
        if evidence.together or evidence.balanced:
            found = discoveries(evidence.values() / evidence.null_errors(), self.false_discovery)
            kept = np.intersect1d(selected(evidence.rows, evidence.codes, evidence.n), found)
            values[kept] = non_negative(evidence.rows, evidence.codes[kept], evidence.n)
        else:
            found = self._confirmed(evidence, values)
        return Decoded(values, self._fit(evidence, np.flatnonzero(values), len(found)))

    def _confirmed(self, evidence: RowsEvidence, values: Floats) -> Chosen:
        """Fill in the values that even rows select and odd rows confirm."""
        even, odd = (evidence.rows.some(np.arange(start, len(evidence.rows.totals), 2)) for start in (0, 1))
        chosen = selected(even, evidence.codes, int(even.totals.sum()))
        most = min(MAX_TOGETHER, odd.rank // 2)
        if len(chosen) > most:  # those that the even rows show most clearly
            alone = even.products(even.centred, evidence.codes[chosen])
            chosen = np.sort(chosen[np.argsort(-alone, kind="stable")[:most]])
        if not len(chosen):
            return chosen
        n = int(odd.totals.sum())
        shares, errors = fitted(odd, evidence.codes[chosen], n)
        found = chosen[discoveries(shares / errors, self.false_discovery)]
        values[found] = non_negative(odd, evidence.codes[found], n)
        return found

    def _fit(self, evidence: RowsEvidence, found: Chosen, steps: int) -> LassoFit:
        """All candidates together, from the unbiased fit; of too many for that, those that were found."""
        whole = evidence.together or evidence.balanced
        about = evidence if whole else evidence.restricted(evidence.codes[found], tuple(map(int, found)))
        total, variance = 0.0, 0.0
        if len(about.codes):
            total = float(about.values().sum())
            variance = float(about.covariance("population").sum()) if len(about.codes) <= MAX_TOGETHER else float("nan")
        return LassoFit(
            iterations=steps,
            gap=0.0,
            discoveries=tuple(map(int, found)),
            false_discovery=self.false_discovery,
            unexplained=1 - total,
            unexplained_error=float(np.sqrt(max(variance, 0.0))),
            held_back=not whole,
        )

    def quality(self, evidence: Evidence) -> str:
        return "those of few candidates (lasso)"


def discoveries(scores: Floats, level: float) -> Chosen:
    """Places whose score is too large for a share of zero (Benjamini, Hochberg 1995), one-sided."""
    tails = ndtr(-scores)
    order = np.argsort(tails, kind="stable")
    passed = np.flatnonzero(tails[order] <= level * np.arange(1, len(tails) + 1) / len(tails))
    return np.sort(order[: passed[-1] + 1]) if len(passed) else np.empty(0, np.intp)


def selected(rows: RowCounts, codes: Ints, n: int) -> Chosen:
    """Candidates with a share above zero in a lasso without negative shares.

    The fit depends on the products of the columns alone, so a square root of them stands for the columns.
    """
    places, scale = np.arange(len(codes)), n * rows.slope * rows.norm
    alone = rows.products(rows.centred, codes) / scale
    if len(codes) > MAX_CANDIDATES:  # those that the counts show most clearly
        places = np.sort(np.argsort(-alone, kind="stable")[:MAX_CANDIDATES])
    error = float(np.sqrt(np.median(rows.spreads(codes[places])))) / scale
    upper, target = _square_root(rows, codes[places], alone[places])
    model = _lasso()(
        alpha=SCREEN * error / len(target), positive=True, fit_intercept=False, max_iter=MAX_STEPS, tol=1e-3
    )
    return np.asarray(places[model.fit(upper, target).coef_ > 0])


def _square_root(rows: RowCounts, codes: Ints, alone: Floats) -> tuple[Floats, Floats]:
    """Columns with the same products as those of the codes, and what they predict."""
    upper = linalg.cholesky(rows.gram(codes) + RIDGE * np.eye(len(codes)))
    return upper, linalg.solve_triangular(upper, alone, trans="T")


def _lasso() -> Any:
    """Imported when it is needed: to list the decoders takes no time."""
    try:
        from sklearn.linear_model import Lasso
    except ModuleNotFoundError as problem:
        raise missing(problem) from None
    return Lasso


def non_negative(rows: RowCounts, codes: Ints, n: int) -> Floats:
    """The least-squares fit without negative shares, from the products of the columns."""
    if not len(codes):
        return np.empty(0)
    alone = rows.products(rows.centred, codes) / (n * rows.slope * rows.norm)
    return np.asarray(nnls(*_square_root(rows, codes, alone))[0])
