"""The one result of a test: statistic, p-value, what it is valid given, and a sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from sottovoce.core.language.display import card
from sottovoce.core.simulation import in_words
from sottovoce.estimate.sources import EstimateSource

SMALLEST = 1e-4  # p-values below are shown as bounds
E_VALUE = "e-value"


@dataclass(frozen=True, slots=True)
class Effect:
    """The size of what was tested, with its interval where there is one."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    level: float = 0.95

    def sentence(self) -> str:
        """The effect in words, such as "difference 0.021 (95 % interval from 0.005 to 0.037)"."""
        if self.low is None or self.high is None:
            return f"{self.name} {self.value:.4g}"
        return f"{self.name} {self.value:.4g} ({self.level:.0%} interval from {self.low:.4g} to {self.high:.4g})"


@dataclass(frozen=True, slots=True)
class Test:
    """The result of a test of a hypothesis.

    Attributes:
        hypothesis: a sentence that is true of the population if there is nothing to find.
        statistic: its name is `law`, such as "chi-square", "z" or "e-value".
        p_value: the probability of a statistic at least this large if the hypothesis is true. For an e-value it bounds
            the probability that the e-value is ever so large, however often the test is looked at.
        degrees: degrees of freedom, where the law has them.
        effect: the size of the difference or association.
        valid_given: what the p-value assumes.
        sources: the mechanisms behind it, with the number of reports of each.
        simulated: the reports are simulated.
    """

    __test__: ClassVar[bool] = False  # pytest collects classes of this name

    hypothesis: str
    statistic: float
    p_value: float
    law: str = "z"
    degrees: int | None = None
    effect: Effect | None = None
    valid_given: str = ""
    sources: tuple[EstimateSource, ...] = field(default=(), kw_only=True)
    simulated: bool = field(default=False, kw_only=True)

    def rejects(self, level: float = 0.95) -> bool:
        """Whether the hypothesis is rejected at a confidence level."""
        return self.p_value < 1 - level

    @property
    def e_value(self) -> float | None:
        """The e-value, for a test that may be watched: its mean is at most 1 if the hypothesis is true."""
        return self.statistic if self.law == E_VALUE else None

    @property
    def n(self) -> int:
        """How many reports the test is about."""
        return sum(source.n for source in self.sources)

    def explain(self) -> str:
        """The test in words."""
        degrees = "" if self.degrees is None else f", degrees of freedom {self.degrees}"
        parts = [
            f"Hypothesis: {self.hypothesis} If it is true, data this far from it {self._occur}"
            f" {shown_p(self.p_value)} ({self.law} {self.statistic:.4g}{degrees}).",
            f"Effect: {self.effect.sentence()}." if self.effect is not None else "",
            f"Valid given: {self.valid_given}" if self.valid_given else "",
        ]
        return in_words(" ".join(filter(None, parts)), self.simulated)

    @property
    def _occur(self) -> str:
        return "occur with probability" if self.e_value is None else "ever occur with a probability of at most"

    def to_dict(self) -> dict[str, Any]:
        """The test in plain data."""
        effect = self.effect
        return {
            "hypothesis": self.hypothesis,
            "law": self.law,
            "statistic": self.statistic,
            "degrees": self.degrees,
            "p_value": self.p_value,
            "effect": None
            if effect is None
            else {"name": effect.name, "value": effect.value, "low": effect.low, "high": effect.high},
            "valid_given": self.valid_given,
            "n": self.n,
            "simulation": self.simulated,
        }

    def __repr__(self) -> str:
        return f"Test({self.law} {self.statistic:.4g}, p_value={self.p_value:.2g}{', simulation' * self.simulated})"

    def _repr_html_(self) -> str:
        return card("Test", notes=[self.explain()])


def shown_p(p_value: float) -> str:
    """A p-value to two digits; a very small one as a bound."""
    return f"below {SMALLEST:g}" if p_value < SMALLEST else f"{p_value:.2g}"
