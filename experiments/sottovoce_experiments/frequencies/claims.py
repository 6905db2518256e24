"""What the SoK says about frequency oracles (section 4.3, Figures 14 to 16), in our words, as tests on rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from sottovoce_experiments.claim import Cases, Claim, PaperVerdict
from sottovoce_experiments.experiment import Row

GRR, SUBSET, HASHED, UNARY, ONE_BIT, SUE, RESPONSE = "grr", "subset", "olh", "oue", "hrr", "sue", "hadamard"
CORRECTED = "grr, small-sample"  # Murakami, Hino, Sakuma
RAPPOR = "RAPPOR, Bloom filter"
O_RR = "O-RR, 8 cohorts"
BUDGETS_SEEN = (0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
SAME, MORE = 2.0, 1.1  # factors within which numbers are roughly the same, and above which one is larger


def _by(rows: Sequence[Row], axis: str, field: str) -> Iterator[tuple[Mapping[str, Any], dict[float, float]]]:
    """One curve along an axis for each place on the others."""
    others = [name for name in ("k", "n", "method", "epsilon", "g", "cohorts") if name != axis and name in rows[0]]
    found: dict[tuple[Any, ...], dict[float, float]] = {}
    for row in rows:
        if row[field] is not None:
            found.setdefault(tuple(row[name] for name in others), {})[row[axis]] = row[field]
    for place, curve in found.items():
        yield dict(zip(others, place, strict=True)), dict(sorted(curve.items()))


def falling(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether the error falls from each number of participants, and each epsilon, to the next."""
    for axis in ("n", "epsilon"):
        for _, curve in _by(rows, axis, "mse"):
            yield from (after < before for before, after in pairwise(curve.values()))


def level_off(*methods: str) -> Cases:
    """Whether the error at the largest epsilon is not much smaller than at 6."""

    def cases(rows: Sequence[Row]) -> Iterator[bool]:
        for place, curve in _by(rows, "epsilon", "mse"):
            if place["method"] in methods and 6.0 in curve:
                yield MORE * curve[max(curve)] > curve[6.0]

    return cases


def rise(*methods: str) -> Cases:
    """Whether the error is larger at some epsilon than at a smaller one."""

    def cases(rows: Sequence[Row]) -> Iterator[bool]:
        for place, curve in _by(rows, "epsilon", "mse"):
            if place["method"] in methods:
                yield any(after > MORE * before for before, after in pairwise(curve.values()))

    return cases


def same_for_every_n(field: str, *methods: str, epsilons: Sequence[float]) -> Cases:
    """Whether a number is roughly the same for all numbers of participants."""

    def cases(rows: Sequence[Row]) -> Iterator[bool]:
        for place, curve in _by(rows, "n", field):
            if (not methods or place["method"] in methods) and place["epsilon"] in epsilons:
                yield max(curve.values()) <= SAME * min(curve.values())

    return cases


def best_of_all(name: str, epsilons: Sequence[float], people: Sequence[int], *, larger: bool = False) -> Cases:
    """Whether a method has the least error, or with `larger` more than that, at these budgets and sizes."""

    def cases(rows: Sequence[Row]) -> Iterator[bool]:
        found: dict[tuple[Any, ...], dict[str, float]] = {}
        for row in rows:
            if row["mse"] is not None and row["epsilon"] in epsilons and row["n"] in people:
                found.setdefault((row.get("k"), row["n"], row["epsilon"]), {})[row["method"]] = row["mse"]
        for errors in found.values():
            if name in errors:
                yield (errors[name] > MORE * min(errors.values())) == larger

    return cases


def slower(*methods: str) -> Cases:
    """Whether the error falls by a smaller factor from epsilon 3 to the largest than that of most other methods."""

    def cases(rows: Sequence[Row]) -> Iterator[bool]:
        falls: dict[Any, dict[str, float]] = {}
        for place, curve in _by(rows, "epsilon", "mse"):
            if 3.0 in curve:
                falls.setdefault(place["n"], {})[place["method"]] = curve[3.0] / max(curve[max(curve)], 1e-300)
        for each in falls.values():
            others = sorted(fall for name, fall in each.items() if name not in methods)
            yield from (each[name] < others[len(others) // 2] for name in methods if name in each)

    return cases


def close_to_best(
    names: Sequence[str], sizes: Sequence[int], epsilons: Sequence[float], people: Sequence[int] = ()
) -> Cases:
    """Whether the better of these methods has an error near the least one."""

    def cases(rows: Sequence[Row]) -> Iterator[bool]:
        chosen = [row for row in rows if not people or row["n"] in people]
        for errors in _compared(chosen, sizes, epsilons):
            own = [errors[name] for name in names if name in errors]
            if own:
                yield min(own) <= MORE * min(errors.values())

    return cases


def pure_as_good(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether the best pure and the best other method have roughly the same error."""
    pure = {GRR, SUE, UNARY, HASHED, ONE_BIT, RESPONSE}
    found: dict[tuple[Any, ...], dict[str, float]] = {}
    for row in rows:
        if row["mse"] is not None:
            found.setdefault((row["n"], row["epsilon"]), {})[row["method"]] = row["mse"]
    for errors in found.values():
        kinds = [[e for name, e in errors.items() if (name in pure) == kind] for kind in (True, False)]
        if all(kinds):
            least = [min(each) for each in kinds]
            yield max(least) <= SAME * min(least)


def variance_misleads(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether the order of methods by their variance is not that by their error."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row["mse"] is not None:
            found.setdefault((row["n"], row["epsilon"]), []).append(row)
    for each in found.values():
        low = min(each, key=lambda row: float(row["variance"]))
        yield low["mse"] > MORE * min(row["mse"] for row in each)


def cohorts_do_not_help(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether the error with the most cohorts is roughly that with the fewest."""
    for _, curve in _by(rows, "cohorts", "mse"):
        yield MORE * curve[max(curve)] >= curve[min(curve)]


def stronger_for_more_values(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether the correction gains a larger factor at the most values than at the fewest."""
    gains: dict[tuple[Any, ...], dict[int, float]] = {}
    errors = {(row["k"], row["n"], row["epsilon"], row["method"]): row["mse"] for row in rows}
    for k, n, epsilon, method in errors:
        if method == CORRECTED and errors[k, n, epsilon, method] and epsilon <= 1 and n <= 1_000:
            gains.setdefault((n, epsilon), {})[k] = errors[k, n, epsilon, GRR] / errors[k, n, epsilon, CORRECTED]
    for each in gains.values():
        yield each[max(each)] > each[min(each)]


def least_near_one(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether RAPPOR has its least error at epsilon 1, and more at larger ones."""
    for place, curve in _by(rows, "epsilon", "mse"):
        if place["method"] == RAPPOR:
            yield min(curve, key=lambda epsilon: curve[epsilon]) == 1.0


def constant_variance(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether the variance at the largest epsilon is roughly that at 1."""
    for _, curve in _by(rows, "epsilon", "variance"):
        yield curve[1.0] <= SAME * curve[max(curve)]


def _compared(rows: Sequence[Row], sizes: Sequence[int], epsilons: Sequence[float]) -> Iterator[dict[str, float]]:
    """The errors of all methods, for these sizes of the domain and budgets."""
    found: dict[tuple[int, int, float], dict[str, float]] = {}
    for row in rows:
        if row["mse"] is not None and row["k"] in sizes and row["epsilon"] in epsilons:
            found.setdefault((row["k"], row["n"], row["epsilon"]), {})[row["method"]] = row["mse"]
    yield from found.values()


def randomized_response_is_worse(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether it has more than the error of most other methods, for many values and a small epsilon."""
    for errors in _compared(rows, (128, 256, 512), (0.5, 1.0, 2.0)):
        others = sorted(error for name, error in errors.items() if name not in (GRR, CORRECTED))
        yield errors[GRR] > others[len(others) // 2]


def subset_is_worse(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether it has more than the least error, for many participants, few values and an epsilon near 1."""
    for errors in _compared([row for row in rows if row["n"] > 1_000], (8, 16), (0.5, 1.0, 2.0)):
        yield errors[SUBSET] > MORE * min(errors.values())


def correction_helps(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether the corrected estimates are closer than the projected ones, for few participants and a small epsilon."""
    for errors in _compared([row for row in rows if row["n"] == 1_000], (8, 16, 32, 64, 128), (0.1, 0.5)):
        yield errors[CORRECTED] < errors[GRR]


H, F, D = PaperVerdict.HOLDS, PaperVerdict.FAILS, PaperVerdict.DEPENDS
_CODE = "half of all reports, or one bit, is all that they say; rises are chance where they are level"
CLAIMS: dict[int, tuple[Claim, ...]] = {
    5: (
        Claim(
            "4.3, footnote 5",
            "O-RR does not gain from more cohorts",
            F,
            cohorts_do_not_help,
            "with few cohorts values collide for good; give as many cohorts as the tally can hold, or all permutations",
        ),
    ),
    14: (
        Claim("4.3", "More participants or a larger epsilon typically lower the error", H, falling),
        Claim(
            "4.3",
            "OLH, OUE and Nguyen's method level off for large epsilon",
            D,
            level_off(HASHED, UNARY, ONE_BIT),
            _CODE,
        ),
        Claim("4.3", "The errors of OUE and OLH even rise before", D, rise(UNARY, HASHED), _CODE),
        Claim(
            "4.3",
            "Nguyen's method has roughly the same error below epsilon 3, whatever the number of participants",
            F,
            same_for_every_n("mse", ONE_BIT, epsilons=(0.1, 0.5, 1.0, 2.0)),
            "one oracle of the released code flips no sign",
        ),
        Claim(
            "4.3",
            "RAPPOR has its least error near epsilon 1, and more above",
            F,
            least_near_one,
            "the released code never clears a set bit",
        ),
        Claim(
            "4.3",
            "RAPPOR has the least error of all near epsilon 1 with 1,000 participants",
            F,
            best_of_all(RAPPOR, (1.0,), (1_000,)),
            "it sets f for one hash and uses two, so it spends 2 epsilon",
        ),
        Claim(
            "4.3",
            "RAPPOR has the least error near epsilon 1 with 100,000 participants",
            F,
            best_of_all(RAPPOR, (1.0,), (100_000,)),
            "as above; use subset, or grr for few values",
        ),
        Claim(
            "4.3",
            "RAPPOR is worse than the best method at other epsilons with 100,000 participants",
            H,
            best_of_all(RAPPOR, (2.0, 3.0, 4.0, 6.0, 8.0, 10.0), (100_000,), larger=True),
            "Bloom filters are for open domains",
        ),
        Claim(
            "4.3",
            "Errors of SUE and Hadamard response fall more slowly for large epsilon",
            H,
            slower(SUE, RESPONSE),
            "",
        ),
        Claim(
            "4.3",
            "Pure and other oracles do not differ clearly",
            H,
            pure_as_good,
            "within a factor of two, the best of each kind",
        ),
    ),
    15: (
        Claim(
            "4.3",
            "The variance of most methods is roughly constant above epsilon 1",
            F,
            constant_variance,
            "it falls with the error",
        ),
        Claim(
            "4.3",
            "For large epsilon the variance is the same for every number of participants",
            F,
            same_for_every_n("variance", epsilons=(10.0,)),
            "it falls as 1/n, or as fast as the sampling of the crowd is known",
        ),
        Claim(
            "4.3",
            "The variance does not tell which method has the least error",
            D,
            variance_misleads,
            "true where estimates are projected: the projection trades variance for bias",
        ),
    ),
    16: (
        Claim("4.3", "Randomized response has a higher error for many values", H, randomized_response_is_worse),
        Claim(
            "4.3",
            "Randomized response behaves like the others for few values",
            D,
            close_to_best((GRR,), (8,), BUDGETS_SEEN),
        ),
        Claim(
            "4.3",
            "Subset selection does not gain as much from participants for few values, near epsilon 1",
            D,
            subset_is_worse,
            "mostly within a tenth of the least error; the released code omits a neighbour of the true value",
        ),
        Claim(
            "4.3",
            "Subset selection is competitive for many values",
            D,
            close_to_best((SUBSET,), (128, 256, 512), BUDGETS_SEEN),
        ),
        Claim("4.3", "The small-sample correction has a smaller error for small n and epsilon", D, correction_helps),
        Claim("4.3", "That effect is stronger for more values", H, stronger_for_more_values),
        Claim(
            "5.1",
            "For few values randomized response or subset selection is good for every n and epsilon",
            D,
            close_to_best((GRR, SUBSET), (8, 16), BUDGETS_SEEN),
        ),
        Claim(
            "5.1",
            "For many values and small epsilon and n the small-sample correction is best",
            F,
            close_to_best((CORRECTED,), (64, 128), (0.1, 0.5), (1_000,)),
        ),
        Claim(
            "5.1",
            "For many values and epsilon up to 3 RAPPOR is best",
            F,
            close_to_best((RAPPOR,), (128, 256, 512), (0.5, 1.0, 2.0, 3.0)),
            "subset or olh; RAPPOR only where no list of values exists",
        ),
        Claim(
            "5.1",
            "For many values and epsilon above 3 subset, randomized response or the correction is best",
            H,
            close_to_best((SUBSET, GRR, CORRECTED), (128, 256, 512), (4.0, 6.0, 8.0, 10.0)),
        ),
    ),
}
