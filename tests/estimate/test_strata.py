"""Strata: unbiased under any allocation, with the variance of noise and of sampling without replacement."""

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimate.strata import over_strata

DOMAIN = sv.Categories(["yes", "no"])
PEOPLE = {"north": 2000, "south": 6000}
SHARES = {"north": 0.5, "south": 0.1}
ASKED = {"north": 1500, "south": 1500}


def one_run(mechanism, generator):
    """Everyone is fixed; participants are drawn without replacement; the tally is drawn from its exact law."""
    keep = mechanism.channel.keep / 2**53
    found = {}
    for name, people in PEOPLE.items():
        yes = generator.hypergeometric(round(people * SHARES[name]), people - round(people * SHARES[name]), ASKED[name])
        said = generator.binomial(yes, keep) + generator.binomial(ASKED[name] - yes, 1 - keep)
        found[name] = mechanism.estimate(sv.Tally(mechanism, ASKED[name], np.array([said, ASKED[name] - said])))
    return over_strata(found, PEOPLE)


@pytest.mark.slow
def test_weighted_unbiased_and_with_the_right_error():
    mechanism = sv.mechanism("grr", DOMAIN, epsilon=2)
    generator = np.random.default_rng(5)
    runs = [one_run(mechanism, generator) for _ in range(4000)]
    values = np.array([one.values[0] for one in runs])
    truth = (2000 * 0.5 + 6000 * 0.1) / 8000
    spread = values.std()
    assert values.mean() == pytest.approx(truth, abs=5 * spread / np.sqrt(len(runs)))
    # The standard deviation of a standard deviation from 4,000 runs is 1.1 %.
    assert np.mean([one.std_errors[0] for one in runs]) == pytest.approx(spread, rel=0.055)
    covered = np.mean([low[0] <= truth <= high[0] for low, high in (one.ci(0.95) for one in runs)])
    assert 0.93 < covered < 0.97


def test_without_the_correction_the_error_would_be_larger():
    mechanism = sv.mechanism("grr", DOMAIN, epsilon=8)
    tally = sv.Tally(mechanism, 1500, np.array([750, 750]))
    each = mechanism.estimate(tally)
    together = over_strata({"north": each, "south": each}, {"north": 1500, "south": 1500})
    # Everyone took part: only the noise is left, halved by two strata of equal weight.
    noise = each.evidence.variances("sample")
    assert together.std_errors**2 == pytest.approx(noise / 2)
    assert together.n == 3000
    assert [source.n for source in together.sources] == [3000]


def test_the_error_of_who_was_asked_falls_with_the_share_of_people_who_were():
    mechanism = sv.mechanism("grr", DOMAIN, epsilon=2)
    each = {
        name: mechanism.estimate(sv.Tally(mechanism, n, np.array([n // 3, n - n // 3])))
        for name, n in (("north", 1500), ("south", 900))
    }
    together = over_strata(each, PEOPLE)
    noise, whole = ({name: one.evidence.variances(t) for name, one in each.items()} for t in ("sample", "population"))
    asked = {"north": 1500 / 2000, "south": 900 / 6000}
    expected = {name: noise[name] + (1 - asked[name]) * (whole[name] - noise[name]) for name in each}
    assert together.std_errors**2 == pytest.approx(expected["north"] / 16 + expected["south"] * 9 / 16)
    assert together.evidence.variances("sample") == pytest.approx(noise["north"] / 16 + noise["south"] * 9 / 16)


def test_refusals():
    mechanism = sv.mechanism("grr", DOMAIN, epsilon=1)
    each = mechanism.estimate(sv.Tally(mechanism, 10, np.array([5, 5])))
    for people, words in (({"a": 10}, "at least two"), ({"a": 10, "b": 9}, "more reports than people")):
        with pytest.raises(sv.ParameterError, match=words):
            over_strata(dict.fromkeys(people, each), people)
    other = sv.mechanism("grr", sv.Categories(["no", "yes"]), epsilon=1)
    swapped = other.estimate(sv.Tally(other, 10, np.array([5, 5])))
    with pytest.raises(sv.ParameterError, match="same question"):
        over_strata({"a": each, "b": swapped}, {"a": 10, "b": 10})
