"""multi-freq-ldpy 0.2.5, called as in its tutorials: a list comprehension over the compiled client.

A second row, "compiled loop", calls the client from a Numba loop into one array. Its documentation does not
show that, but it is the fastest use of the package, and we must be ahead of it as well. Local hashing has
no such row: its client is not compiled. What a fair comparison must know:

* Its aggregators count and estimate in one call, so those rows time tally and estimate on both sides. The
  estimate is clipped at 0 and renormalised, hence biased, and comes without standard errors; ours does the
  unbiased estimate with standard errors in the same time.
* Histogram encoding and the multidimensional and longitudinal protocols are left out: they are other
  methods, not other implementations of ours.
* Reports are drawn from Numba's Mersenne Twister; ours come from a cryptographic source.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.cases import Case

Make = Callable[[np.ndarray], Callable[[], object]]
PEER = "multi-freq-ldpy"


def loop(client: Callable[..., Any], k: int, epsilon: float, *options: Any) -> Make:
    def make(codes: np.ndarray) -> Callable[[], object]:
        values = codes.tolist()
        return lambda: [client(value, k, epsilon, *options) for value in values]

    return make


def aggregation(client: Make, aggregate: Callable[[list[Any]], object]) -> Make:
    def make(codes: np.ndarray) -> Callable[[], object]:
        reports = client(codes)()
        return lambda: aggregate(reports)

    return make


def compiled(client: Any, k: int, epsilon: float, width: int | None, *options: Any) -> Make:
    """The client in a Numba loop; ``width`` is the length of one report, None for a single code."""
    from numba import njit

    @njit
    def single(codes, k, epsilon):  # type: ignore[no-untyped-def]
        out = np.empty(len(codes), np.int64)
        for i in range(len(codes)):
            out[i] = client(codes[i], k, epsilon)
        return out

    @njit
    def plain(codes, k, epsilon, width):  # type: ignore[no-untyped-def]
        out = np.empty((len(codes), width), np.int64)
        for i in range(len(codes)):
            out[i] = client(codes[i], k, epsilon)
        return out

    @njit
    def bits(codes, k, epsilon, width, optimal):  # type: ignore[no-untyped-def]
        out = np.empty((len(codes), width), np.uint8)
        for i in range(len(codes)):
            out[i] = client(codes[i], k, epsilon, optimal)
        return out

    def make(codes: np.ndarray) -> Callable[[], object]:
        if width is None:
            return lambda: single(codes, k, epsilon)
        if options:
            return lambda: bits(codes, k, epsilon, width, *options)
        return lambda: plain(codes, k, epsilon, width)

    return make


def cases(epsilon: float) -> list[Case]:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    found: list[Case] = []

    def add(
        mechanism: str,
        k: int,
        client: Make,
        aggregate: Callable[[list[Any]], object],
        note: str = "",
        options: tuple[tuple[str, Any], ...] = (),
    ) -> None:
        for operation, make in (("privatize", client), ("tally + estimate", aggregation(client, aggregate))):
            label = f"{note or mechanism} {operation}, k={k}"
            found.append(Case(PEER, operation, mechanism, k, make, 1.0, options, label))

    def add_compiled(mechanism: str, k: int, make: Make) -> None:
        label = f"{mechanism} privatize, k={k}, compiled loop"
        found.append(Case(PEER, "privatize", mechanism, k, make, 1.0, (), label))

    k = 128
    add("grr", k, loop(GRR_Client, k, epsilon), lambda r: GRR_Aggregator_MI(r, 128, epsilon))
    add_compiled("grr", k, compiled(GRR_Client, k, epsilon, None))
    add("olh", k, loop(LH_Client, k, epsilon), lambda r: LH_Aggregator_MI(r, 128, epsilon))
    blh = loop(LH_Client, k, epsilon, False)
    two = (("g", 2),)  # binary local hashing is ours with two hash values
    add("olh", k, blh, lambda r: LH_Aggregator_MI(r, 128, epsilon, False), "olh with g=2", two)
    add("olh", 1024, loop(LH_Client, 1024, epsilon), lambda r: LH_Aggregator_MI(r, 1024, epsilon))
    add("subset", k, loop(SS_Client, k, epsilon), lambda r: SS_Aggregator_MI(r, 128, epsilon))
    size = len(SS_Client(0, k, epsilon))
    add_compiled("subset", k, compiled(SS_Client, k, epsilon, size))
    add("sue", k, loop(UE_Client, k, epsilon, False), lambda r: UE_Aggregator_MI(r, epsilon, False))
    add_compiled("sue", k, compiled(UE_Client, k, epsilon, k, False))
    add("oue", 1024, loop(UE_Client, 1024, epsilon, True), lambda r: UE_Aggregator_MI(r, epsilon, True))
    add_compiled("oue", 1024, compiled(UE_Client, 1024, epsilon, 1024, True))
    return found
