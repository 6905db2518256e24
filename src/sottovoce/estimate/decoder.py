"""Decoders: from evidence to values. One file of `estimate/decoders` each, found by its name.

The decoder "base-cut" is the class `BaseCutDecoder` of `estimate/decoders/base_cut.py`. No other list is needed.
"""

from __future__ import annotations

import inspect
import pkgutil
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.core.late import load
from sottovoce.estimate import decoders
from sottovoce.estimate.candidates import Selection
from sottovoce.estimate.evidence import Bounds, Evidence, Floats, Offer, deviate
from sottovoce.estimate.request import IntervalRequest, Method, Target

OWN_LEVELS = (0.9, 0.95, 0.99)  # at which its coverage is measured (`coverage-decoded`)


@dataclass(frozen=True, slots=True)
class Fit:
    """The end of an iterative decoder: the largest log-likelihood per report is at most `gap` above the final one."""

    iterations: int
    gap: float

    @property
    def selection(self) -> Selection | None:
        """How the decoder selected values, if it did."""
        return None

    def sentences(self) -> tuple[str, ...]:
        """Further results of the decoder in words."""
        return ()


class Decoded(NamedTuple):
    """The values of a decoder, and how it ended if it is iterative."""

    values: Floats
    fit: Fit | None = None


class Own(NamedTuple):
    """Values that have a normal law, and their covariance: what the own interval of a decoder is made of."""

    values: Floats
    covariance: Floats


class Decoder(ABC):
    """Subclasses are frozen dataclasses; their fields are the parameters, including a prior if there is one.

    A decoder that moves values keeps the standard errors of the unbiased ones. Its intervals are those of the unbiased
    values, moved into the possible range, unless its `own` law is asked for by the method "own".

    Attributes:
        name: the name by which it is requested.
        needs: the offers of evidence that it needs.
        moves: whether values may differ from the unbiased ones.
        projects: whether it needs the unbiased values only, so that `estimate.project` may ask for it.
        kind: the kind of its values, in words.
        owns: whether it has a normal law of its own, before values are moved into the possible range.
    """

    name: ClassVar[str]
    needs: ClassVar[frozenset[Offer]] = frozenset()
    moves: ClassVar[bool] = True
    projects: ClassVar[bool] = True
    kind: ClassVar[str] = "projected"
    owns: ClassVar[bool] = False
    __slots__ = ()

    @abstractmethod
    def solve(self, evidence: Evidence) -> Decoded:
        """The values from evidence that offers what the decoder needs."""

    def decode(self, evidence: Evidence, *others: Evidence) -> Decoded:
        """The values from one evidence, or from several of different people."""
        pooled = evidence.pooled(others) if others else evidence
        check_needs(self, pooled)
        return pooled.decoded(self)

    def quality(self, evidence: Evidence) -> str:
        """The kind of the values, in words."""
        return f"{self.kind} ({self.name})"

    def default_method(self, evidence: Evidence) -> Method:
        """The default method of intervals."""
        return (evidence.default_inside or evidence.default) if self.moves else evidence.default

    def methods(self, evidence: Evidence) -> tuple[Method, ...]:
        """The methods of intervals."""
        # A decoder that ends early, as for distributions, has no law that its maximum would have.
        return (*evidence.methods, Method.OWN) if self.owns and evidence.early_stop is None else evidence.methods

    def own(self, evidence: Evidence, target: Target) -> Own:
        """The values of a decoder that `owns` a law, as they are before they are moved, and their covariance."""
        raise NotImplementedError(f"The decoder {self.name} has no law of its own.")

    def interval(self, evidence: Evidence, values: Floats, request: IntervalRequest) -> Bounds:
        """Intervals that these values may carry."""
        if not self.moves:
            return evidence.interval(request)
        if request.method == Method.OWN:
            centre, covariance = self.own(evidence, request.target)
            half = deviate(request.level) * np.sqrt(np.maximum(np.diag(covariance), 0))
            low, high = (np.clip(end, *evidence.limits) for end in (centre - half, centre + half))
        else:
            low, high = evidence.inside(request)
        # A decoder uses all values together, so a value may lie outside its own interval.
        shown = np.clip(values, *evidence.limits)
        return Bounds(np.fmin(low, shown), np.fmax(high, shown))

    def spec(self) -> dict[str, Any]:
        """Name and parameters in plain data."""
        return {"name": self.name, **{field.name: getattr(self, field.name) for field in fields(self)}}  # type: ignore[arg-type]


@cache
def names() -> tuple[str, ...]:
    """All decoders."""
    return tuple(sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(decoders.__path__)))


def decoder(name: str, **parameters: Any) -> Decoder:
    """Build a decoder by name, with parameters.

    A decoder turns counts into values, such as shares that are non-negative and sum to one. The default of
    `Mechanism.estimate` needs none: it is unbiased.

    Args:
        name: A name such as "simplex", "em" or "base-cut".
        **parameters: Parameters of this decoder, such as `tolerance=1e-3`.

    Returns:
        A decoder for `Mechanism.estimate`, `Estimate.decoded` and `combine`.

    Raises:
        ParameterError: The name or a parameter is unknown.

    Examples:
        >>> sv.decoder("em", tolerance=1e-3)
        EmDecoder(tolerance=0.001, max_iterations=20000, stop=None)

    See also:
        `Estimate.decoded` applies one to an estimate.
    """
    if name not in names():
        raise ParameterError(f"Unknown decoder. Known: {', '.join(names())}.")
    kind = "".join(map(str.capitalize, name.split("-")))
    build: type[Decoder] = load(f"estimate.decoders.{name.replace('-', '_')}:{kind}Decoder")
    known = list(inspect.signature(build).parameters)
    if not {*parameters} <= {*known}:
        raise ParameterError(f"Unknown parameter of the decoder {name}. Known: {', '.join(known) or 'none'}.")
    return build(**parameters)


def as_decoder(choice: Any) -> Decoder:
    """A decoder from its name, or as it is."""
    if isinstance(choice, Decoder):
        return choice
    if not isinstance(choice, str):
        raise ParameterError(f"A decoder must be an object or one of the names {', '.join(names())}.")
    return decoder(choice)


def check_needs(chosen: Decoder, evidence: Evidence) -> None:
    """Refuse a decoder whose needs the evidence does not offer."""
    missing = chosen.needs - evidence.offers
    if missing:
        known = [name for name in names() if decoder(name).needs <= evidence.offers]
        raise ParameterError(
            f"The decoder {chosen.name} needs {' and '.join(sorted(need.value for need in missing))}; this estimate of"
            f" a {evidence.noun} does not have that. Known here: {', '.join(known)}."
        )
