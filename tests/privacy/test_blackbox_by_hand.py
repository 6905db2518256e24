"""Numbers of the black-box audit that can be counted or computed apart from it."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import beta

from sottovoce.core.errors import ParameterError
from sottovoce.privacy.blackbox import (
    ALPHA,
    EVENTS,
    SEARCH_MOST,
    SEARCH_SHARE,
    audit_black_box,
    samples_needed,
    serialised,
)
from sottovoce.privacy.events import CAUTIONS, Column, EventBatch, Literal, _LiteralRows, _refined, _word, scores


def test_every_report_that_is_drawn_is_counted() -> None:
    """Three values, of which events tell only two apart: of the third no fresh reports are drawn."""
    asked: Counter[str] = Counter()

    def tell(value: str) -> bytes:
        asked[value] += 1
        return b"1" if value == "yes" else b"0"

    certificate = audit_black_box(tell, ["no", "yes", "maybe"], claimed=1, samples=1000)
    assert certificate.refuted
    assert certificate.drawn == sum(asked.values())
    searched = 2 * min(SEARCH_MOST, int(1000 * SEARCH_SHARE))
    assert set(asked.values()) <= {1000, searched} and certificate.samples == 1000 - searched


def enough(samples: int, p: float, q: float, claim: float) -> bool:
    """Whether unlucky counts of the fresh reports still refute the claim, by Clopper's and Pearson's bounds."""
    n = samples - 2 * min(SEARCH_MOST, int(samples * SEARCH_SHARE))
    x = int(n * p - 1.64 * math.sqrt(n * p * (1 - p)))
    y = min(n, math.ceil(n * q + 1.64 * math.sqrt(n * q * (1 - q))))
    low = beta.ppf(ALPHA / EVENTS / 2, x, n - x + 1) if x >= 1 else 0
    high = 1 if y == n else beta.ppf(1 - ALPHA / EVENTS / 2, y + 1, n - y)
    return bool(low > 0 and math.log(low / high) > claim)


@pytest.mark.parametrize(
    ("p", "q", "claim"), [(1.0, 0.0, 1.0), (0.75, 0.25, 1.0), (0.5, 0.0, 2.0), (0.9, 0.1, 2.0), (0.02, 0.001, 1.5)]
)
def test_samples_needed_are_the_fewest_that_refute(p: float, q: float, claim: float) -> None:
    found = samples_needed(p, q, claimed=claim)
    assert enough(found, p, q, claim)
    assert any(not enough(fewer, p, q, claim) for fewer in range(found - max(1, found // 1000) - 1, found))


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.2), (0.0, 0.0), (0.2, 0.5), (0.9, 0.9 / math.e)])
def test_an_event_within_the_claim_contradicts_nothing(p: float, q: float) -> None:
    with pytest.raises(ParameterError, match="does not contradict"):
        samples_needed(p, q, claimed=1)


@pytest.mark.parametrize("level", [0, 1, -0.5, 1.5])
def test_a_level_lies_between_zero_and_one(level: float) -> None:
    with pytest.raises(ParameterError, match="level"):
        samples_needed(1, 0, claimed=1, level=level)


@pytest.mark.parametrize(("p", "q"), [(1.1, 0), (-0.1, 0), (0.5, -0.1), (1, 1.5)])
def test_a_probability_lies_from_zero_to_one(p: float, q: float) -> None:
    with pytest.raises(ParameterError, match=r"a number in \[0, 1\]"):
        samples_needed(p, q, claimed=1)


def test_arrays_are_serialised_in_full() -> None:
    """The text of a long array leaves its middle out, where a difference would go unseen."""
    one, other = np.zeros(5000), np.zeros(5000)
    other[2500] = 1
    forms = [one, other, one.astype(np.float32), one.reshape(50, 100), one.tobytes()]
    assert len({serialised(form) for form in forms}) == len(forms)
    assert serialised(one.copy()) == serialised(one)


def test_a_ratio_set_is_an_event_of_its_own() -> None:
    """Where no single category is a literal, the set of those likelier for the first value is found and counted."""
    column = Column("the report", lambda batch: list(batch.messages))
    likelier = Literal(column, frozenset(b"%d" % number for number in range(60)))
    first = _LiteralRows(EventBatch([b"%d" % number for number in range(100)]), [])
    second = _LiteralRows(EventBatch([b"%d" % number for number in range(50, 250)]), [])
    ((score, counts, event),) = _refined(first, second, [], [likelier], (0, 1), CAUTIONS[1])
    assert counts == (0, 1, 60, 10) and event.literals == (likelier,)
    assert score == scores(60, 10, 100, 200, CAUTIONS[1])


def test_scores_are_wilsons_bounds() -> None:
    """The bounds of a frequency are the two roots of (p - share)^2 = z^2 p (1 - p) / n."""
    x, y, n, m, z = np.array([30.0, 70.0]), np.array([10.0, 20.0]), 100, 80, 2.5
    low, high = (
        np.array([np.roots([1 + z * z / size, -2 * c / size - z * z / size, (c / size) ** 2]) for c in counts])
        for counts, size in ((x, n), (y, m))
    )
    assert np.allclose(scores(x, y, n, m, z), np.log(low.min(axis=1) / high.max(axis=1)))
    assert scores(np.zeros(1), np.ones(1), n, m, z)[0] == -math.inf


def test_the_first_and_last_word_of_a_message_are_columns() -> None:
    batch = EventBatch([b"id:one two", b"id:;;", b"id:three"])
    assert [list(_word(3, "first", 0).of(batch)), list(_word(3, "last", -1).of(batch))] == [
        [b"one", b"", b"three"],
        [b"two", b"", b"three"],
    ]
