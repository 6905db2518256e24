"""Views of sets of items: which of some itemsets a person holds, and how many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from math import comb
from typing import Any, ClassVar, Self

from sottovoce.core.declared import declared, integers, part
from sottovoce.core.domain.base import Domain, View, domain_from_spec
from sottovoce.core.domain.plain import Categories
from sottovoce.core.domain.ranking import Ranking
from sottovoce.core.domain.sets import MAX_ITEMS, Sets
from sottovoce.core.params import reject

AND = " and "


def _check_sets(name: str, owner: str, of: object) -> Domain:
    if not isinstance(of, Domain) or of.listed is None:
        raise reject(name, owner, "sets of items, such as Sets([...], most=3)", of)
    return of


@declared
class Itemsets(View):
    """Describe which of some itemsets a person holds: all items of an itemset are held. Each has a share.

    Args:
        of: The items.
        itemsets: The itemsets, each a list of items; an itemset of one item is that item.

    Examples:
        >>> ways = sv.Sets(["bus", "car", "bike"], most=2)
        >>> pairs = Itemsets(ways, [["bus", "car"], ["bus", "bike"], ["bike"]])
        >>> pairs.encode(["bike", "bus"]), list(pairs.labels())
        (6, ['bus and car', 'bus and bike', 'bike'])
    """

    kind: ClassVar[str] = "itemsets"
    of: Sets = part("domain", domain_from_spec, _check_sets)
    members: tuple[int, ...] = integers(0, MAX_ITEMS - 1)  # of all itemsets, one after another
    sizes: tuple[int, ...] = integers(1, MAX_ITEMS)
    most: int = field(init=False, repr=False, compare=False)
    _each: Categories = field(init=False, repr=False, compare=False)
    _masks: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __init__(self, of: Sets, itemsets: Iterable[Iterable[Any]]) -> None:
        listed = _check_sets("of", self.kind, of).listed
        coded = [[listed.encode(item) for item in one] for one in itemsets]  # type: ignore[union-attr]
        self.hold(of, tuple(place for one in coded for place in one), tuple(map(len, coded)))

    def check_fields(self) -> None:
        labels = [str(label) for label in self.of.labels()]
        if not 2 <= len(self.sizes) <= MAX_ITEMS or sum(self.sizes) != len(self.members):
            raise reject("sizes", self.kind, "the sizes of at least two itemsets", len(self.sizes))
        if max(self.members) >= len(labels):
            raise reject("members", self.kind, "places of items in the list", max(self.members))
        left = iter(self.members)
        places = [[next(left) for _ in range(size)] for size in self.sizes]
        masks = tuple(sum(1 << place for place in {*one}) for one in places)
        if len({*masks}) < len(masks) or any(len({*one}) < len(one) for one in places):
            raise reject("itemsets", self.kind, "different itemsets without repeated items", len(masks))
        held = [min(self.sizes.count(size), comb(self.of.most, size)) for size in {*self.sizes}]
        object.__setattr__(self, "most", max(1, sum(held)))
        object.__setattr__(self, "_masks", masks)
        object.__setattr__(self, "_each", Categories([AND.join(labels[place] for place in one) for one in places]))

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Itemsets are stored as the places of their items."""
        made = object.__new__(cls)
        made.hold(*(values[name] for name in cls.forms))
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return domain_from_spec, (self.spec(),)

    @property
    def listed(self) -> Categories:
        """The itemsets as a domain of their own."""
        return self._each

    @property
    def masks(self) -> tuple[int, ...]:
        """The code of each itemset in the domain of the items."""
        return self._masks

    def encode(self, value: object) -> int:
        held = int(self.of.encode(value))
        return sum((held & mask == mask) << place for place, mask in enumerate(self._masks))

    def labels(self) -> Sequence[object]:
        """The itemsets, each of which has a share."""
        return self._each.values


SetDomain = Sets | Ranking | Itemsets  # answers are sets: of items, of the pairs of a ranking, or of itemsets


@declared
class HeldCount(View):
    """Describe how many items, or itemsets, a person holds."""

    kind: ClassVar[str] = "held-count"
    of: SetDomain = part("domain", domain_from_spec, _check_sets)

    def __init__(self, of: Domain) -> None:
        self.hold(of)

    @property
    def size(self) -> int:
        return int(self.of.most) + 1

    def encode(self, value: object) -> int:
        return int(self.of.encode(value)).bit_count()

    def labels(self) -> Sequence[object]:
        """From none to the most that may be held."""
        return range(self.size)
