"""What the audit gives to a device in order to follow it: every code as a value, and coins that branch or tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sottovoce.core.channel import Channel
from sottovoce.core.channel.base import Words
from sottovoce.core.coins import Coins
from sottovoce.core.domain import Domain
from sottovoce.core.exact import TreeCoins
from sottovoce.core.specs import Spec


@dataclass(frozen=True, slots=True)
class Codes(Domain):
    """The codes of a channel as values, so that a device can be given each of them."""

    channel: Channel

    @property
    def size(self) -> int:
        return self.channel.inputs

    def encode(self, value: object) -> Any:
        return value

    def spec(self) -> Spec:
        return {"kind": "codes", "size": self.size}

    @classmethod
    def from_spec(cls, spec: Spec) -> Codes:
        raise TypeError("The codes of a channel are no domain of a specification.")


class MessageCoins(TreeCoins):
    """Coins of an enumerated message: the two words of its id are given, every decision branches."""

    __slots__ = ("_id",)

    def __init__(self, tree: TreeCoins, words: Words) -> None:
        super().__init__(tree.path)
        self.weights = tree.weights  # what the walk reads
        self._id = list(words)

    def word(self) -> int:
        return self._id.pop(0) if self._id else super().word()


class NoCoins(Coins):
    """Coins that note when they are touched."""

    __slots__ = ("touched",)

    def __init__(self) -> None:
        super().__init__()
        self.touched = False

    def _load(self, words: int) -> bytes:
        self.touched = True
        return bytes(8 * words)

    def extra(self) -> int:
        self.touched = True
        return 0
