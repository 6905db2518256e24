"""Kernels of `Public`: the hash family on arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.field import multiply, polynomial
from sottovoce.core.arithmetic.hashing import WORD, bucket_start, derived_words
from sottovoce.core.arithmetic.rational import FINE
from sottovoce.core.channel import Channel, HashMap, NumberedMap, PoolMap, Public, SampledCoordinates, Subset
from sottovoce.core.channel.compose.maps import Choice
from sottovoce.core.channel.facets import Relaying, facet
from sottovoce.core.errors import NoBatchError
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.arithmetic import lowest
from sottovoce.fast.kernels.base import ByClass, Codes, Count, Draws, Reports, Sample, counter, sampler
from sottovoce.fast.kernels.vector.sampled import refused_starts

Public64 = NDArray[np.uint64]


@compiled
def copy_public(words, out):
    """The first two words of each row. (NumPy copies pairs slowly.)"""
    for i in range(out.shape[0]):
        out[i, 0] = words[i, 0]
        out[i, 1] = words[i, 1]


@compiled
def hash_codes(public, codes, g, bits, out):
    half = np.uint64(bits // 2)
    shift = np.uint64(64 - bits)  # short words: the sum modulo 2**bits
    for i in range(codes.shape[0]):
        total = public[i, 0] * np.uint64(codes[i]) + public[i, 1]
        total = (total << shift) >> shift
        out[i] = ((total >> half) * np.uint64(g)) >> half


@compiled
def _count_hashes(reports, public, starts, cells):
    """Count the reports that equal each candidate's hash.

    The hash of v is y exactly when a v + b lies in the y-th interval of the 2**64 words; so one addition and one
    comparison check a candidate.
    """
    k = cells.shape[0]
    for i in range(reports.shape[0]):
        y = reports[i]
        start = starts[y]
        width = starts[y + 1] - start  # modulo 2**64, so that the last interval ends at 2**64
        step = public[i, 0]
        value = public[i, 1] - start
        for v in range(k):
            cells[v] += (value + step * np.uint64(v)) < width


def mapped_words(public: Public64, depth: int) -> Public64:
    """The public words of a node at a nesting depth."""
    if depth == 0:
        return public
    pairs = [derived_words((int(a), int(b)), depth) for a, b in public]
    return np.array(pairs, np.uint64).reshape(-1, 2)


@ByClass
def mapper(chosen: Any) -> Callable[[Public64, Codes], NDArray[np.uint32]]:
    """The vectorised map: (public words, codes) -> mapped codes."""
    raise NoBatchError(f"There is no vectorised form of the map {chosen!r}.")


@mapper.register
def _(chosen: HashMap) -> Callable[[Public64, Codes], NDArray[np.uint32]]:
    def apply(public: Public64, codes: Codes) -> NDArray[np.uint32]:
        out = np.empty(len(codes), np.uint32)
        hash_codes(public, codes, chosen.g, chosen.bits, out)
        return out

    return apply


@compiled
def _choose(public, choices, limit, unused, dropped, out, refused):
    for i in range(public.shape[0]):
        drawn = (public[i, 0] << unused) >> dropped  # the leading bits of a word, which in proofs is short
        refused[i] = drawn >= limit
        out[i] = drawn % choices


@compiled
def _pool_hash(seeds, codes, g, digits, products, binary, out):
    """Inner products of digit vectors; `products` is the multiplication table of a binary field, or empty."""
    base = np.uint64(g)
    for i in range(codes.shape[0]):
        a = np.uint64(seeds[i])  # a pool may have more maps than 32 bits number
        b = np.uint64(codes[i])
        total = np.uint64(0)
        for _ in range(digits):
            if binary:
                total ^= np.uint64(products[a % base, b % base])
            else:
                total = (total + (a % base) * (b % base)) % base
            a //= base
            b //= base
        out[i] = total


@compiled
def _count_pairs(seeds, reports, payloads, cells):
    for i in range(reports.shape[0]):
        cells[seeds[i] * payloads + reports[i]] += 1


@compiled
def _count_bits(seeds, masks, bits, cells):
    one = np.uint64(1)
    for i in range(masks.shape[0]):
        start = seeds[i] * (bits + 1)
        cells[start] += 1
        for b in range(masks.shape[1]):
            left = masks[i, b]
            while left != np.uint64(0):
                cells[start + 1 + 64 * b + np.int64(lowest(left))] += 1
                left &= left - one


def chosen_numbers(choice: Choice, public: Public64) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The number that each id chooses, and which ids no device may use."""
    read = min(choice.bits, FINE)
    limit = (1 << read) - (1 << read) % choice.choices
    shifts = np.uint64(WORD - choice.bits), np.uint64(WORD - read)
    out, refused = np.empty(len(public), np.int64), np.empty(len(public), np.bool_)
    _choose(public, np.uint64(choice.choices), np.uint64(limit), *shifts, out, refused)
    return out, refused


def asked_numbers(choice: Choice, public: Public64 | None) -> NDArray[np.int64]:
    """The number that each id chooses; ids are needed."""
    if public is None:
        raise ValueError("Answers about some of a list need the public words of their reports.")
    return chosen_numbers(choice, public)[0]


@lru_cache(maxsize=16)
def product_table(g: int) -> NDArray[np.uint32]:
    """The multiplication table of a field of 2**r elements; one empty cell for a prime order."""
    if not polynomial(g):
        return np.zeros((1, 1), np.uint32)
    return np.array([[multiply(a, b, g) for b in range(g)] for a in range(g)], np.uint32)


@ByClass
def valuer(chosen: Any) -> Callable[[NDArray[np.int64], Codes], NDArray[np.uint32]]:
    """The vectorised values of numbered functions: (numbers, codes) -> values."""
    raise NoBatchError(f"There is no vectorised form of the map {chosen!r}.")


@valuer.register
def _(chosen: PoolMap) -> Callable[[NDArray[np.int64], Codes], NDArray[np.uint32]]:
    products = product_table(chosen.g)

    def values(seeds: NDArray[np.int64], codes: Codes) -> NDArray[np.uint32]:
        out = np.empty(len(codes), np.uint32)
        _pool_hash(seeds, codes, chosen.g, chosen.digits, products, polynomial(chosen.g) > 0, out)
        return out

    return values


@mapper.register
def _(chosen: NumberedMap) -> Callable[[Public64, Codes], NDArray[np.uint32]]:
    values = valuer(chosen)
    return lambda public, codes: values(chosen_numbers(chosen.choice, public)[0], codes)


def refused_ids(channel: Channel, public: Public64) -> NDArray[np.bool_]:
    """Which ids no device may use; `Channel.accepts` for many."""
    node, depth = channel, channel.publics
    refused = np.zeros(len(public), np.bool_)
    while True:
        if isinstance(node, Public):
            depth -= 1
            choice = getattr(node.map, "choice", None)
            if choice is not None:
                refused |= chosen_numbers(choice, mapped_words(public, depth))[1]
        if isinstance(node, SampledCoordinates):
            refused |= refused_starts(node, public)
        relaying = facet(node, Relaying)
        if relaying is None:
            return refused
        node = relaying.last


def count_seeds(
    pool: NumberedMap, outputs: int, reports: Reports, public: Public64 | None, cells: NDArray[np.int64]
) -> None:
    """Add each pair of public map and payload to its cell."""
    _count_pairs(_seeds(pool, public), reports, outputs, cells)


def count_cohorts(
    pool: NumberedMap, bits: int, masks: Reports, public: Public64 | None, cells: NDArray[np.int64]
) -> None:
    """Add each report and its bits to the cells of its public map."""
    _count_bits(_seeds(pool, public), masks, bits, cells)


def _seeds(pool: NumberedMap, public: Public64 | None) -> NDArray[np.int64]:
    if public is None:
        raise ValueError("Reports of a pool must be counted together with their public words.")
    return chosen_numbers(pool.choice, public)[0]


@sampler.register
def _(channel: Public) -> Sample:
    inner, apply = sampler(channel.inner), mapper(channel.map)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        if draws.public is None:
            raise ValueError("A public channel needs its public words.")
        inner(apply(mapped_words(draws.public, channel.inner.publics), codes), draws, at, out)

    return draw


@ByClass
def map_counter(chosen: Any, inner: Channel) -> Count:
    """The tally kernel of the supports of a map and the channel behind it."""
    raise NoBatchError(f"There is no tally kernel for a {inner.kind} channel behind the map {chosen!r}.")


@map_counter.register
def _(chosen: HashMap, inner: Channel) -> Count:
    if not (isinstance(inner, Subset) and inner.w == 1 and chosen.bits == WORD):
        raise NoBatchError("The tally kernel of local hashing needs randomized response.")
    starts = np.array([bucket_start(y, chosen.g) << 32 for y in range(chosen.g)] + [0], np.uint64)

    def count(reports: Reports, public: Public64 | None, cells: NDArray[np.int64]) -> None:
        if public is None:
            raise ValueError("Hashed reports must be counted together with their public words.")
        _count_hashes(reports, public, starts, cells)

    return count


@counter.register
def _(channel: Public) -> Count:
    return map_counter(channel.map, channel.inner)
