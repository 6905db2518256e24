"""Write docs/results/means.md: every mean mechanism at every budget, computed from the exact laws.

Run `python scripts/generate_means.py` after a change; a test computes the tables again and compares.
"""

from __future__ import annotations

from pathlib import Path

import sottovoce as sv

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results/means.md"
EPSILONS = ("0.1", "0.5", "1", "2", "4", "6", "8")
RANGE = sv.Interval(-1, 1)
PRIORS = {
    "uniform": sv.Prior.uniform(-1, 1),
    "normal": sv.Prior.normal(0, 0.1, -1, 1),
    "exponential": sv.Prior.exponential(6, -1, 1),
    "Beta(0.5, 0.5)": sv.Prior.beta(0.5, 0.5, -1, 1),
}
COLUMNS = ("worst case", *PRIORS)
OTHERS = ("designed", "bernoulli-memo")  # several rows below; single reports are those of bernoulli

HEAD = """\
# Variances of all mean mechanisms

<!-- Written by scripts/generate_means.py. -->

The variance of *one* report, read as a number, when answers lie in [-1, 1]: the largest over every answer of the
range, and the average under four priors: uniform; normal with mean 0 and standard deviation 0.1; exponential with rate
6, starting at -1; Beta(0.5, 0.5), stretched. All are cut to the range. Rounding to a grid is included. With n
participants divide by n; for a range of another length L multiply by the square of L / 2.

Everything is computed from the exact laws of the mechanisms; nothing is simulated. The least of each column is
**bold**.

How to read it:

- The mechanism designed for a column is the lowest in that column. `designed (worst-case)` equalises the variance over
  all answers, so it is *not* the best average: `designed (balanced)`, the default, gives up to 10 % of the worst case
  away for a better average, and a design for a prior is better still where that prior is right, and much worse where it
  is wrong (look at the other columns of its row).
- `three-output`, `pm-sub` and `n-output` are later proposals; the designs are below them in their own columns.
- Noise that does not depend on the answer (`laplace`, `scdf`, `staircase`) is never the best choice for bounded
  answers.
- Designs have 33 inputs up to epsilon 5, more beyond, because rounding to few inputs would cost more than the noise.
"""


def mechanisms(epsilon: str) -> dict[str, sv.Mechanism]:
    """All rows of a table."""
    rows = {name: sv.mechanism(name, RANGE, epsilon=epsilon) for name in sv.names(sv.Mean) if name not in OTHERS}
    for objective in ("balanced", "worst-case"):
        rows[f"designed ({objective})"] = sv.mechanism("designed", RANGE, epsilon=epsilon, objective=objective)
    for name, prior in PRIORS.items():
        rows[f"designed for {name}"] = sv.mechanism("designed", RANGE, epsilon=epsilon, objective="prior", prior=prior)
    return rows


def numbers(epsilon: str) -> dict[str, list[float]]:
    """The variances of each row, in the order of the columns."""
    return {
        name: [mechanism.worst_case_variance(), *(mechanism.average_variance(prior) for prior in PRIORS.values())]
        for name, mechanism in mechanisms(epsilon).items()
    }


def table(epsilon: str) -> str:
    """One budget."""
    rows = numbers(epsilon)
    least = [min(column) for column in zip(*rows.values(), strict=True)]
    lines = [f"\n## epsilon {epsilon}\n", f"| mechanism | {' | '.join(COLUMNS)} |", f"|---|{'---|' * len(COLUMNS)}"]
    for name, values in rows.items():
        cells = [f"**{v:.5g}**" if v == low else f"{v:.5g}" for v, low in zip(values, least, strict=True)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """The whole page."""
    return HEAD + "".join(map(table, EPSILONS))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
