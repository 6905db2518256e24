"""Standard errors of open domains where most answers are not listed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.tally.counts import simulate_held

UNLISTED = {
    "many": np.full(2000, 1 / 2000),
    "a few common ones": 1 / np.arange(1, 2001) / (1 / np.arange(1, 2001)).sum(),
    "one": np.ones(1),
}
CASES = [("o-rr", kind) for kind in UNLISTED] + [("rappor", kind) for kind in UNLISTED]
CASES += [(name, "a few common ones") for name in ("cms", "hcms", "pcs")]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_the_standard_error_is_the_scatter_of_absent_answers(name: str, kind: str) -> None:
    """Nine of ten answers are not listed. 250 listed ones that nobody gave scatter as their standard errors say.

    The scatter of 250 has a standard error of 4.5 %; the bounds are three of them. Counted as if all unlisted answers
    were one, errors were 5 to 14 times as large.
    """
    options: dict[str, Any] = {"hashes": 1} if name == "rappor" else {}
    m = sv.mechanism(name, sv.Text(), epsilon=4, **options)
    shares = 0.9 * UNLISTED[kind]
    holders = {f"unlisted {place}": round(500_000 * share) for place, share in enumerate(shares)}
    tally = simulate_held(m, {"owl": 50_000, **holders}, seed=1)
    absent = [f"absent {place}" for place in range(250)]
    found = m.estimate(tally, candidates=["owl", *absent])
    scatter = np.sqrt((found.values[1:] ** 2).mean()) / np.sqrt((found.std_errors[1:] ** 2).mean())
    assert 0.86 < scatter < 1.14, scatter
    assert abs(found.values[0] - 50_000 / tally.n) < 4 * found.std_errors[0]
