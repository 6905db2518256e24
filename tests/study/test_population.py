"""Described populations: drawn answers have the described law, and plans use the same law."""

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.asked import Asked
from sottovoce.study.population import LAWS, ExpectedAnswers, NumberLaw
from sottovoce.study.population_tables import read_population
from sottovoce.study.questions import study_question
from sottovoce.study.simulating import drawn_answers
from tests.each import for_each

PARAMETERS = {
    "uniform": {},
    "normal": {"mean": 7, "sd": 2},
    "lognormal": {"median": 5, "sigma": "0.7"},
    "exponential": {"mean": 4},
    "beta": {"a": 2, "b": 5},
}


@pytest.mark.parametrize("domain", [sv.Interval(0, 14), sv.Integers(0, 14)])
@pytest.mark.parametrize("kind", LAWS)
def test_drawn_numbers_have_the_law_of_the_prior(kind, domain):
    """Mean and variance of 40,000 draws within five standard errors: fails once in a million."""
    law = NumberLaw.of(kind, **PARAMETERS[kind])
    drawn, prior = law.draw(domain, 40_000, np.random.default_rng(1)), law.prior(domain)
    assert abs(drawn.mean() - prior.mean) < 5 * np.sqrt(prior.variance / 40_000)
    assert drawn.var() == pytest.approx(prior.variance, rel=0.06)
    assert drawn.min() >= 0 and drawn.max() <= 14
    if isinstance(domain, sv.Integers):
        assert (drawn == np.rint(drawn)).all()


def test_a_circle_is_wound_around():
    law, clock = NumberLaw.of("normal", mean=23.5, sd=1.5), sv.Circle(24)
    drawn, prior = law.draw(clock, 20_000, np.random.default_rng(1)), law.prior(clock)
    late = sum(weight for value, weight in zip(prior.values, prior.weights, strict=True) if value < 2)
    assert (drawn < 2).mean() == pytest.approx(late, abs=0.02)
    assert late == pytest.approx(0.3217, abs=0.001)  # of a normal law between 24 and 26


@pytest.mark.slow
def test_missing_answers_and_groups():
    hours = Asked("hours", sv.Mean(sv.Interval(0, 14)), missing=("don't know", "refused"))
    weight = Asked("weight", sv.GroupMean(sv.Categories(["f", "m"]), sv.Interval(30, 200)), missing=("no",))
    population = {
        "hours": ExpectedAnswers.of(laws=[NumberLaw.of("normal", mean=7, sd=1)], missing=[0.1, 0.05]),
        "weight": ExpectedAnswers.of(
            shares=[0.6, 0.4],
            laws=[NumberLaw.of("normal", mean=65, sd=5), NumberLaw.of("normal", mean=85, sd=5)],
            missing=[0.2],
        ),
    }
    found = drawn_answers([hours, weight], population, 20_000, 1)
    assert found["hours"].count("don't know") / 20_000 == pytest.approx(0.1, abs=0.015)
    groups = np.array(found["weight/by"])
    heavy = np.array([isinstance(one, float) and one > 75 for one in found["weight"]])
    assert heavy[groups == "m"].mean() == pytest.approx(0.8 * 0.977, abs=0.02)
    shares, priors = study_question(weight).prior(population["weight"])
    assert shares == pytest.approx([0.48, 0.32, 0.2])
    assert [round(one.mean) for one in priors[:2]] == [65, 85]
    assert drawn_answers([hours], population, 50, 4) == drawn_answers([hours], population, 50, 4)
    study = sv.Study(
        "a", epsilon=2, unit="person", owner="o", contact="a@b.org", purpose="p", questions=[hours, weight],
        population=population,
    )  # fmt: skip
    frame = sv.simulate_study(study.plan(20_000), found, seed=1).to_frame().dropna(subset=["truth"])
    assert ((frame.estimate - frame.truth).abs() < 6 * frame.std_error).all()


MISTAKES = {
    "no such question": ("[population.age]\nlaw = 'uniform'", "line 1: This question is not in the study."),
    "no law": ("[population.hours]\nmean = 3", "line 1: This population has parameters, but no law."),
    "unknown law": ("[population.hours]\nlaw = 'cauchy'", "must be one of"),
    "missing parameter": ("[population.hours]\nlaw = 'normal'\nmean = 3", "has mean and sd"),
    "negative spread": ("[population.hours]\nlaw = 'normal'\nmean = 3\nsd = -1", "sd of a normal law must be above 0"),
    "outside the range": ("[population.hours]\nlaw = 'normal'\nmean = 300\nsd = 1", "no weight inside"),
    "shares of a number": ("[population.hours]\nshares = [0.5, 0.5]", "without shares"),
    "too few shares": ("[population.smoker]\nshares = [1]", "needs 2 shares"),
    "shares that do not sum": ("[population.smoker]\nshares = [0.5, 0.6]", "must sum to 1"),
    "another answer": ("[population.smoker]\nshares = { yes = 0.5, maybe = 0.5 }", "the question does not have"),
    "law of categories": ("[population.smoker]\nlaw = 'uniform'", "no numbers"),
    "unknown key": ("[population.hours]\nlaw = 'uniform'\nsize = 3", "line 3: This key is not known here."),
    "not a table": ("[population]\nhours = 3", "This is not a table."),
    "not TOML": ("[population", "not TOML"),
}


@for_each("name", MISTAKES)
def test_mistakes_of_a_population_file(name):
    text, words = MISTAKES[name]
    questions = [
        Asked("hours", sv.Mean(sv.Interval(0, 14))),
        Asked("smoker", sv.Frequency(sv.Categories(["yes", "no"]))),
    ]
    with pytest.raises(sv.ParameterError) as caught:
        read_population(text.encode(), questions)
    assert words in str(caught.value)
