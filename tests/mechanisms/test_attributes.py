"""Several attributes of a record: split participants, split budgets, some of them, and one among fakes."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import floor_unit, odds
from sottovoce.core.channel import Bits, Fakes, Subset
from sottovoce.core.domain import Fields, Select
from sottovoce.core.exact import law
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.each import CountEach
from sottovoce.protocols.checkpoints import checkpoint, resume
from sottovoce.protocols.play import State
from sottovoce.protocols.simulate import play_round
from sottovoce.testing import check_mechanism

CATEGORIES = sv.Record({"sex": sv.Categories(["f", "m"]), "answer": sv.Integers(0, 2)})
MIXED = sv.Record({"sex": sv.Categories(["f", "m"]), "hours": sv.Interval(0, 10), "answer": sv.Integers(0, 3)})


@pytest.mark.parametrize("name", sv.names(sv.Attributes))
def test_categories_keep_the_contract(name: str, seed: int) -> None:
    check_mechanism(sv.mechanism(name, CATEGORIES, epsilon="1"), seed=seed % 1000)


@pytest.mark.slow
@pytest.mark.parametrize("name", sv.names(sv.Attributes))
def test_numbers_and_other_sizes_keep_the_contract(name: str, seed: int) -> None:
    record = sv.Record({"a": sv.Integers(0, 6), "b": sv.Integers(0, 1), "c": sv.Integers(0, 4)})
    for domain in (record, sv.Record({"sex": sv.Categories(["f", "m"]), "hours": sv.Interval(0, 10)})):
        if name == "split-attributes" or domain is record:
            check_mechanism(sv.mechanism(name, domain, epsilon="4"), seed=seed % 1000)


# --- one among fakes -------------------------------------------------------------------------------------------------
def test_fakes_hide_nothing_where_records_differ_in_every_attribute() -> None:
    """All pairs of records over the enumerated law: the whole budget, and less for records that differ in one place."""
    m = sv.mechanism("fake-attributes", CATEGORIES, epsilon=1)
    laws = {code: law(m.channel, code) for code in product(range(2), range(3))}
    worst = {1: Fraction(0), 2: Fraction(0)}
    for one, other in product(laws, repeat=2):
        apart = sum(a != b for a, b in zip(one, other, strict=True))
        if apart:
            ratio = max(laws[one][report] / laws[other][report] for report in laws[one])
            worst[apart] = max(worst[apart], ratio)
    assert worst[2] == m.ratio and m.epsilon == pytest.approx(1, abs=1e-9)
    parts = [
        (channel.inputs * channel.rates().own, channel.inputs * channel.rates().other) for channel in m.channel.channels
    ]
    single = max((own + rest) / (other + rest) for (own, other), (_, rest) in (parts, parts[::-1]))
    assert worst[1] == single < m.ratio


def test_the_published_larger_budget_is_refused() -> None:
    """RS+FD gives the chosen attribute ln(d (e**epsilon - 1) + 1), and so loses as much, not the epsilon it claims."""
    size, epsilon = len(CATEGORIES.fields), Decimal(1)
    amplified = size * (odds(epsilon) - 1) + 1
    channels = [Subset(k, 1, floor_unit(amplified / (amplified + k - 1))) for k in (2, 3)]
    with pytest.raises(sv.PrivacyError, match=r"epsilon 1\.4898"):
        Mechanism("published", sv.Attributes(CATEGORIES), Fakes(channels), epsilon, CountEach())
    assert math.log(2 * (math.e - 1) + 1) == pytest.approx(1.4898, abs=1e-3)


def test_fakes_stand_beside_randomized_response_only() -> None:
    with pytest.raises(sv.ParameterError, match="k-ary randomized response"):
        Fakes((Bits(3, 1 << 52, 1 << 50),))
    with pytest.raises(sv.ParameterError, match="fake-attributes"):
        sv.mechanism("fake-attributes", MIXED, epsilon=1)


def test_fakes_are_unbiased_and_as_precise_as_predicted() -> None:
    m = sv.mechanism("fake-attributes", CATEGORIES, epsilon=2)
    people = [{"sex": "f" if i % 4 else "m", "answer": i % 3 if i % 2 else 0} for i in range(30_000)]
    found = m.estimate(m.tally(m.privatize(people, seed=1)))
    truth = [0.75, 0.25, 2 / 3, 1 / 6, 1 / 6]
    assert list(found.labels) == [("sex", "f"), ("sex", "m"), ("answer", 0), ("answer", 1), ("answer", 2)]
    assert found.axes.texts() == ["sex: f", "sex: m", "answer: 0", "answer: 1", "answer: 2"]
    assert list(found.to_frame()["attribute"]) == ["sex"] * 2 + ["answer"] * 3
    assert np.abs(found.values - truth).max() < 5 * found.std_errors.max()
    predicted = m.variance({"sex": truth[:2], "answer": truth[2:]}, 30_000)
    assert found.std_errors**2 == pytest.approx(predicted, rel=0.05)
    sex = found.answer(sv.Frequency(Select(CATEGORIES, ["sex"])))
    assert sex.values == pytest.approx(found.values[:2]) and list(sex.labels) == ["f", "m"]
    low, high = found.ci(0.999)
    assert ((low <= truth) & (truth <= high)).all() and sex.ci(0.999).low == pytest.approx(low[:2])


# --- some of them ----------------------------------------------------------------------------------------------------
def crowd(n: int) -> list[dict[str, object]]:
    rng = np.random.default_rng(n)
    return [
        {"sex": "fm"[int(rng.random() < 0.3)], "hours": float(rng.uniform(2, 8)), "answer": int(rng.integers(4))}
        for _ in range(n)
    ]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_every_attribute_is_estimated_from_those_who_were_asked(count: int) -> None:
    protocol = sv.SampledAttributes(MIXED, 3, count)
    found = sv.simulate(protocol, crowd(6000), seed=1)
    assert list(found) == ["sex", "hours", "answer"]
    assert sum(one.n for one in found.values()) == 6000 * count
    assert all(one.epsilon == pytest.approx(3, abs=1e-4) for one in found.values()), "the budget of the whole report"
    for name, truth in (("sex", [0.7, 0.3]), ("hours", [5.0]), ("answer", [0.25] * 4)):
        low, high = found[name].ci(0.999)
        assert ((low <= truth) & (truth <= high)).all(), name
    each = [arm.mechanism.channel.channels for arm in protocol.start().arms]
    assert all(len(channels) == count for channels in each) and len(each) == (1 if count == 3 else 3)
    ratios = [float(channel.ratio()) for channels in each for channel in channels]
    assert ratios == pytest.approx([math.exp(3 / count)] * len(ratios), rel=1e-3)


def test_a_protocol_of_attributes_is_saved_closed_and_checked() -> None:
    protocol = sv.SampledAttributes(MIXED, 2, 2)
    tallies = play_round(protocol.start(), crowd(600), seed=4)
    again = resume(checkpoint(State.first(protocol).after(tallies)))
    found = protocol.advance([tallies])
    assert np.array_equal(again.estimates["answer"].values, found["answer"].values)
    for wrong in ({"record": sv.Integers(0, 3)}, {"count": 4}, {"count": 0}, {"epsilon": 0}):
        with pytest.raises(sv.ParameterError):
            sv.SampledAttributes(**{"record": MIXED, "epsilon": 1, "count": 1, **wrong})


def test_fields_are_a_view_of_the_whole_record() -> None:
    some = Fields(MIXED, ["answer", "sex"])
    assert some.encode({"sex": "m", "hours": 3, "answer": 2}) == (2, 1)
    assert list(some.labels()) == ["answer", "sex"] and type(some).from_fields({"of": MIXED.spec(), "names": ["sex"]})
    assert some.encode({"sex": "m", "answer": 2}) == (2, 1)  # what was not asked need not be known
    for outside in ({"sex": "m", "hours": 3}, {"sex": "m", "hours": 11, "answer": 2}, 3):
        with pytest.raises(sv.DomainError):
            some.encode(outside)
    for names in ([], ["sex", "sex"], ["age"]):
        with pytest.raises(sv.ParameterError, match="distinct names"):
            Fields(MIXED, names)
    for names in ("sex", [3], None, {"sex": 1}):
        with pytest.raises(sv.SpecError, match=r"must be a (list|text)"):
            type(some).from_fields({"of": MIXED.spec(), "names": names})
    with pytest.raises(sv.ParameterError, match="a record"):
        sv.Attributes(sv.Integers(0, 3))
    with pytest.raises(sv.ParameterError, match="whose fields are categories or numbers"):
        sv.Attributes(sv.Record({"sex": sv.Categories(["f", "m"]), "place": sv.Box(0, 1, 2)}))


def test_shares_of_many_values_are_asked_bit_by_bit() -> None:
    m = sv.mechanism("split-attributes", sv.Record({"a": sv.Integers(1, 64), "b": sv.Integers(1, 65)}), epsilon=2)
    assert [type(part) for part in m.channel.channels] == [Subset, Bits]  # type: ignore[attr-defined]


# --- plans -----------------------------------------------------------------------------------------------------------
def test_splitting_participants_has_the_least_error() -> None:
    made = sv.plan(sv.Attributes(CATEGORIES), epsilon=1, participants=1000)
    best, *others = made.options
    assert best.method == "sampled-attributes (1 of 2)" and len(others) == 2
    truth = {"sex": [0.5, 0.5], "answer": [1 / 3] * 3}
    for option in others:
        each = np.split(option.mechanism.variance(truth, 1000), [2])
        assert option.std_error == pytest.approx(math.sqrt(np.mean([one.mean() for one in each])))
    assert best.protocol == sv.SampledAttributes(CATEGORIES, 1)
    assert sv.plan(sv.Attributes(MIXED), epsilon=1, half_width="0.05").participants > 1000
