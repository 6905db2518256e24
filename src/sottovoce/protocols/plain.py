"""A protocol in plain data, and back: its parameters, as a manifest or a saved state holds them. No floats."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from decimal import Decimal
from typing import Any

from sottovoce.core.domain.base import Domain, domain_from_spec
from sottovoce.core.errors import SpecError
from sottovoce.core.late import load
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_decimal, decimal_text
from sottovoce.core.round import Arm, Protocol
from sottovoce.core.spec_cost import Budget
from sottovoce.core.specs import Spec, canonical, integer, parse, take, text
from sottovoce.estimate.prior import Prior
from sottovoce.protocols.nested.parallel import Branch

PROTOCOLS = {
    "AHEAD": "protocols.boxes.ahead:AHEAD",
    "AdaptiveMeanRounds": "protocols.mean.adaptive:AdaptiveMeanRounds",
    "AdaptiveMeansRounds": "protocols.mean.several:AdaptiveMeansRounds",
    "AskInTurn": "protocols.nested.again:AskInTurn",
    "AskEveryone": "protocols.ask:AskEveryone",
    "AskOneOf": "protocols.ask:AskOneOf",
    "ClampedMeanRound": "protocols.ranges.clamped:ClampedMeanRound",
    "CopulaRounds": "protocols.boxes.copula:CopulaRounds",
    "DensestInterval": "protocols.ranges.densest:DensestInterval",
    "GaussianMeanKnownSigma": "protocols.gaussian.known:GaussianMeanKnownSigma",
    "GaussianMeanUnknownSigma": "protocols.gaussian.unknown:GaussianMeanUnknownSigma",
    "HDG": "protocols.boxes.hdg:HDG",
    "HIO": "protocols.boxes.hio:HIO",
    "PEM": "protocols.words.pem:PEM",
    "ParityBlocks": "protocols.shares.parities:ParityBlocks",
    "PersonalBudgetGroups": "protocols.mean.personal_several:PersonalBudgetGroups",
    "PersonalBudgetMean": "protocols.mean.personal:PersonalBudgetMean",
    "PersonalBudgetShares": "protocols.shares.personal:PersonalBudgetShares",
    "RangeSearchDistribution": "protocols.ranges.distribution:RangeSearchDistribution",
    "RangeSearchGroupMean": "protocols.ranges.groups:RangeSearchGroupMean",
    "PersonalBudgetVector": "protocols.mean.personal_several:PersonalBudgetVector",
    "RangeSearchMean": "protocols.ranges.mean:RangeSearchMean",
    "RangeSearchRounds": "protocols.ranges.search:RangeSearchRounds",
    "SampledAttributes": "protocols.shares.attributes:SampledAttributes",
    "TableViews": "protocols.shares.tables:TableViews",
    "Parallel": "protocols.nested.parallel:Parallel",
    "QuantileBayesSearch": "protocols.quantile.bayes_search:QuantileBayesSearch",
    "QuantileBinarySearch": "protocols.quantile.binary_search:QuantileBinarySearch",
    "QuantileGradient": "protocols.quantile.gradient:QuantileGradient",
    "QuantileRounds": "protocols.quantile.rounds:QuantileRounds",
    "TrimmedMeanRounds": "protocols.ranges.trimmed:TrimmedMeanRounds",
    "VerifiedWords": "protocols.words.verified:VerifiedWords",
    "VarianceRounds": "protocols.variance.rounds:VarianceRounds",
}


def protocol_spec(protocol: Protocol) -> Spec:
    """The protocol in plain data: its name, and each parameter."""
    name = type(protocol).__name__
    if name not in PROTOCOLS or load(PROTOCOLS[name]) is not type(protocol):
        raise SpecError(f"{name} cannot be stored as plain data. Protocols that can: {', '.join(PROTOCOLS)}.")
    parameters = [field.name for field in fields(protocol) if field.init]  # type: ignore[arg-type]
    return {"protocol": name, "parameters": {name: _plain(getattr(protocol, name)) for name in parameters}}


def protocol_from_spec(spec: object, *, budget: Budget | None = None) -> Protocol:
    """The protocol that plain data describes; its constructor checks every parameter.

    The designs between its rounds count toward the budget of work.
    """
    plain = parse(spec) if isinstance(spec, (str, bytes)) else spec
    budget = budget or Budget(len(canonical(plain)) if isinstance(plain, dict) else 0)  # for all mechanisms in it
    name, parameters = take(plain, "a protocol", ("protocol", "parameters"))
    if not isinstance(name, str) or name not in PROTOCOLS:
        raise SpecError(f"A protocol must be one of {', '.join(PROTOCOLS)}.")
    kind = load(PROTOCOLS[name])
    known = tuple(field.name for field in fields(kind) if field.init)
    values = take(parameters, name, known)
    protocol: Protocol = kind(**{key: _value(value, budget) for key, value in zip(known, values, strict=True)})
    if canonical(protocol_spec(protocol)) != canonical(plain):  # type: ignore[arg-type]
        raise SpecError(f"The plain data is not what this version writes for the protocol {name}.")
    budget.spend_on_rounds(protocol.effort())
    return protocol


def _plain(value: Any) -> Any:
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, Decimal):
        return {"decimal": decimal_text(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Domain):
        return {"domain": value.spec()}
    if isinstance(value, Mechanism):
        return {"mechanism": value.spec()}
    if isinstance(value, Arm):
        return {"arm": {"name": value.name, "mechanism": value.mechanism.spec(), "weight": value.weight}}
    if isinstance(value, Branch):
        return {"branch": {"name": value.name, "protocol": protocol_spec(value.protocol), "weight": value.weight}}
    if isinstance(value, Prior):
        return {"prior": {"values": _texts(value.values), "weights": _texts(value.weights)}}
    raise SpecError(f"A parameter of type {type(value).__name__} cannot be stored as plain data.")


def _texts(numbers: tuple[float, ...]) -> list[str]:
    """Floats as their shortest decimals, which are read back as the same floats."""
    return [decimal_text(Decimal(repr(number))) for number in numbers]


def _value(plain: Any, budget: Budget) -> Any:
    if isinstance(plain, list):
        return tuple(_value(item, budget) for item in plain)
    if not isinstance(plain, dict):
        return plain
    if len(plain) != 1 or (kind := next(iter(plain))) not in _READ:
        raise SpecError(f"A parameter must be plain, or one of {', '.join(_READ)}.")
    return _READ[kind](plain[kind], budget)


def _arm(plain: Any, budget: Budget) -> Arm:
    name, mechanism, weight = take(plain, "an arm", ("name", "mechanism", "weight"))
    built = Mechanism.from_spec(mechanism, budget=budget)
    return Arm(text(name, "an arm", "name"), built, integer(weight, "an arm", "weight"))


def _branch(plain: Any, budget: Budget) -> Branch:
    name, protocol, weight = take(plain, "a branch", ("name", "protocol", "weight"))
    inner = protocol_from_spec(protocol, budget=budget)
    return Branch(text(name, "a branch", "name"), inner, integer(weight, "a branch", "weight"))


def _prior(plain: Any, budget: Budget) -> Prior:
    values, weights = take(plain, "a prior", ("values", "weights"))
    if not all(isinstance(part, list) for part in (values, weights)):
        raise SpecError("The values and weights of a prior are lists of decimal texts.")
    return Prior(*([_number(text(item, "a prior", "number")) for item in part] for part in (values, weights)))


def _number(written: str) -> float:
    with suppress(ValueError):  # its message repeats the text
        return float(written)
    raise SpecError("The values and weights of a prior are lists of decimal texts.")


_READ: dict[str, Callable[[Any, Budget], Any]] = {
    "decimal": lambda plain, budget: check_decimal("decimal", "a protocol", text(plain, "a parameter", "decimal")),
    "domain": lambda plain, budget: domain_from_spec(plain),
    "mechanism": lambda plain, budget: Mechanism.from_spec(plain, budget=budget),
    "arm": _arm,
    "branch": _branch,
    "prior": _prior,
}
