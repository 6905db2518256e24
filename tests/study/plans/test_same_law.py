"""Published names that stand for one law, and names that stand for a mechanism together with its decoder."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.registry import ALIASES, DECODERS, SAME_LAW
from sottovoce.estimate.decoder import names
from tests.each import for_each

EIGHT = sv.Frequency(sv.Integers(0, 7))


def test_a_law_is_listed_once_with_its_other_names() -> None:
    options = {option.method: option.reason for option in sv.plan(EIGHT, epsilon=1, participants=1000).options}
    assert not options.keys() & SAME_LAW.keys()
    assert "Other names of its law: distortion, compression, urr." in options["grr"]
    assert "Other names of its law: urap." in options["sue"] and "Other names" not in options["subset"]


def test_a_law_that_is_asked_for_by_another_name_is_an_option() -> None:
    plan = sv.plan(EIGHT, epsilon=1, participants=1000, methods=["grr", "distortion"])
    assert {option.method for option in plan.options} == {"grr", "distortion"}
    assert all("Other names" not in option.reason for option in plan.options)


@for_each("name", SAME_LAW)
def test_the_other_name_has_the_same_law(name: str) -> None:
    """The variance of every value, for shares that differ, at several sizes and budgets."""
    for size in (2, 5, 16):
        shares = np.arange(1.0, size + 1)
        for epsilon in (0.5, 3):
            both = (sv.mechanism(one, sv.Integers(0, size - 1), epsilon=epsilon) for one in (name, SAME_LAW[name]))
            own, other = (one.variance(shares / shares.sum(), 100) for one in both)
            assert own == pytest.approx(other, rel=1e-9)


def test_hh_admm_is_the_hierarchy_with_its_decoder() -> None:
    m = sv.mechanism("HH-ADMM", sv.Interval(0, 1), epsilon=1, buckets=16)
    assert m.name == "hh-admm"
    assert m.channel == sv.mechanism("hierarchy", sv.Interval(0, 1), epsilon=1, buckets=16).channel
    tally = m.tally(m.privatize(np.linspace(0, 1, 500), seed=1))
    published = m.estimate(tally, decoder=sv.decoder("admm", weighted=False))
    for restored in (m, sv.Mechanism.from_spec(m.spec())):
        found = restored.estimate(tally)
        assert found.values == pytest.approx(published.values) and found.values.min() >= 0
    assert m.estimate(tally, decoder="linear").values.min() < 0


def test_s2m_is_subset_selection_with_em() -> None:
    m = sv.mechanism("s2m", sv.Integers(0, 7), epsilon=1)
    reports = m.privatize(np.arange(400) % 8, seed=1)
    assert m.estimate(reports).values == pytest.approx(m.estimate(reports, decoder="em").values)
    with pytest.raises(sv.ParameterError, match="decode the reports themselves"):
        m.estimate(m.tally(reports))


@for_each("name", DECODERS)
def test_a_name_with_a_decoder_is_another_name_of_a_mechanism(name: str) -> None:
    assert name in ALIASES and DECODERS[name][0] in names()
