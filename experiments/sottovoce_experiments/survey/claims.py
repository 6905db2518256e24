"""What the survey says about the methods of its tables, in our words, as tests on rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from sottovoce_experiments.claim import Cases, Claim, PaperVerdict
from sottovoce_experiments.experiment import Row

NEAR = 1.05  # errors within this factor count as equal
ROUNDED = 1e-6
SHORT = 4  # bytes of a short report


def _error(row: Row) -> float | None:
    """The exact error, or the measured one where there is no formula."""
    found: float | None = row["error"] if row["error"] is not None else row["measured"]
    return found


def _by_epsilon(rows: Sequence[Row]) -> Iterator[dict[str, float]]:
    """The errors of methods that are asked for shares, at each epsilon."""
    for epsilon in dict.fromkeys(row["epsilon"] for row in rows):
        chosen = [row for row in rows if row["epsilon"] == epsilon and row["kind"] != "numbers"]
        yield {row["mechanism"]: error for row in chosen if (error := _error(row)) is not None}


def least(*names: str) -> Cases:
    """Whether the better of these has the least error, or nearly so."""
    return lambda rows: (
        min(errors[name] for name in names) <= NEAR * min(errors.values()) for errors in _by_epsilon(rows)
    )


def below(name: str, *others: str) -> Cases:
    """Whether a method has a smaller error than each of the others."""
    return lambda rows: (errors[name] < errors[other] for errors in _by_epsilon(rows) for other in others)


def equal(name: str, other: str) -> Cases:
    """Whether two methods have the same error."""
    return lambda rows: (abs(errors[name] / errors[other] - 1) < ROUNDED for errors in _by_epsilon(rows))


def short(*names: str) -> Cases:
    """Whether reports have a few bytes."""
    return lambda rows: (row["bytes"] <= SHORT for row in rows if row["mechanism"] in names)


def exact(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether measured errors are the predicted ones, within 5 %."""
    return (abs(row["measured"] / row["error"] - 1) < 0.05 for row in rows if row["measured"] and row["error"])


def longer_than_direct(*names: str, most: float = math.inf) -> Cases:
    """Whether reports are longer than those of randomized response."""

    def cases(rows: Sequence[Row]) -> Iterator[bool]:
        direct = min(row["bytes"] for row in rows if row["mechanism"] == "grr")
        yield from (row["bytes"] > direct for row in rows if row["mechanism"] in names and row["epsilon"] <= most)

    return cases


def keeps(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether one report has the loss that was asked for."""
    return (row["true epsilon"] <= row["epsilon"] + 1e-6 for row in rows)


def more_for_ever(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether all reports of an unchanged value lose more than one."""
    return (row["epsilon, unchanged"] > row["epsilon"] for row in rows if row["epsilon, unchanged"])


def unstable(name: str) -> Cases:
    """Whether the measured error of a method is far from the predicted one."""
    return lambda rows: (abs(row["measured"] / row["error"] - 1) > 0.1 for row in rows if row["mechanism"] == name)


H, F, D = PaperVerdict.HOLDS, PaperVerdict.FAILS, PaperVerdict.DEPENDS
CLAIMS: dict[int, tuple[Claim, ...]] = {
    1: (
        Claim("Table 1", "Randomized response has short reports", H, short("grr")),
        Claim(
            "Table 1",
            "The distortion-based mechanism has the error of randomized response",
            H,
            equal("distortion", "grr"),
            "it is randomized response, with a distortion in place of epsilon",
        ),
        Claim("2.4", "The error that is predicted is the one that is measured", H, exact),
    ),
    2: (
        Claim(
            "Table 2",
            "OUE has better parameters than one-time RAPPOR with one bit for each value",
            H,
            below("oue", "sue"),
            "for rare values; `subset` is better still",
        ),
        Claim(
            "4.2",
            "Epsilon of RAPPOR bounds one report, not all reports of a value",
            H,
            more_for_ever,
            "and neither covers values that change: see Reports from memos",
        ),
        Claim("Table 2", "Each variant keeps the epsilon of one report", H, keeps),
    ),
    3: (
        Claim(
            "Table 3",
            "Direct encoding has the shortest reports",
            D,
            longer_than_direct("oue", "sue", "olh", "hrr", "hadamard", "subset", "shist"),
            "hashed reports are as short; ids are counted apart",
        ),
    ),
    4: (
        Claim("Table 4", "Subset selection has higher utility than the others", H, least("subset")),
        Claim(
            "Table 4",
            "Subset selection has longer reports than randomized response, up to epsilon 2",
            H,
            longer_than_direct("subset", most=2.0),
        ),
        Claim("Table 4", "SHist, HRR and BLH have short reports", H, short("shist", "hrr", "blh")),
        Claim("Table 4", "OLH has a smaller error than BLH", H, below("olh", "blh")),
        Claim("Table 4", "OUE has a smaller error than RAPPOR", H, below("oue", "rappor")),
        Claim(
            "Table 4",
            "Hadamard response has unstable accuracy",
            F,
            unstable("hadamard"),
            "its error is the predicted one",
        ),
    ),
}
