"""A few of many candidates: a lasso chooses, non-negative least squares estimates, and other reports confirm."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.optimize import nnls
from scipy.special import ndtr

from sottovoce.core.late import missing
from sottovoce.core.params import reject
from sottovoce.estimate.candidates import Selection
from sottovoce.estimate.decoder import Decoded, Decoder, Fit
from sottovoce.estimate.evidence import Evidence, Floats, Ints, Offer
from sottovoce.estimate.frequency.design import RowCounts
from sottovoce.estimate.frequency.rows import MAX_TOGETHER, RowsEvidence
from sottovoce.estimate.request import Target

Chosen = NDArray[np.intp]
SCREEN = 1.0  # standard errors below which the lasso leaves a candidate out
MAX_STEPS = 10_000
MAX_CANDIDATES = 1 << 12  # that a lasso compares
LEAST = 0.001  # level; a lower one would need too many codes that nobody holds
ABSENT = 2  # codes that nobody holds for each candidate and level: one would let a single clear candidate pass
MIN_ABSENT = 1 << 12
ALL_CODES = 1 << 32
RIDGE = 1e-6  # where there are more candidates than positions, their products have no square root without it


@dataclass(frozen=True, slots=True)
class LassoFit(Fit):
    """The discoveries of a lasso, and the share of answers that they leave unexplained.

    Attributes:
        tried: how many candidates there were.
        discoveries: places of the candidates whose share is above zero, in the order of the candidates.
        false_discovery: the stated level: at most this share of the discoveries is expected to be false.
        unexplained: the share of answers that are no candidates, or where reports were held back, none of the
            discoveries; `unexplained_error` is its standard error.
        held_back: whether reports of other rows than those that chose the candidates confirmed them; otherwise all
            candidates were tested.
    """

    tried: int
    discoveries: tuple[int, ...]
    false_discovery: float
    unexplained: float
    unexplained_error: float
    held_back: bool

    @property
    def selection(self) -> Selection:
        return Selection("lasso", self.tried, self.false_discovery)

    def sentences(self) -> tuple[str, ...]:
        """Discoveries and unexplained answers in words."""
        how = "reports that did not choose them" if self.held_back else "a fit of all candidates"
        others = "none of these" if self.held_back else "no candidates"
        low, high = (min(1.0, max(0.0, self.unexplained + side * 1.96 * self.unexplained_error)) for side in (-1, 1))
        return (
            f"{len(self.discoveries)} candidates have a share above zero, confirmed by {how} with a false discovery"
            f" rate of at most {self.false_discovery:g}; the others are shown as zero.",
            f"An estimated {100 * min(1.0, max(0.0, self.unexplained)):.1f} % of the answers are {others} (95 % normal"
            f" interval from {100 * low:.1f} to {100 * high:.1f} %).",
        )


@dataclass(frozen=True, slots=True)
class LassoDecoder(Decoder):
    """Shares of the candidates that are there: selected by a lasso, estimated by non-negative least squares.

    Which candidates count as discoveries is decided by the unbiased fit of all of them, or, where there are too many
    for such a fit, by the odd rows after the even rows made the selection: never by the reports that selected. Each is
    compared with codes that nobody holds; the procedure is that of Benjamini and Hochberg at `false_discovery`. Other
    candidates get zero. Intervals are those of the unbiased estimates.
    """

    name: ClassVar[str] = "lasso"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.DESIGN})
    projects: ClassVar[bool] = False
    kind: ClassVar[str] = "those of few candidates"
    false_discovery: float = 0.05

    def __post_init__(self) -> None:
        level = self.false_discovery
        if isinstance(level, bool) or not isinstance(level, (int, float)) or not LEAST <= level < 1:
            raise reject("false_discovery", "lasso", f"a number in [{LEAST:g}, 1)", level)

    def solve(self, evidence: Evidence) -> Decoded:
        if not isinstance(evidence, RowsEvidence):
            raise TypeError("Only the rows of sketches and cohorts have a design.")
        values = np.zeros(len(evidence.codes))
        all_rows = evidence.together or evidence.balanced
        tested, places = (evidence, np.arange(len(values))) if all_rows else self._held_back(evidence)
        if len(places):
            kept = discoveries(tails(tested, self.false_discovery), self.false_discovery)
            if all_rows:
                kept = np.intersect1d(selected(tested.rows, tested.codes, tested.n), kept)
            values[places[kept]] = non_negative(tested.rows, tested.codes[kept], tested.n)
        chosen = np.flatnonzero(values)
        about = tested if all_rows else tested.restricted(evidence.codes[chosen], ())
        return Decoded(values, self._fit(about, chosen, (len(values), len(places)), not all_rows))

    def _held_back(self, evidence: RowsEvidence) -> tuple[RowsEvidence, Chosen]:
        """The odd rows as evidence about the candidates that the even rows select, and the places of these."""
        even, odd = (evidence.rows.some(np.arange(start, len(evidence.rows.totals), 2)) for start in (0, 1))
        chosen = selected(even, evidence.codes, int(even.totals.sum()))
        most = min(MAX_TOGETHER, odd.rank // 2)
        if len(chosen) > most:  # those that the even rows show most clearly
            alone = even.products(even.centred, evidence.codes[chosen])
            chosen = np.sort(chosen[np.argsort(-alone, kind="stable")[:most]])
        counted = replace(evidence.counted, codes=evidence.codes[chosen], names=tuple(map(int, chosen)))
        return RowsEvidence(odd, int(odd.totals.sum()), counted), chosen

    def _fit(self, about: RowsEvidence, discoveries: Chosen, numbers: tuple[int, int], held_back: bool) -> LassoFit:
        """The share of all answers that the candidates, or the discoveries, have together."""
        (tried, tested), total, error = numbers, 0.0, float("nan")
        if 0 < len(about.codes) <= MAX_TOGETHER:
            total = float(about.values().sum())
            error = math.sqrt(max(0.0, float(about.covariance(Target.POPULATION).sum())))
        return LassoFit(
            iterations=tested,
            gap=0.0,
            tried=tried,
            discoveries=tuple(map(int, discoveries)),
            false_discovery=self.false_discovery,
            unexplained=1 - total,
            unexplained_error=error,
            held_back=held_back,
        )


def tails(evidence: RowsEvidence, level: float) -> Floats:
    """P-values of the candidates: the probability that a share of zero has an estimate so large.

    A word that nobody holds is hashed by functions that do not know the reports, like any code that is drawn at random.
    So it is compared with many such codes, and noise, collisions with words that are not listed, however common, and
    their skewed law are in the comparison. These tails keep the level of a false discovery rate in finite samples
    (Bates, Candes, Lei, Romano, Sesia 2023).
    """
    if evidence.balanced:  # every code is read by itself, and there is no unlisted one
        return np.asarray(ndtr(-evidence.values() / evidence.null_errors()))
    many = max(MIN_ABSENT, math.ceil(ABSENT * len(evidence.codes) / level))
    drawn = absent_scores(evidence, absent_codes(evidence.codes, many))
    scores = evidence.values() / np.sqrt(np.diag(evidence.inverse))
    above = len(drawn) - np.searchsorted(np.sort(drawn), scores)
    return np.asarray((1 + above) / (1 + len(drawn)))


def absent_codes(listed: Ints, many: int) -> Ints:
    """Codes at random, always the same ones. Of 2**32 of them, those of words that somebody holds are hardly drawn."""
    return np.setdiff1d(np.random.default_rng(0).integers(0, ALL_CODES, many), listed)


def absent_scores(evidence: RowsEvidence, codes: Ints) -> Floats:
    """Estimates of codes that nobody holds, in units of the error of a single count.

    Adding a code to the fit reads the residuals at its column less the part of the column that the candidates explain:
    of the squared length of a random column, one part in `rank` for each of them.
    """
    rows = evidence.rows
    step = evidence.n * rows.slope / len(rows.totals)
    left = rows.centred - step * rows.mixed(evidence.codes, evidence.values())
    alone = rows.products(left, codes) / (evidence.n * rows.slope * rows.norm)
    return np.asarray(alone / math.sqrt(1 - len(evidence.codes) / rows.rank))


def discoveries(tails: Floats, level: float) -> Chosen:
    """Places whose tail probability is too small for a share of zero (Benjamini, Hochberg 1995)."""
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
