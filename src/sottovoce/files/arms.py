"""What an engine counts: one mechanism, or all arms of a round at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.mechanism import Mechanism
from sottovoce.fast.sha256 import digests

_FIFTY_THREE = np.uint64(11)  # the bits of a digest's first word that a ticket leaves out


@dataclass(frozen=True, slots=True)
class Arms:
    """The mechanism of each arm; with a manifest, reports must also be in the arm that their id leads to."""

    mechanisms: tuple[Mechanism, ...]
    manifest: Manifest | None = None

    @classmethod
    def of(cls, what: Any) -> Arms:
        """From a mechanism, a manifest, or a sequence of mechanisms in the order of their arms."""
        if isinstance(what, Arms):
            return what
        if isinstance(what, Manifest):
            return cls(tuple(arm.mechanism for arm in what.stage.arms), what)
        if isinstance(what, Mechanism):
            return cls((what,))
        if isinstance(what, Sequence) and what and all(isinstance(one, Mechanism) for one in what):
            return cls(tuple(what))
        raise ParameterError("An engine counts the reports of a mechanism, of a manifest, or of a list of mechanisms.")

    def to_bytes(self) -> bytes:
        """In plain data, for the machines that count."""
        if self.manifest is not None:
            return self.manifest.content
        return json.dumps([one.spec() for one in self.mechanisms]).encode()

    @staticmethod
    @lru_cache(maxsize=4)
    def from_bytes(data: bytes) -> Arms:
        """Read once in a process, which counts many partitions."""
        plain = json.loads(data)
        if isinstance(plain, list):
            return Arms(tuple(map(Mechanism.from_spec, plain)))
        return Arms.of(Manifest.from_spec(data))

    @property
    def assigns(self) -> bool:
        """Whether the id of a report says its arm."""
        return self.manifest is not None and not self.manifest.stage.chosen

    def assigned(self, ids: NDArray[np.uint8]) -> NDArray[np.int64]:
        """The arm of each id; see `Manifest.arm_of`, which is asked where a draw is rejected."""
        if self.manifest is None:
            raise ParameterError("Only a manifest assigns arms.")
        stage = self.manifest.stage
        head = np.frombuffer(bytes.fromhex(self.manifest.hash), np.uint8)
        messages = np.zeros((len(ids), len(head) + ids.shape[1] + 4), np.uint8)
        messages[:, : len(head)] = head
        messages[:, len(head) : -4] = ids
        tickets = digests(messages)[:, 0] >> _FIFTY_THREE
        ends = np.array(list(accumulate(arm.weight for arm in stage.arms)), np.uint64)
        arms = np.searchsorted(ends, tickets % np.uint64(stage.weight), side="right").astype(np.int64)
        limit = np.uint64((1 << 53) - (1 << 53) % stage.weight)
        for row in np.flatnonzero(tickets >= limit).tolist():
            arms[row] = self.manifest.arm_of(ids[row].tobytes())
        return arms
