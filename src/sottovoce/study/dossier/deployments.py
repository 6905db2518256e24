"""Published deployments of local differential privacy, for comparison: facts of the public deployments registry."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple


class Deployment(NamedTuple):
    """A deployment, its epsilon, and what that epsilon protects."""

    name: str
    epsilon: Decimal
    unit: str


DEPLOYMENTS = (
    Deployment("Microsoft, Windows telemetry (2017)", Decimal("1.672"), "a user, for six hours"),
    Deployment("Apple, health data types (2017)", Decimal(2), "one event"),
    Deployment("Apple, popular emojis (2017)", Decimal(4), "one event"),
)


def compared(epsilon: Decimal, unit: str) -> list[tuple[str, str, str]]:
    """The deployments and this study by epsilon, the most private first."""
    here = Deployment("this study", epsilon, f"a {unit}, one participation")
    rows = sorted([*DEPLOYMENTS, here], key=lambda one: one.epsilon)
    return [(one.name, str(one.epsilon), one.unit) for one in rows]
