"""Every attribute of a person in one report, each with a part of the budget: what RAPPOR-EM and LoPub decode."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import combinations
from math import comb, prod
from typing import Any

from sottovoce.core.arithmetic.rational import UNIT, floor_unit, odds
from sottovoce.core.channel import Channel, Each, Subset, Table
from sottovoce.core.domain import Record
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer, reject
from sottovoce.core.question import Joint
from sottovoce.core.statistic.joint import MAX_JOINT, CountJoint

KINDS = ("bloom", "grr", "subset")
BITS, HASHES = 8, 2
MOST_OUTPUTS = 1 << 10
_SLACK = Decimal("1e-9")  # of a budget: the entries of a table are rounded


def joined(
    record: Record, *, epsilon: Any, kinds: Iterable[str] | None = None, bits: int = BITS, hashes: int = HASHES
) -> Mechanism:
    """A report about every attribute of a record, for the joint table of all of them.

    Law: each of d attributes goes through a channel of its own with epsilon / d, independently. "bloom" is RAPPOR with
        one Bloom filter of `bits` bits: each answer sets `hashes` of them, and every bit is randomized by itself;
        "grr" is randomized response; "subset" is subset selection.
    Privacy: two records may differ in every attribute, so that the ratios multiply to e**epsilon. Two filters differ in
        at most 2 * hashes bits.
    Estimator: the product of the linear estimators of the attributes; unbiased. Decoders: "joint-em", "lopub".
    Cost: the tally counts each combination of reports, of which there are at most 2**20.
    Reference: Fanti, Pihur, Erlingsson, "Building a RAPPOR with the unknown", PoPETs 2016 (two attributes); Ren et al.,
        "LoPub", IEEE TIFS 2018; with "subset" for a place and "bloom" for an attribute: Peng et al., ACM TURC 2019.
    """
    question = Joint(record, len(record.fields))
    budget = check_epsilon("joined reports", epsilon)
    chosen = ["bloom"] * len(record.fields) if kinds is None else list(kinds)
    if len(chosen) != len(record.fields) or not {*chosen} <= {*KINDS}:
        raise reject("kinds", "joined reports", f"one of {', '.join(KINDS)} for each field", chosen)
    check_integer("bits", "joined reports", bits, 2, 10)
    check_integer("hashes", "joined reports", hashes, 1, bits - 1)
    share = Context(prec=20, rounding=ROUND_FLOOR).divide(budget, Decimal(len(chosen)))
    sizes = question.sizes.values()
    parts = zip(chosen, sizes, strict=True)
    channels = [_part(kind, size, share, place, bits, hashes) for place, (kind, size) in enumerate(parts)]
    outputs = prod(channel.outputs for channel in channels)  # type: ignore[attr-defined]
    if outputs > MAX_JOINT:
        raise ParameterError(
            f"Joined reports have at most {MAX_JOINT:,} combinations; these have {outputs:,}. Use fewer bits or fields."
        )
    return Mechanism("joined-reports", question, Each(tuple(channels)), budget, CountJoint())


def jess(record: Record, *, epsilon: Any) -> Mechanism:
    """JESS: one subset of the answers of each of two attributes, for their joint table.

    Law: subset selection for each attribute with epsilon / 2, independently. This follows the description in the SoK on
        descriptive statistics under local differential privacy: subset selection, extended to transmit two categorical
        attributes. The text of the paper was not available, so its law may differ.
    Privacy: as `joined`.
    Estimator: the product of the linear estimators of both attributes; unbiased. The decoder "joint-em" is closer.
    Cost: as `joined`.
    Reference: Xue, Zhu, Wang, "Joint distribution estimation and naive Bayes classification under local differential
        privacy", IEEE Transactions on Emerging Topics in Computing 2021.
    """
    if len(record.fields) != 2:
        raise reject("record", "jess", "a record of two fields", len(record.fields))
    return joined(record, epsilon=epsilon, kinds=["subset", "subset"])


def _part(kind: str, size: int, share: Decimal, place: int, bits: int, hashes: int) -> Channel:
    ratio = odds(share)
    if kind == "grr":
        return Subset(size, 1, floor_unit(ratio / (ratio + size - 1)))
    below = odds(share * (1 - _SLACK))
    if kind == "subset":
        return _listed([[_in_subset(code, chosen, below) for chosen in _subsets(size, ratio)] for code in range(size)])
    masks = filters(size, bits, hashes, place)
    apart = max((one ^ other).bit_count() for one, other in combinations(masks, 2))
    of_bit = _root(below, apart)
    laws = [[of_bit ** (bits - (mask ^ report).bit_count()) for report in range(1 << bits)] for mask in masks]
    return _listed(laws)


def _subsets(size: int, ratio: Fraction) -> list[tuple[int, ...]]:
    width = max(1, round(size / (1 + float(ratio))))
    if comb(size, width) > MOST_OUTPUTS:
        raise ParameterError(f"Subset selection in joined reports has at most {MOST_OUTPUTS} subsets: use bloom.")
    return list(combinations(range(size), width))


def _in_subset(code: int, chosen: Sequence[int], ratio: Fraction) -> Fraction:
    return ratio if code in chosen else Fraction(1)


def _root(value: Fraction, degree: int) -> Fraction:
    """A rational just below a root, with 60 bits."""
    root = Fraction(int(float(value) ** (1 / degree) * (1 - 1e-12) * (1 << 60)), 1 << 60)
    if root**degree > value:
        raise ArithmeticError("A root was rounded the wrong way.")
    return root


def _listed(laws: Sequence[Sequence[Fraction]]) -> Table:
    """A table with probabilities in proportion to these numbers, rounded down; the likeliest entries get the rest."""
    rows = []
    for law in laws:
        total = sum(law, Fraction(0))
        row = [floor_unit(entry / total) for entry in law]
        row[max(range(len(row)), key=row.__getitem__)] += UNIT - sum(row)
        rows.append(row)
    return Table(rows)


def filters(size: int, bits: int, hashes: int, attribute: int) -> list[int]:
    """A Bloom filter with `hashes` bits for each code of an attribute, all different, from SHA-256."""
    if comb(bits, hashes) < size:
        raise reject("bits", "joined reports", f"so many that {size} answers have different filters", bits)
    masks: list[int] = []
    attempt = 0
    while len(masks) < size:
        digest = hashlib.sha256(b"sottovoce filters 1|%d|%d|%d" % (attribute, len(masks), attempt)).digest()
        places = list(dict.fromkeys(byte % bits for byte in digest))[:hashes]
        mask = sum(1 << place for place in places)
        attempt += 1
        if len(places) == hashes and mask not in masks:
            masks.append(mask)
    return masks
