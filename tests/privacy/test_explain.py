"""What an epsilon means: every stated number is reached by some channel and exceeded by none."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.errors import ParameterError
from sottovoce.core.exact import law
from sottovoce.privacy.explain import RANGES, Explanation, explain, main
from tests.each import for_each

EPSILONS = ("0.1", "0.5", "1", "2.5", "6")
PRIORS = ("0.001", "0.01", "0.2", "0.5", "0.9", "0.999")


def laws(name: str, size: int, epsilon: str) -> list[dict[int, Fraction]]:
    channel = sv.mechanism(name, sv.Integers(0, size - 1), epsilon=epsilon).channel
    return [law(channel, code) for code in range(size)]


def posteriors(rows: list[dict[int, Fraction]], belief: list[Fraction], fact: int) -> list[Fraction]:
    """The probability of one answer given each report."""
    result = []
    for report in rows[0]:
        joint = [share * row[report] for share, row in zip(belief, rows, strict=True)]
        result.append(joint[fact] / sum(joint))
    return result


@for_each("epsilon,prior", list(product(EPSILONS, PRIORS)))
def test_belief_is_reached_by_randomized_response_and_never_exceeded(epsilon: str, prior: str) -> None:
    said = explain(epsilon, prior=prior)
    share = Fraction(prior)
    found = posteriors(laws("grr", 2, epsilon), [share, 1 - share], 0)
    assert max(found) <= said.posterior and min(found) >= said.posterior_low
    assert float(max(found)) == pytest.approx(float(said.posterior), rel=1e-12)
    assert float(min(found)) == pytest.approx(float(said.posterior_low), rel=1e-12)


@pytest.mark.parametrize(("name", "size"), [("grr", 5), ("subset", 5), ("oue", 3), ("sue", 3), ("hadamard", 3)])
@pytest.mark.parametrize("epsilon", ["0.5", "3"])
def test_no_mechanism_exceeds_the_belief_for_any_prior(name: str, size: int, epsilon: str) -> None:
    rows = laws(name, size, epsilon)
    grid = [Fraction(i, 10) for i in range(1, 9)]
    for first in grid:
        for second in (f for f in grid if first + f < 1):
            rest = (1 - first - second) / (size - 2)
            belief = [first, second, *[rest] * (size - 2)]
            said = explain(epsilon, prior=str(float(first)))
            found = posteriors(rows, belief, 0)
            assert said.posterior_low <= min(found) and max(found) <= said.posterior


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("choices", [2, 3, 10])
def test_the_best_guess_is_reached_by_grr(epsilon: str, choices: int) -> None:
    rows = laws("grr", choices, epsilon)
    right = sum(max(row[report] for row in rows) for report in rows[0]) / choices
    said = explain(epsilon, choices=choices)
    assert right <= said.guess_of_choices
    assert float(right) == pytest.approx(float(said.guess_of_choices), rel=1e-12)


@for_each("epsilon,prior", list(product(EPSILONS, PRIORS)))
def test_the_best_guess_with_a_prior(epsilon: str, prior: str) -> None:
    said, share = explain(epsilon, prior=prior), Fraction(prior)
    for name in ("grr", "oue"):
        yes, no = laws(name, 2, epsilon)
        right = sum(max(share * yes[report], (1 - share) * no[report]) for report in yes)
        assert right <= said.guess_with_prior
        if name == "grr":
            assert float(right) == pytest.approx(float(said.guess_with_prior), rel=1e-12)


def test_no_random_channel_beats_the_guess_with_a_prior(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(300):
        epsilon = float(rng.uniform(0.1, 4))
        no = rng.dirichlet(np.ones(5))
        yes = no * np.exp(rng.uniform(0, epsilon, 5))
        yes /= yes.sum()  # any two entries' ratios differ by e**epsilon at most, so do the rows'
        prior = float(rng.uniform(0.01, 0.99))
        actual = max(abs(np.log(yes / no)))
        said = explain(str(round(actual + 5e-7, 6)), prior=repr(prior))
        assert np.maximum(prior * yes, (1 - prior) * no).sum() <= float(said.guess_with_prior) + 1e-9
        assert abs(yes - no).sum() / 2 <= float(said.advantage) + 1e-9


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_total_variation_is_reached_by_randomized_response(epsilon: str) -> None:
    yes, no = laws("grr", 2, epsilon)
    distance = sum(abs(yes[report] - no[report]) for report in yes) / 2
    said = explain(epsilon)
    assert distance <= said.advantage
    assert float(distance) == pytest.approx(float(said.advantage), rel=1e-12)
    assert said.advantage == 2 * said.guess - 1


@pytest.mark.parametrize("answers", [1, 2, 3])
def test_answers_add_up(answers: int) -> None:
    yes, no = laws("grr", 2, "1")
    said = explain(1, prior="0.01", answers=answers)
    best = max(
        math.prod((yes[r] for r in reports), start=Fraction(1)) / math.prod((no[r] for r in reports), start=Fraction(1))
        for reports in product(yes, repeat=answers)
    )
    assert best <= said.odds
    assert float(best) == pytest.approx(float(said.odds), rel=1e-12)
    assert said.total == answers
    assert explain(1, prior="0.01").over(answers) == said


def test_floats_are_rounded_against_privacy() -> None:
    for epsilon, prior in product(EPSILONS, PRIORS):
        said = explain(epsilon, prior=prior, choices=7)
        plain = said.to_dict()
        for name in ("odds", "posterior", "guess", "guess_with_prior", "guess_of_choices", "advantage"):
            exact, stated = getattr(said, name), Fraction(plain[name])
            assert exact * (1 - Fraction(1, 10**50)) <= stated <= exact * (1 + Fraction(1, 2**51))
        assert Fraction(plain["posterior_low"]) <= said.posterior_low


def test_the_coin_says_no_less_than_the_truth() -> None:
    for tenth in range(1, 201):
        said = explain(Decimal(tenth) / 10)
        words = said.coin().replace(",", "").split()
        if words[1] == "times":
            assert Fraction(int(words[0]), int(words[4])) >= said.advantage
        else:
            assert int(words[6]) >= 1 + said.odds


def test_plain_words() -> None:
    text = explain("1.0", prior="0.01", choices=10).text()
    assert text.splitlines()[0] == "Epsilon 1. Fairly strong: an answer is a hint, not evidence."
    for part in (
        "a factor 2.719",
        "at most 2.7 %",
        "at least 0.37 %",
        "23.2 %",
        "a blind one 10 %",
        "47 times out of 100",
    ):
        assert part in text
    assert "5 answers together" in explain(1, answers=5).text()
    assert explain("0.001").text() and explain(20, prior="0.999999", answers=35).text()


def test_every_range_has_its_own_words() -> None:
    limits = [Decimal(limit) for limit, _ in RANGES]
    assert limits == sorted(limits)
    assert len({explain(e).words for e in (*limits, 20)}) == len(RANGES) + 1


# --- the command -----------------------------------------------------------------------------------------------
def test_the_command_prints_words_or_plain_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["1.0", "--prior", "0.01"]) == 0
    assert capsys.readouterr().out == explain(1, prior="0.01").text() + "\n"
    assert main(["0.5", "--prior", "0.3", "--choices", "4", "--answers", "2", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain == explain("0.5", prior="0.3", choices=4, answers=2).to_dict()
    assert (plain["epsilon"], plain["total_epsilon"], plain["prior"]) == ("0.5", "1", "0.3")


BAD = [
    ({"epsilon": 0}, r"The 'epsilon' parameter of explain must be a number in \(0, 20\]. Got 0."),
    ({"epsilon": "much"}, "'epsilon'"),
    ({"epsilon": math.nan}, "'epsilon'"),
    ({"prior": 0}, r"The 'prior' parameter of explain must be a number in \(0, 1\). Got 0."),
    ({"prior": 1}, "'prior'"),
    ({"prior": "often"}, "'prior'"),
    ({"choices": 1}, "'choices'"),
    ({"choices": 2.5}, "'choices'"),
    ({"answers": 0}, "'answers'"),
    ({"answers": 701}, "at most 700"),
]


@for_each("change,words", BAD)
def test_bad_input_is_refused_in_one_sentence(change: dict[str, object], words: str) -> None:
    given: dict[str, object] = {"epsilon": 1, **change}
    with pytest.raises(ParameterError, match=words):
        explain(given.pop("epsilon"), **given)  # type: ignore[arg-type]


def test_an_explanation_is_frozen() -> None:
    with pytest.raises(AttributeError):
        explain(1).epsilon = Decimal(2)  # type: ignore[misc]
    assert isinstance(explain(1), Explanation)


def test_it_runs_on_the_bare_install() -> None:
    code = (
        "import sys; from sottovoce.privacy.explain import main; main(['1']);"
        "print(sorted({name.split('.')[0] for name in sys.modules} - sys.stdlib_module_names - {'sottovoce'}))"
    )
    command = [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(_source())!r}); {code}"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.startswith("Epsilon 1.") and printed.splitlines()[-1] in ("[]", "['__main__']")


def _source() -> str:
    return str(sv.__file__).removesuffix("/sottovoce/__init__.py")
