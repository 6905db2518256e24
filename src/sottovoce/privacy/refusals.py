"""Whether a mechanism refuses values outside its domain, and codes all others."""

from __future__ import annotations

from collections.abc import Iterator

from sottovoce.core.channel.facets import stages_of
from sottovoce.core.domain import Domain
from sottovoce.core.errors import DomainError, SottovoceError
from sottovoce.core.mechanism import Mechanism
from sottovoce.privacy.follow import NoCoins
from sottovoce.privacy.problems import LATE_REFUSAL, NO_CODE, NOT_REFUSED, REPORTED


def domain_problems(mechanism: Mechanism) -> Iterator[str]:
    """Values outside the domain must be refused before a coin is drawn; all others must have a code."""
    declared = mechanism.domain.foreign()
    for value in declared:
        coins = NoCoins()
        try:
            _ = mechanism.remember(value, coins) if stages_of(mechanism.channel) else mechanism.randomize(value, coins)
        except DomainError:
            if coins.touched:
                yield LATE_REFUSAL
        except (SottovoceError, TypeError, ValueError, ArithmeticError, LookupError):
            yield NOT_REFUSED
        else:
            yield REPORTED
    # Values that almost every domain refuses, whatever this one declares: they may lack a code.
    for value in Domain.foreign(mechanism.domain):
        try:
            code = mechanism.domain.encode(value)
        except DomainError:
            continue
        except (SottovoceError, TypeError, ValueError, ArithmeticError, LookupError):
            yield NOT_REFUSED
        else:
            if mechanism.domain.size is not None and code not in range(mechanism.domain.size):
                yield NO_CODE
