"""The balanced pool: field arithmetic, exact balance, ids that are drawn again, and two ways to decode."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.field import add, dot, is_order, is_prime, multiply, polynomial
from sottovoce.core.arithmetic.hashing import id_bytes
from sottovoce.core.channel import PoolMap, Public, Subset
from sottovoce.core.coins import TapeCoins
from sottovoce.estimate.frequency import pool
from sottovoce.fast.batch import draw, from_messages
from sottovoce.fast.words import WordStream

ORDERS = [2, 3, 4, 5, 7, 8, 11, 16]


@pytest.mark.parametrize("g", ORDERS)
def test_fields_are_fields(g: int) -> None:
    elements = range(g)
    for a, b in product(elements, repeat=2):
        assert multiply(a, b, g) == multiply(b, a, g) and add(a, b, g) == add(b, a, g)
    for a in range(1, g):
        assert sorted(multiply(a, b, g) for b in elements) == list(elements), "each element has an inverse"
    some = [*range(min(g, 5)), g - 1]
    for a, b, c in product(some, repeat=3):
        assert multiply(a, add(b, c, g), g) == add(multiply(a, b, g), multiply(a, c, g), g)
        assert multiply(a, multiply(b, c, g), g) == multiply(multiply(a, b, g), c, g)


def test_known_polynomials_and_orders() -> None:
    assert [polynomial(g) for g in (4, 8, 16, 256)] == [0b111, 0b1011, 0b10011, 0b100011011]
    assert [g for g in range(2, 20) if is_order(g)] == [2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 19]
    assert multiply(0x57, 0x83, 256) == 0xC1  # the worked example of FIPS 197


@pytest.mark.parametrize(("g", "digits"), [(2, 4), (3, 3), (4, 2), (5, 2), (8, 2), (7, 1)])
def test_two_codes_collide_under_exactly_one_map_in_g(g: int, digits: int) -> None:
    seeds = range(g**digits)
    values = [[dot(s, v, g, digits) for s in seeds] for v in seeds]
    for u, v in combinations(range(g**digits), 2):
        assert sum(a == b for a, b in zip(values[u], values[v], strict=True)) == len(seeds) // g


@pytest.mark.parametrize(
    ("g", "digits", "k"), [(2, 6, 50), (3, 4, 81), (4, 3, 60), (5, 2, 20), (16, 2, 250), (7, 3, 300)]
)
def test_both_ways_to_decode_agree_with_the_definition(g: int, digits: int, k: int, seed: int) -> None:
    chosen = PoolMap(k, g, digits)
    cells = np.random.default_rng(seed).integers(0, 50, chosen.seeds * g)
    expected = [sum(int(cells[s * g + dot(s, v, g, digits)]) for s in range(chosen.seeds)) for v in range(k)]
    products, binary = pool.product_table(g), polynomial(g) > 0
    direct = np.empty(k, np.int64)
    pool._direct(cells, k, g, digits, chosen.seeds, products, binary, direct)
    np.testing.assert_array_equal(direct, expected)
    np.testing.assert_array_equal(pool.pool_supports(chosen, cells), expected)
    table, following = cells.copy(), np.empty_like(cells)
    for digit in range(digits):
        after = g**digit
        pool.one_digit(table, following, chosen.seeds // (after * g), after, g, products, binary)
        table, following = following, table
    np.testing.assert_array_equal(table.reshape(-1, g)[:k, 0], expected)


def _odd_pool() -> sv.Mechanism:
    m = sv.mechanism("flh", sv.Integers(0, 99), epsilon=1.0, g=3)
    assert m.channel.seeds == 243
    return m


def test_an_id_that_would_favour_some_maps_is_drawn_again_and_refused_by_the_collector() -> None:
    m = _odd_pool()
    worst = (1 << 64) - 1  # above the largest multiple of 243
    good = 12345 << 11
    coins = TapeCoins([worst, 7, 0, 0, 0, 0], [worst, 1, good, 2])
    message = m.randomize(5, coins)
    assert message[:16] == id_bytes((good, 2)), "the first id and one of the overflow range are passed over"
    forged = id_bytes((worst, 7)) + message[16:]
    with pytest.raises(sv.ReportError, match="Report 1 is invalid"):
        from_messages(m, [message, forged])
    from sottovoce.core.exchange import codec

    with pytest.raises(sv.ReportError, match="id"):
        codec.split(m.channel, forged)


def test_a_batch_draws_such_ids_again_like_the_scalar_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    m = _odd_pool()
    plain = WordStream.seeded(m.words, 1)

    class Spoiled:
        """The same words, but for two ids that no device may use."""

        words, overflow, simulated = plain.words, staticmethod(plain.overflow), True

        def rows(self, first: int, count: int) -> np.ndarray:
            rows = plain.rows(first, count).copy()
            for report in (3, 8):
                if first <= report < first + count:
                    rows[report - first, 0] = (1 << 64) - 1
            return rows

        def chunks(self, first: int, last: int, size: int):  # type: ignore[no-untyped-def]
            for start in range(first, last, size):
                yield self.rows(start, min(size, last - start))

    stream = Spoiled()
    codes = np.arange(12, dtype=np.uint32)
    batch = draw(m, codes, stream)  # type: ignore[arg-type]
    for place, report in enumerate(batch):
        coins = TapeCoins(stream.rows(place, 1).tobytes(), plain.overflow(place))
        words, expected = m.draw(int(codes[place]), coins)
        assert (tuple(map(int, batch.public[place])), report) == (words, expected)  # type: ignore[index]
        assert m.channel.accepts(words)


def test_unbiased_given_the_pool_where_a_random_pool_is_not() -> None:
    """Erratum 17: the mean over reports of the exact estimator, for the given pool, is the truth."""
    for pool_map in (PoolMap(9, 3, 2), PoolMap(16, 4, 2), PoolMap(20, 2, 5)):
        inner = Subset(pool_map.g, 1, 3 << 51)
        rates = Public(pool_map, inner).rates()
        assert rates is not None
        for code, other in product(range(4), range(pool_map.k)):
            total = 0
            for s in range(pool_map.seeds):
                values = [dot(s, v, pool_map.g, pool_map.digits) for v in (code, other)]
                total += inner.rates().own if values[0] == values[1] else inner.rates().other
            expected = rates.own if code == other else rates.other
            assert total / pool_map.seeds == expected


def test_many_candidates_are_cheap_to_decode() -> None:
    m = sv.mechanism("flh", sv.Integers(0, 99_999), epsilon=1.0)
    values = np.repeat(np.arange(10), 20_000)
    estimate = m.estimate(m.tally(m.privatize(values, seed=3)))
    assert np.abs(estimate.values[:10] - 0.1).max() < 6 * estimate.std_errors[:10].max()


@pytest.mark.parametrize("g", [1, 6, 9, 300, 512, 4099, "4", None.__class__])
def test_orders_that_are_no_fields_here_are_refused(g: object) -> None:
    with pytest.raises(sv.ParameterError, match="'g' parameter of flh"):
        sv.mechanism("flh", sv.Integers(0, 9), epsilon=1.0, g=g)


def test_primes_are_those_without_a_smaller_divisor() -> None:
    sieve = [n for n in range(2, 400) if all(n % d for d in range(2, n))]
    assert [n for n in range(-2, 400) if is_prime(n)] == sieve
