"""What the SoK says about means of one number (section 4.1.1, Figures 1 and 7 to 9), in our words, as tests on rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from sottovoce_experiments.claim import Cases, Claim, PaperVerdict
from sottovoce_experiments.row import Row

BERNOULLI, DESIGNED = "bernoulli", "designed"
ROUNDING, BITS = "random rounding", "flipped bits"
THEIRS = ("laplace", BERNOULLI, "piecewise", "hybrid")
SMALL, LARGE = (0.1, 0.5, 1.0), (2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
SAME, NEAR = 2.0, 1.1  # factors within which numbers are similar, and nearly the same


def _errors(rows: Sequence[Row], epsilons: Sequence[float], field: str = "mae") -> Iterator[dict[str, float]]:
    """The numbers of all methods at each place with one of these budgets."""
    found: dict[tuple[str, int, float], dict[str, float]] = {}
    for row in rows:
        if row[field] is not None and row["epsilon"] in epsilons:
            found.setdefault((row["data"], row["n"], row["epsilon"]), {})[row["method"]] = row[field]
    yield from found.values()


def _curves(rows: Sequence[Row], field: str, methods: Sequence[str]) -> Iterator[dict[float, float]]:
    """The numbers of each of these methods at each place, by epsilon."""
    found: dict[tuple[str, int, str], dict[float, float]] = {}
    for row in rows:
        if row["method"] in methods:
            found.setdefault((row["data"], row["n"], row["method"]), {})[row["epsilon"]] = row[field]
    yield from (dict(sorted(curve.items())) for curve in found.values())


def falling(field: str) -> Cases:
    """Whether a number falls from each epsilon to the next."""

    def cases(rows: Sequence[Row]) -> Iterator[bool]:
        for curve in _curves(rows, field, THEIRS):
            yield from (after < before for before, after in pairwise(curve.values()))

    return cases


def similar(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether the errors of all methods are similar at small budgets."""
    for errors in _errors(rows, SMALL):
        own = [errors[name] for name in THEIRS]
        yield max(own) <= SAME * min(own)


def smaller(first: Sequence[str], others: Sequence[str], epsilons: Sequence[float]) -> Cases:
    """Whether the largest error of the first methods is at most the least of the others."""

    def cases(rows: Sequence[Row]) -> Iterator[bool]:
        for errors in _errors(rows, epsilons):
            yield max(errors[name] for name in first) <= min(errors[name] for name in others)

    return cases


def rounds(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether the Bernoulli methods have nearly the error of random rounding at epsilon 10."""
    for errors in _errors(rows, (10.0,)):
        yield errors[BERNOULLI] <= NEAR * errors[ROUNDING]


def level(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether the variance of reports falls little from epsilon 8 to 10."""
    for curve in _curves(rows, "reports", THEIRS):
        yield curve[8.0] <= NEAR * curve[10.0]


def constant(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether the variance of flipped bits is nearly the same at all budgets."""
    for curve in _curves(rows, "reports", (BITS,)):
        yield max(curve.values()) <= NEAR * min(curve.values())


def alike(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether squared errors rank the methods as absolute errors do."""
    everywhere = (*SMALL, *LARGE)
    for absolute, squared in zip(_errors(rows, everywhere), _errors(rows, everywhere, "mse"), strict=True):
        yield sorted(THEIRS, key=absolute.__getitem__) == sorted(THEIRS, key=squared.__getitem__)


H, F, D = PaperVerdict.HOLDS, PaperVerdict.FAILS, PaperVerdict.DEPENDS
CLAIMS: dict[int, tuple[Claim, ...]] = {
    1: (
        Claim("4.1.1", "The error falls as epsilon grows", H, falling("mae")),
        Claim(
            "4.1.1",
            "All methods have a similar error up to epsilon 1",
            H,
            similar,
            "within a factor of two; Laplace noise has about 1.4 times the least error",
        ),
        Claim(
            "4.1.1, 5.1",
            "Bernoulli methods have the largest error above epsilon 1, behind Laplace noise",
            D,
            smaller(("laplace", "piecewise", "hybrid"), (BERNOULLI,), LARGE),
            "from epsilon 3 on; at 2 Laplace noise has the largest error",
        ),
        Claim(
            "4.1.1",
            "Piecewise and Hybrid have smaller errors than the others above epsilon 1",
            H,
            smaller(("piecewise", "hybrid"), ("laplace", BERNOULLI), LARGE),
        ),
        Claim(
            "4.1.1",
            "Hybrid has a smaller error than Piecewise for small epsilon",
            D,
            smaller(("hybrid",), ("piecewise",), SMALL),
            "up to 0.5; at 1 Piecewise has less on these data",
        ),
        Claim(
            "4.1.1",
            "Piecewise has a smaller error than Hybrid for larger epsilon",
            H,
            smaller(("piecewise",), ("hybrid",), LARGE),
            "Hybrid is for the worst case; `designed` has less error than both",
        ),
        Claim(
            "4.1.1", "The error of Bernoulli methods approaches that of random rounding", H, rounds, "within a tenth"
        ),
    ),
    8: (Claim("4.1.1", "Squared errors behave like absolute errors", H, alike, "the methods have the same order"),),
    9: (
        Claim("4.1.1", "The variance of unbiased reports falls as epsilon grows", H, falling("reports")),
        Claim(
            "4.1.1",
            "The variance of unbiased reports levels off near epsilon 10",
            D,
            level,
            "Bernoulli and Piecewise do, to within a tenth; Laplace noise falls further",
        ),
        Claim(
            "4.1.1",
            "The bits of Ding, Kulkarni and Yekhanin have the same variance for every epsilon",
            D,
            constant,
            "only where the mean answer is near the middle of the range",
        ),
    ),
}
