"""One estimate object, whatever the mechanism: every verb works with an interval, or refuses with one sentence."""

from __future__ import annotations

import math
import warnings
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.domain import Domain
from sottovoce.core.registry import names
from sottovoce.estimate.distribution.share_sums import kept_inside
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Bounds

pytestmark = pytest.mark.slow
DOMAINS: dict[str, tuple[Domain, list[Any], dict[str, Any]]] = {
    "interval": (sv.Interval(0, 8), [0.5, 1, 2.25, 2.5, 3, 7.99] * 500, {"buckets": 8}),
    "integers": (sv.Integers(1, 8), [1, 2, 2, 3, 7, 8] * 500, {}),
    "categories": (sv.Categories(["never", "rarely", "often", "always"]), ["never", "rarely", "always"] * 1000, {}),
    "circle": (sv.Circle(8), [0.5, 1, 2.25, 2.5, 3, 7.99] * 500, {"buckets": 8}),
}
TWO = {"interval": (2, 5), "integers": (2, 5), "categories": ("rarely", "often"), "circle": (6, 1)}
ORDERED = ("cdf", "quantile", "median", "iqr", "band")
VERBS: dict[str, Any] = {
    "shares": lambda found, two: found,
    "density": lambda found, two: found.density(),
    "range": lambda found, two: found.range(*two),
    "cdf": lambda found, two: found.cdf(two[1]),
    "cdfs": lambda found, two: found.cdf(list(two)),
    "quantile": lambda found, two: found.quantile([0.1, "0.5"]),
    "median": lambda found, two: found.median(),
    "iqr": lambda found, two: found.iqr(),
    "mean": lambda found, two: found.mean(),
    "variance": lambda found, two: found.variance(),
}


def estimate(name: str, kind: str, decoder: str | None = None) -> Estimate:
    """From 3,000 simulated answers."""
    domain, answers, options = DOMAINS[kind]
    m = sv.mechanism(name, domain, epsilon=2, **options)
    return m.estimate(m.tally(m.privatize(answers, seed=1)), **({} if decoder is None else {"decoder": decoder}))


def refused(verb: str, kind: str) -> str | None:
    """The sentence with which a verb must be refused in a domain; None where it must work."""
    if kind == "circle" and verb.rstrip("s") in ORDERED:
        return "Values on a circle have no order"
    if (kind, verb) == ("circle", "variance") or (kind == "categories" and verb in ("mean", "variance")):
        return "must be a domain of numbers"
    return None


@pytest.mark.parametrize("decoder", [None, "simplex"])
@pytest.mark.parametrize("kind", DOMAINS)
@pytest.mark.parametrize("name", names(sv.Distribution))
def test_every_verb_works_with_an_interval_or_refuses(name: str, kind: str, decoder: str | None) -> None:
    found = estimate(name, kind, decoder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sv.PoorIntervalWarning)
        for verb, ask in VERBS.items():
            said = refused(verb, kind)
            if said is not None:
                with pytest.raises(sv.ParameterError, match=said):
                    ask(found, TWO[kind])
                continue
            answer = ask(found, TWO[kind])
            low, high = answer.ci(0.95)
            assert len(low) == len(answer.values) == len(answer.std_errors)
            assert np.isfinite([low, high, answer.values, answer.std_errors]).all(), verb
            assert (low <= answer.values + 1e-9).all(), verb
            assert (answer.values <= high + 1e-9).all(), verb
            assert (high > low).all() or verb in ("quantile", "median", "iqr"), verb
            assert len(answer.to_frame()) == len(answer.values)
        _whole(found, kind)


def _whole(found: Estimate, kind: str) -> None:
    """The band, the picture, samples and the table."""
    domain = DOMAINS[kind][0]
    drawn = found.sample(50, seed=1)
    assert len(drawn) == 50
    assert all(domain.encode(one.item()) is not None for one in drawn)
    frame = found.to_frame()
    assert {"estimate", "low", "high"} <= {*frame.columns}
    assert found.plot() is not None
    plt.close("all")
    if kind == "circle":
        with pytest.raises(sv.ParameterError, match="Values on a circle have no order"):
            found.band()
        return
    band = found.band(0.9)
    assert (band.low <= band.high).all()
    assert (np.diff(band.low) >= -1e-12).all() or not found.evidence.distribution.rises
    assert math.isclose(band.values[0], 0)


def test_an_estimate_beyond_a_limit_keeps_an_interval_of_half_its_width() -> None:
    """Shares of -0.3, -0.1, 0.5 and 1.2, each plus and minus 0.2, where a share is between 0 and 1."""
    middle = np.array([-0.3, -0.1, 0.5, 1.2])
    low, high = kept_inside(Bounds(middle - 0.2, middle + 0.2), (0.0, 1.0))
    assert np.allclose(low, [0, 0, 0.3, 0.8])
    assert np.allclose(high, [0.2, 0.2, 0.7, 1])
