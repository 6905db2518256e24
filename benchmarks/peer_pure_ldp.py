"""pure-ldp 1.2.0, called the way its documentation does: one ``privatise`` per person.

It offers no batch call on the client (``encode_string`` of its internal Hadamard classes is the same loop,
and was no faster); on the server ``aggregate_all`` is its batch call. What a fair comparison must know:

* The default index mapper subtracts 1, so that with codes from 0 the code 0 becomes index -1 and is
  reported as such. An identity mapper is passed, at the same cost as the default.
* ``HadamardResponseServer.aggregate`` only appends; the counting happens when estimates are asked for, so
  that row times tally and estimate on both sides. Its flag for the fast transform is set only above
  d = 128: there k is 1024, so that the peer runs its fast path.
* ``LHClient`` hands a 63-bit seed to a 32-bit hash, which keeps the low 32 bits; harmless.
* ``FastLHClient`` is another method (a small pool of hash functions) and not compared with OLH.
* Reports are drawn from the Mersenne Twister, which is predictable from its output; ours come from a
  cryptographic source, so the peer is given the cheaper randomness.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.cases import Case


def same(index: int) -> int:
    return index


def loop(client: Any) -> Callable[[np.ndarray], Callable[[], object]]:
    def make(codes: np.ndarray) -> Callable[[], object]:
        values = codes.tolist()  # Python ints are what the per-item call takes fastest
        privatise = client.privatise
        return lambda: [privatise(value) for value in values]

    return make


def aggregation(client: Any, server: Any, estimate: bool) -> Callable[[np.ndarray], Callable[[], object]]:
    def make(codes: np.ndarray) -> Callable[[], object]:
        reports = [client.privatise(value) for value in codes.tolist()]

        def call() -> object:
            server.reset()
            server.aggregate_all(reports)
            if estimate:
                server.check_and_update_estimates()
            return server.estimated_data

        return call

    return make


def cases(epsilon: float) -> list[Case]:
    from pure_ldp.frequency_oracles import (
        DEClient,
        DEServer,
        HadamardResponseClient,
        HadamardResponseServer,
        LHClient,
        LHServer,
        UEClient,
        UEServer,
    )

    def hadamard(k: int) -> tuple[Any, Any]:
        server = HadamardResponseServer(epsilon, k, index_mapper=same)
        return HadamardResponseClient(epsilon, k, server.get_hash_funcs(), index_mapper=same), server

    def pair(mechanism: str, k: int) -> tuple[Any, Any]:
        if mechanism == "hadamard":
            return hadamard(k)
        client, server, options = {
            "grr": (DEClient, DEServer, {}),
            "olh": (LHClient, LHServer, {"use_olh": True}),
            "sue": (UEClient, UEServer, {"use_oue": False}),
            "oue": (UEClient, UEServer, {"use_oue": True}),
        }[mechanism]
        return (
            client(epsilon, k, index_mapper=same, **options),
            server(epsilon, k, index_mapper=same, **options),
        )

    def privatize(mechanism: str, k: int, target: float | None) -> Case:
        client, _ = pair(mechanism, k)
        return Case("pure-ldp", "privatize", mechanism, k, loop(client), target)

    def tally(mechanism: str, k: int, target: float | None, operation: str = "tally") -> Case:
        client, server = pair(mechanism, k)
        make = aggregation(client, server, operation != "tally")
        return Case("pure-ldp", operation, mechanism, k, make, target)

    return [
        privatize("grr", 128, 100),
        privatize("olh", 128, 200),
        privatize("hadamard", 128, 150),
        privatize("oue", 1024, 80),
        privatize("sue", 128, None),
        tally("olh", 1024, 700),
        tally("oue", 1024, None),
        tally("grr", 128, None),
        tally("hadamard", 1024, None, "tally + estimate"),
    ]
