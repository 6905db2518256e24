"""What the square-wave paper says about its Figures 2 to 7, in our words, and in how many cases it holds here.

Its figures are curves without numbers, so sentences are compared. Methods that the paper does not have take no part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sottovoce.core.params import check_epsilon
from sottovoce.mechanisms.distribution.common import bandwidth
from sottovoce_experiments.claim import Claim, PaperVerdict
from sottovoce_experiments.distribution.crowds import BETA
from sottovoce_experiments.experiment import Row

EMS, EM, ADMM, HH, HAAR, SR, PM = "SW with EMS", "SW with EM", "HH-ADMM", "HH", "HaarHRR", "SR", "PM"
BINNED = {16: "CFO binning, 16", 32: "CFO binning, 32", 64: "CFO binning, 64"}
PAPER = (EMS, EM, ADMM, *BINNED.values(), HH, HAAR, SR, PM)
SPIKY = "INCOME"
COMPARABLE = 1.25  # errors within this factor
AMONG = 1.1  # a width is among the best within this factor of the least error

Errors = dict[str, float]


def by_case(rows: Sequence[Row], metric: str, axis: str = "method") -> dict[tuple[str, float], Errors]:
    """The error of each method of the paper, by data set and epsilon."""
    found: dict[tuple[str, float], Errors] = {}
    for row in rows:
        if row[metric] is not None and (axis != "method" or row[axis] in PAPER):
            found.setdefault((row["data"], row["epsilon"]), {})[row[axis]] = row[metric]
    return found


def least(name: str, *metrics: str, spiky: bool | None = None) -> Callable[[Sequence[Row]], Iterator[bool]]:
    """Whether a method has the least error; on the spiky data set only, on all others, or on all."""

    def cases(rows: Sequence[Row]) -> Iterator[bool]:
        for metric in metrics:
            for (data, _), errors in by_case(rows, metric).items():
                if spiky is None or (data == SPIKY) == spiky:
                    yield min(errors, key=lambda one: errors[one]) == name

    return cases


def below(
    name: str, others: Sequence[str], *metrics: str, within: float = 1.0, spiky: bool | None = None,
    any_other: bool = False,
) -> Callable[[Sequence[Row]], Iterator[bool]]:  # fmt: skip
    """Whether a method's error is below those of others, up to a factor; `any_other`: of each of them by itself."""

    def cases(rows: Sequence[Row]) -> Iterator[bool]:
        for metric in metrics:
            for (data, _), errors in by_case(rows, metric).items():
                if spiky is not None and (data == SPIKY) != spiky:
                    continue
                if any_other:
                    yield from (errors[name] < within * errors[other] for other in others)
                else:
                    yield errors[name] <= within * min(errors[other] for other in others)

    return cases


def finer_bins_later(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether the best number of bins does not fall from the smallest to the largest epsilon."""
    found = by_case(rows, "wasserstein")
    first, last = (choose(epsilon for _, epsilon in found) for choose in (min, max))
    for data in dict.fromkeys(name for name, _ in found):
        small, large = (
            min((found[data, e][name], bins) for bins, name in BINNED.items() if name in found[data, e])[1]
            for e in (first, last)
        )
        yield small <= large


def signs_first(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether SR has the smaller error of the mean at the smallest epsilon, and PM at the largest."""
    found = by_case(rows, "mean")
    first, last = (choose(epsilon for _, epsilon in found) for choose in (min, max))
    for (_, epsilon), errors in found.items():
        if epsilon in (first, last):
            yield (errors[SR] < errors[PM]) == (epsilon == first)


def square_is_least(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether the square wave has the least error among all shapes, for each width."""
    for width in dict.fromkeys(row["width"] for row in rows):
        for errors in by_case([row for row in rows if row["width"] == width], "wasserstein", "shape").values():
            yield min(errors, key=lambda one: errors[one]) == "square"


def own_width_is_good(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether the width next to the mechanism's own one is among the best."""
    found: dict[tuple[str, float], dict[float, float]] = {}
    for row in rows:
        found.setdefault((row["data"], row["epsilon"]), {})[row["width"]] = row["wasserstein"]
    for (_, epsilon), errors in found.items():
        own = float(bandwidth(check_epsilon("a wave", epsilon)))
        yield errors[min(errors, key=lambda width: abs(width - own))] <= AMONG * min(errors.values())


def finest(size: int, *, beta: bool) -> Callable[[Sequence[Row]], Iterator[bool]]:
    """Whether a number of buckets has the least error, on Beta(5, 2) or on all other data."""

    def cases(rows: Sequence[Row]) -> Iterator[bool]:
        for data in dict.fromkeys(row["data"] for row in rows):
            for epsilon in dict.fromkeys(row["epsilon"] for row in rows):
                chosen = [row for row in rows if (row["data"], row["epsilon"]) == (data, epsilon)]
                if (data == BETA) == beta:
                    yield min(chosen, key=lambda row: row["wasserstein"])["buckets"] == size

    return cases


RANGES = ("range_0.1", "range_0.4")
H, F, D = PaperVerdict.HOLDS, PaperVerdict.FAILS, PaperVerdict.DEPENDS
_DEFAULT = "EM wins on spiky answers; `bayes`, the default here, is below both on average"
CLAIMS: dict[int, tuple[Claim, ...]] = {
    2: (
        Claim(
            "6.2",
            "SW with EMS has the least Wasserstein distance in most cases",
            D,
            least(EMS, "wasserstein"),
            _DEFAULT,
        ),
        Claim(
            "6.2",
            "On data without spikes SW with EMS has the least Kolmogorov-Smirnov distance",
            D,
            least(EMS, "ks", spiky=False),
            _DEFAULT,
        ),
        Claim(
            "6.2",
            "On spiky incomes HH-ADMM is below EM and EMS by the Kolmogorov-Smirnov distance",
            H,
            below(ADMM, (EM, EMS), "ks", spiky=True),
            "use `em` or `bayes` there",
        ),
        Claim("6.2", "For larger epsilon more bins are better", H, finer_bins_later),
    ),
    3: (
        Claim("6.3", "SW with EMS is better than HH and HaarHRR", H, below(EMS, (HH, HAAR), *RANGES, any_other=True)),
        Claim("6.3", "SW with EMS is the best for ranges in most cases", D, least(EMS, *RANGES), _DEFAULT),
    ),
    4: (
        Claim(
            "6.4",
            "SR estimates means better than PM for small epsilon, worse for large",
            D,
            signs_first,
        ),
        Claim(
            "6.4",
            f"SW with EMS is comparable to the better of SR and PM for the mean (within a factor of {COMPARABLE})",
            D,
            below(EMS, (SR, PM), "mean", within=COMPARABLE),
            "ask for the mean if it is the mean that is wanted",
        ),
        Claim(
            "6.4",
            "Errors of the variance are larger for SR and PM than for EMS",
            D,
            below(EMS, (SR, PM), "variance", any_other=True),
        ),
        Claim(
            "6.4",
            "On data without spikes SW with EMS has the least error of quantiles",
            D,
            least(EMS, "quantile", spiky=False),
            _DEFAULT,
        ),
        Claim(
            "6.4", "On spiky incomes HH-ADMM has the least error of quantiles", D, least(ADMM, "quantile", spiky=True)
        ),
    ),
    5: (Claim("6.5", "The square wave is the best shape at every width", D, square_is_least),),
    6: (
        Claim(
            "6.5",
            "The width from mutual information is among the best (within a tenth of the least)",
            D,
            own_width_is_good,
        ),
    ),
    7: (
        Claim("6.6", "256 buckets are best for Beta(5, 2)", H, finest(256, beta=True)),
        Claim("6.6", "1024 buckets are best for other data in most cases", D, finest(1024, beta=False)),
    ),
}
