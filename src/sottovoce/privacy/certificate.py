"""The outcome of an audit."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from sottovoce.core.arithmetic.rational import float_up, loss, within
from sottovoce.core.guarantee import PURE, Guarantee
from sottovoce.core.language.display import card
from sottovoce.core.language.plural import plural
from sottovoce.privacy.problems import remedy
from sottovoce.privacy.worst import WorstCase

NOT_EXACT = "idealised: closed-form density ratio, not exact"
CHANGES = "Where answers change, reports also tell when they did: no loss over sequences of answers is certified."


@dataclass(frozen=True, slots=True)
class Certificate:
    """Hold the outcome of an audit: the exact privacy loss, and every problem.

    Attributes:
        name: The name of the mechanism.
        fingerprint: The fingerprint of the mechanism.
        claimed: The claimed epsilon.
        ratio: The exact worst-case likelihood ratio; None if it is infinite or unknown.
        how: How the ratio was computed, such as "enumerated".
        problems: Everything that is wrong; empty if the claim holds.
        delta: For an approximate guarantee, the exact delta at the claimed epsilon.
        claimed_forever: The claimed loss of all reports of one unchanged value, where a device keeps a memo.
        ratio_forever: The exact likelihood ratio of all reports of one unchanged value.
        worst: The message that distinguishes two codes best, where messages were enumerated.
        waste: What is wrong with the use of the budget: unused epsilon costs accuracy, not privacy.
        guarantee: The kind of guarantee.

    Examples:
        >>> certificate = sv.audit(sv.mechanism("grr", sv.Integers(1, 5), epsilon=1))
        >>> certificate.ok, round(certificate.epsilon, 6)
        (True, 1.0)

    See also:
        `audit` computes one.
    """

    name: str
    fingerprint: str
    claimed: Decimal
    ratio: Fraction | None
    how: str
    problems: tuple[str, ...] = ()
    delta: Fraction | None = None
    claimed_forever: Decimal | None = None
    ratio_forever: Fraction | None = None
    worst: WorstCase | None = None
    waste: str | None = None
    guarantee: Guarantee = PURE

    @property
    def ok(self) -> bool:
        """Return True if the audit found no problem."""
        return not self.problems

    @property
    def exact(self) -> bool:
        """Return True if the ratio is an exact rational number rather than a bound or an estimate."""
        return (self.ratio is not None and self.how != NOT_EXACT) or self.delta is not None

    @property
    def epsilon(self) -> float:
        """Compute the privacy loss of one report: the logarithm of `ratio`, rounded up."""
        if self.delta is not None:
            return float_up(self.claimed)
        return float("inf") if self.ratio is None else float_up(loss(self.ratio))

    @property
    def epsilon_forever(self) -> float:
        """Compute the privacy loss of any number of reports of one *unchanged* value; infinite without a memo.

        Answers that change are not covered: reports also show when they changed.
        """
        return float("inf") if self.ratio_forever is None else float_up(loss(self.ratio_forever))

    def __str__(self) -> str:
        verdict = "holds" if self.ok else "FAILS: " + " ".join([*self.problems, *self._worst_case()])
        return f"{self.name}: {self._loss_text()}, {self.how}; {verdict}"

    def _loss_text(self) -> str:
        """The loss beside what is claimed."""
        text = self.guarantee.loss_text(self.epsilon, self.claimed, self.delta)
        if self.claimed_forever is not None:
            text += f", all reports of an unchanged answer {self.epsilon_forever:.9g} of {self.claimed_forever} claimed"
        return text

    def explain(self) -> str:
        """Explain the verdict: each problem with its remedy, the worst message, and unused budget.

        Returns:
            One line for each.
        """
        verdict = "holds" if self.ok else "FAILS"
        lines = [f"{self.name}: {self._loss_text()}, {self.how}; {verdict}."]
        lines += [" ".join(filter(None, (problem, remedy(problem)))) for problem in self.problems]
        lines += [str(self.worst)] if self.worst is not None else []
        lines += [CHANGES] if self.claimed_forever is not None else []
        return "\n".join([*lines, *([self.waste] if self.waste else [])])

    def _worst_case(self) -> list[str]:
        """Two answers that a message distinguishes better than claimed, if any were found."""
        if self.worst is None or (self.worst.ratio is not None and within(self.worst.ratio, self.claimed)):
            return []
        return [str(self.worst)]

    def __repr__(self) -> str:
        verdict = "holds" if self.ok else f"FAILS with {plural(len(self.problems), 'problem')}"
        losses = f"epsilon={self.epsilon:.9g}, claimed={self.claimed}"
        if self.delta is not None:
            losses = f"epsilon={self.claimed}, delta={float(self.delta):.9g}"
        return f"Certificate({self.name} {self.fingerprint[:12]}, {losses}, {verdict})"

    def _repr_html_(self) -> str:
        facts = [
            ("verdict", "holds" if self.ok else "FAILS"),
            ("epsilon", f"{self.epsilon:.9g} of {self.claimed} claimed"),
            ("computed", self.how),
            ("exact", "yes" if self.exact else "no"),
            ("fingerprint", self.fingerprint[:12]),
        ]
        if self.claimed_forever is not None:
            facts.insert(2, ("unchanged answer", f"{self.epsilon_forever:.9g} of {self.claimed_forever} claimed"))
        if self.delta is not None:
            facts.insert(2, ("delta", f"{float(self.delta):.9g}"))
        return card(f"Certificate of {self.name}", facts, notes=self.explain().split("\n")[1:])
