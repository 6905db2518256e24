"""Mistakes that were made once: each stays fixed."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Bits, PoolMap, Public, Subset, Table
from sottovoce.core.exact import law, public_words
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.fast.words import WordStream
from sottovoce.tally.counts import simulate_cells

M = sv.mechanism("grr", sv.Categories(["a", "b", "c"]), epsilon=1)


def test_a_code_without_a_bit_has_no_support_to_count() -> None:
    channel = Bits(64, UNIT // 2, UNIT // 4, "optional")
    with pytest.raises(sv.SpecError, match="every code"):
        sv.Mechanism("optional", Frequency(sv.Integers(0, 64)), channel, "2", CountSupports())  # type: ignore[arg-type]


def test_an_output_that_no_row_gives_is_refused_in_batches_too() -> None:
    half = UNIT // 2
    table = Table([[half + 1, half - 1, 0], [half - 1, half + 1, 0]])
    m = sv.Mechanism("made up", Frequency(sv.Integers(0, 1)), table, "1", CountOutputs())  # type: ignore[arg-type]
    message = m.randomize(0)[:16] + b"\x02"
    with pytest.raises(sv.ReportError, match="Reports 0, 1 are invalid"):
        m.tally([message, message])
    with pytest.raises(sv.ReportError, match="Report 0 is invalid"):
        m.tally(sv.Reports(m, np.array([2], np.uint8)))


def test_the_key_of_a_batch_is_never_shown() -> None:
    stream = WordStream.secure(2)
    assert stream.key.hex() not in repr(stream) and repr(stream.key) not in repr(stream)


def test_pools_inside_other_public_maps_have_ids_in_proofs() -> None:
    inner = Public(PoolMap(3, 3, 1, 4), Subset(3, 1, UNIT // 2))
    nested = Public(PoolMap(3, 3, 1, 4), inner)
    assert list(public_words(nested))
    assert sum(law(nested, 0).values()) == 1


@pytest.mark.parametrize("target", ["population", "sample"])
@pytest.mark.parametrize("name", ["grr", "subset", "sue", "oue", "hadamard", "unary", "flh", "hrr"])
def test_variances_are_the_diagonal_of_the_covariance(name: str, target: str) -> None:
    m = sv.mechanism(name, sv.Integers(0, 15), epsilon=3)
    estimate = m.estimate(m.tally(m.privatize(np.arange(2000) % 5, seed=1)))
    np.testing.assert_allclose(np.diag(estimate.covariance(target=target)), estimate.evidence.variances(target))


def test_cells_are_drawn_one_by_one_only_where_they_are_supports() -> None:
    with pytest.raises(sv.ParameterError, match="joint=True"):
        simulate_cells(M, [1, 2, 3], runs=1, seed=0, joint=False)


def test_masked_answers_are_no_answers() -> None:
    m = sv.mechanism("grr", sv.Integers(0, 9), epsilon=1)
    with pytest.raises(sv.DomainError, match="mask"):
        m.privatize(np.ma.array([1, 2, 2], mask=[0, 1, 1]))


def test_an_audit_is_held_against_the_epsilon_it_is_given() -> None:
    assert not sv.audit(M, epsilon="0.9").ok
    assert sv.audit(M, epsilon=1).ok
    with pytest.raises(sv.ParameterError, match="mechanism or a channel"):
        sv.audit("grr")  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [0, -1, 1.5, "5", True])
def test_variances_are_for_a_number_of_participants(n: object) -> None:
    with pytest.raises(sv.ParameterError, match="'n' parameter"):
        M.variance([1, 0, 0], n)  # type: ignore[arg-type]


def test_tiny_budgets_are_refused_in_one_sentence() -> None:
    for name in sv.names():
        domain = sv.Integers(0, 1 if name == "rr" else 2)
        if name in sv.names(sv.GroupMean):
            domain = sv.Pair(sv.Integers(0, 2), domain)
        with pytest.raises(sv.ParameterError):
            sv.mechanism(name, domain, epsilon="1e-16")
    with pytest.raises(sv.ParameterError, match="No method"):
        sv.plan(sv.Frequency(sv.Integers(0, 2)), epsilon="1e-16", participants=9)


@pytest.mark.parametrize("seed", ["1", 1.9, True, [1]])
def test_seeds_are_integers(seed: object) -> None:
    with pytest.raises(sv.ParameterError, match="'seed' parameter"):
        M.privatize(["a"], seed=seed)  # type: ignore[arg-type]
    with pytest.raises(sv.ParameterError, match="'seed' parameter"):
        sv.simulate_counts(M, [1, 2, 3], seed=seed)  # type: ignore[arg-type]


def test_likely_slips_get_a_sentence() -> None:
    with pytest.raises(sv.ParameterError, match="count the reports first"):
        M.estimate(M.privatize(["a"]))
    with pytest.raises(sv.ReportError, match="list of messages"):
        M.tally(None)
    with pytest.raises(sv.ParameterError, match="texts only"):
        sv.Categories(["a", 1])  # type: ignore[list-item]
    with pytest.raises(sv.ParameterError, match="list of texts"):
        sv.Categories(5)  # type: ignore[arg-type]
    with pytest.raises(sv.ParameterError, match="very large"):
        sv.mechanism("grr", sv.Integers(0, 2), epsilon=10**5000)
    for limit in ("1", True):
        with pytest.raises(sv.ParameterError, match="'limit' parameter"):
            sv.Client(M, limit=limit)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", "\x1b[31mred", "two\nlines", "x" * 101])
def test_names_cannot_disturb_a_terminal(name: str) -> None:
    with pytest.raises(sv.SpecError, match="printable"):
        sv.Mechanism(name, Frequency(sv.Integers(0, 1)), Subset(2, 1, 5 << 50), "1", CountOutputs())  # type: ignore[arg-type]


def test_the_rest_of_a_stream_has_the_words_of_the_whole() -> None:
    stream = WordStream.seeded(4, 1)
    rest = stream.after(3).after(4)
    np.testing.assert_array_equal(rest.rows(0, 5), stream.rows(7, 5))
    assert next(rest.overflow(2)) == next(stream.overflow(9)) != next(stream.overflow(2))
