"""The conjunctive frequency estimator: every field of a person in one report, and boxes from products of scores."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_FLOOR, Context, Decimal
from math import prod
from typing import Any

from sottovoce.core.channel import Each
from sottovoce.core.channel.facets import outputs_of
from sottovoce.core.domain import Domain, Record
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, reject
from sottovoce.core.question import Frequency
from sottovoce.core.registry import mechanism, names
from sottovoce.core.statistic.joint import MAX_JOINT, CountJoint
from sottovoce.mechanisms.distribution.grid_common import grid_of

OWNER = "a conjunction"
MOST_CELLS = 1 << 14
USUAL = "coded-wave"  # of a field


def conjunction(
    record: Record, *, epsilon: Any, buckets: int | None = None, oracles: Mapping[str, str] | None = None
) -> Mechanism:
    """A report about every field of a record, for the shares of boxes over any of the fields.

    Law: each of d fields goes through a channel of its own with epsilon / d, independently: a wave for ranges, or the
        mechanism that `oracles` names for the field, such as "haar" or "grr".
    Privacy: two records may differ in every field, so that the ratios multiply to e**epsilon.
    Estimator: the product over the fields of a box of unbiased scores of their reports; unbiased. Fields that a box
        does not limit add no noise. Each further field multiplies the variance, so the estimator suits boxes that
        limit few of the fields.
    Cost: the tally counts each combination of reports, of which there are at most 2**20. Published with local hashing
        of the nodes of trees, whose reports are kept one by one; the text of the paper was not available, so this
        follows the description in the SoK on descriptive statistics under local differential privacy.
    Reference: Wang, Ding, Zhou, Hong, Huang, Li, Jha, "Answering multi-dimensional analytical queries under local
        differential privacy", SIGMOD 2019.
    """
    budget, named = check_epsilon(OWNER, epsilon), dict(oracles or {})
    question, view = grid_of(OWNER, record, buckets, MOST_CELLS)
    if not {*named} <= {*view.names}:
        raise reject("oracles", OWNER, f"a mapping from names among {', '.join(view.names)} to mechanisms", oracles)
    share = Context(prec=20, rounding=ROUND_FLOOR).divide(budget, Decimal(len(view.parts)))
    fields: Mapping[str, Domain] = dict(question.domain.fields)
    channels = tuple(_of_field(named.get(name, USUAL), fields[name], part, share) for name, part in view.parts)
    combinations = prod(outputs_of(channel) or 0 for channel in channels)
    if not 0 < combinations <= MAX_JOINT:
        raise ParameterError(
            f"The reports of {OWNER} have at most {MAX_JOINT:,} combinations, and those of every field are counted by"
            " outputs. Use fewer fields or buckets, or other oracles."
        )
    return Mechanism("conjunction", question, Each(channels), budget, CountJoint(), view.of)


def _of_field(name: str, field: Domain, part: Domain, epsilon: Decimal) -> Any:
    """The channel of the buckets of one field."""
    if name in names(Frequency):
        return mechanism(name, part, epsilon=epsilon).channel
    options = {"workload": "ranges"} if name == USUAL else {}
    return mechanism(name, field, epsilon=epsilon, buckets=part.size, **options).channel
