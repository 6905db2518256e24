"""How many reports support each cell of each part of words: one Walsh-Hadamard transform for each part."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import FragmentMap
from sottovoce.estimate.evidence import Ints
from sottovoce.estimate.frequency.walsh import walsh
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.compose.fragments import products_of


def traces(g: int) -> NDArray[np.int64]:
    """For each element t of the field the bits whose inner product with those of x is the trace of t x.

    The trace is the sum of t, t**2, t**4 and so on; characters of the field are its signs.
    """
    products, width = products_of(g).astype(np.int64), g.bit_length() - 1

    def trace(element: int) -> int:
        total, power = 0, element
        for _ in range(width):
            total, power = total ^ power, int(products[power, power])
        return total

    bit = np.array([[trace(int(products[t, 1 << place])) for place in range(width)] for t in range(g)], np.int64)
    return bit @ (1 << np.arange(width))


@compiled
def _place(spectra, products, masks, g, digits, digit_bits, out):
    """Put coefficient u of the reports about each public vector s at the frequency of u s; that of 0 counts all."""
    vectors = spectra.shape[0]
    number, top = np.int64(0), np.int64(1)
    for i in range(vectors):
        if number >= top:
            number -= top
            top *= g
        vector = top + number
        number += 1
        out[0] += spectra[i, 0]
        for u in range(1, g):
            left, frequency = vector, np.int64(0)
            for digit in range(digits):
                frequency |= masks[products[u, left % g]] << (digit * digit_bits)
                left //= g
            out[frequency] += spectra[i, masks[u]]


def cell_supports(chosen: FragmentMap, cells: Ints) -> Ints:
    """[part, cell]: the reports about a part of words whose value is that of the cell under their vector."""
    g, products, masks = chosen.g, products_of(chosen.g), traces(chosen.g)
    supports = np.zeros((chosen.parts, g**chosen.digits), np.int64)
    for part, counts in enumerate(cells.reshape(chosen.parts, chosen.vectors, g)):
        _place(walsh(counts), products, masks, g, chosen.digits, chosen.digit_bits, supports[part])
    return walsh(supports) // g
