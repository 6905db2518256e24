"""Norm-Sub: shift and cut until the sum is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.estimate.decoders.simplex import SimplexDecoder


@dataclass(frozen=True, slots=True)
class NormSubDecoder(SimplexDecoder):
    """The projection onto the simplex under the name that it has in Wang, Lopuhaä-Zwakenberg, Li, Skoric, Li, "Locally
    differentially private frequency estimation with consistency", NDSS 2020."""

    name: ClassVar[str] = "norm-sub"
