"""Strata: unbiased under any allocation, with the variance of noise and of sampling without replacement."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

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
    draws = {"north": 1500 / 1499, "south": 900 / 899}  # who was drawn has a sample variance
    expected = {name: asked[name] * noise[name] + (1 - asked[name]) * draws[name] * whole[name] for name in each}
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


def group_estimates(people, mechanism):
    """Means by group of strata in which nearly all reports are true."""
    return {
        name: mechanism.estimate(mechanism.tally(mechanism.privatize([("f", low), ("m", high)] * 2000, seed=seed)))
        for seed, (name, (low, high)) in enumerate(people.items())
    }


def test_means_by_group_are_weighted_by_the_people_of_a_group():
    mechanism = sv.mechanism("group-nprr", sv.Pair(sv.Categories(["f", "m"]), sv.Interval(0, 10)), epsilon=6)
    each = group_estimates({"north": (2.0, 5.0), "south": (6.0, 7.0)}, mechanism)
    together = over_strata(each, {"north": 10_000, "south": 30_000})
    low, high = together.ci(0.9999)
    assert (low < [5.0, 6.5]).all() and (high > [5.0, 6.5]).all()
    assert together.n == 8000
    assert together.difference("f", "m").p_value < 0.001
    # With nearly everyone asked only noise is left.
    everyone = over_strata(each, {"north": 4000, "south": 4000})
    noise = np.diag(everyone.evidence._covariance("sample"))
    assert everyone.std_errors**2 == pytest.approx(noise, rel=1e-6)


def test_weighted_shares_cover_wherever_no_doubt_is_shown():
    """Computed over all tallies of two strata; the doubt follows from numbers of people alone, so it hides nothing."""
    people, doubted = {"a": 9000, "b": 1000}, {}
    for epsilon, (n, m) in product((1, 3), ((40, 25), (300, 200), (1500, 500))):
        mechanism = sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon=epsilon)
        own, other = (float(mechanism.channel.likelihood(0, code)) for code in (0, 1))
        laws = [binom(size, s * own + (1 - s) * other) for size, s in ((n, 0.0), (m, 0.02))]
        seen = [np.flatnonzero(law.pmf(np.arange(law.args[0] + 1)) > 1e-4) for law in laws]
        covered = chance = 0.0
        for counts in product(*(part[:: max(1, len(part) // 12)].tolist() for part in seen)):
            tallies = [
                sv.Tally(mechanism, law.args[0], np.array([c, law.args[0] - c]))
                for law, c in zip(laws, counts, strict=True)
            ]
            found = over_strata(dict(zip("ab", map(mechanism.estimate, tallies), strict=True)), people)
            low, high = found.quiet_ci()
            weight = float(np.prod([law.pmf(c) for law, c in zip(laws, counts, strict=True)]))
            covered, chance = covered + weight * bool(low[0] <= 0.002 <= high[0]), chance + weight
            doubted.setdefault((epsilon, n), set()).add(found.doubt())
        assert len(doubted[epsilon, n]) == 1
        if doubted[epsilon, n] == {None}:
            assert 0.94 <= covered / chance <= 0.985
    assert doubted[1, 1500] == doubted[3, 1500] == {None}
    assert "Merge strata" in str(doubted[3, 40]) and "exact" not in str(doubted[3, 40])


def test_clusters_and_margins_in_place_of_strata():
    mechanism = sv.mechanism("grr", DOMAIN, epsilon=2)
    shares = {"a": 0.2, "b": 0.6, "c": 0.3, "d": 0.5}
    each = {
        name: mechanism.estimate(
            mechanism.tally(mechanism.privatize(["yes"] * int(500 * s) + ["no"] * int(500 * (1 - s)), seed=1))
        )
        for name, s in shares.items()
    }
    same = dict.fromkeys(shares, 1000)
    as_strata, as_clusters = over_strata(each, same), over_strata(each, same, clusters=dict.fromkeys(shares, "all"))
    assert as_clusters.values == pytest.approx(as_strata.values)
    found = np.array([each[name].values[0] for name in shares])
    assert as_clusters.std_errors[0] ** 2 == pytest.approx(found.var(ddof=1) / 4)
    assert "clusters were drawn" in as_clusters.explain()
    margins = {
        "a": {"sex": ("f", 60), "age": ("y", 30)},
        "b": {"sex": ("f", 60), "age": ("o", 70)},
        "c": {"sex": ("m", 40), "age": ("y", 30)},
        "d": {"sex": ("m", 40), "age": ("o", 70)},
    }
    raked = over_strata(each, margins=margins)
    assert raked.values[0] == pytest.approx(found @ [0.18, 0.42, 0.12, 0.28], abs=1e-6)  # margins are independent here
    assert "margins" in raked.explain()
    with pytest.raises(sv.ParameterError, match="single cluster"):
        over_strata(each, same, clusters={"a": "x", "b": "x", "c": "x", "d": "y"})
    with pytest.raises(sv.ParameterError, match="two numbers of people"):
        over_strata(each, margins=margins | {"d": {"sex": ("m", 41), "age": ("o", 70)}})
    with pytest.raises(sv.ParameterError, match="one has none"):
        over_strata(each, margins=margins | {"d": {"sex": ("m", 40)}})
    with pytest.raises(sv.ParameterError, match="number of people each"):
        over_strata(each, same, margins=margins)
