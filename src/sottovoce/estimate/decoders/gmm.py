"""The mixture of Gaussians of largest likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import chdtri

from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_integer, reject
from sottovoce.estimate.decoder import Decoded, Decoder, Fit
from sottovoce.estimate.evidence import Evidence, Floats, Offer
from sottovoce.estimate.frequency.maximise import certificate
from sottovoce.estimate.frequency.mixture import Mixture, Slope

MOST = 16  # components
_PARAMETERS, _LEVEL = 3, 0.95  # of a further component, and of the test that it is there
_STEPS = 4  # of Newton's method, for each component and update
_HALVINGS = 20


@dataclass(frozen=True, slots=True)
class MixtureFit(Fit):
    """Weight, centre and standard deviation of each component, in the units of the domain; categories are 0, 1, ...

    A component is cut off at the ends of the domain, so its mean may differ from its centre.
    """

    components: tuple[tuple[float, float, float], ...]

    def sentences(self) -> tuple[str, ...]:
        parts = ", ".join(
            f"{weight:.0%} N({centre:.4g}, {spread:.3g}**2)" for weight, centre, spread in self.components
        )
        return (f"The fitted mixture is {parts}.",)


@dataclass(frozen=True, slots=True)
class GmmDecoder(Decoder):
    """A mixture of so many Gaussians, cut off at the ends of the domain, fitted by EM through the channel.

    The iteration ends when the total log-likelihood changes by less than `stop`. The likelihood of a mixture has
    several maxima: this is the one that is reached from components of equal width side by side. Where the truth is no
    such mixture, values are wrong however many reports there are; intervals are those of the unbiased shares. A mixture
    that the reports do not tell from one with a component less is refused: its values would be those of the start.

    Reference: Diao et al., "PrivGMM", DASFAA 2020; Dempster, Laird, Rubin, "Maximum likelihood from incomplete data via
    the EM algorithm", Journal of the Royal Statistical Society B 1977.
    """

    name: ClassVar[str] = "gmm"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.LIKELIHOOD, Offer.ORDER})
    projects: ClassVar[bool] = False
    components: int = 2
    stop: float = 1e-3
    max_iterations: int = 2000

    def __post_init__(self) -> None:
        check_integer("components", self.name, self.components, 1, MOST)
        if isinstance(self.stop, bool) or not isinstance(self.stop, (int, float)) or not 0 < self.stop < 1e6:
            raise reject("stop", self.name, "a number above 0", self.stop)
        check_integer("max_iterations", self.name, self.max_iterations, 1, 1 << 40)

    def solve(self, evidence: Evidence) -> Decoded:
        source = evidence.distribution
        if source is None or source.circular:
            raise ParameterError("A mixture of Gaussians is fitted to a distribution of numbers or ordered categories.")
        likelihood, buckets = evidence.likelihood(), source.buckets
        low, length = float(buckets.edges[0]), float(np.ptp(buckets.edges))
        places = (buckets.centres - low) / length
        model, shares, slope, iterations = self._fitted(likelihood, places, self.components)
        if self.components > 1:
            fewer = self._fitted(likelihood, places, self.components - 1)[2]
            if 2 * likelihood.n * (slope.value - fewer.value) < chdtri(_PARAMETERS, 1 - _LEVEL):
                raise ParameterError(
                    f"The reports do not tell a mixture of {self.components} Gaussians from one of"
                    f" {self.components - 1}: a likelihood ratio test at the level 95 % sees no difference. Fit fewer"
                    " components, ask more people, or ask through a mechanism with less noise such as square-wave."
                )
        parts = tuple((weight, low + length * centre, length * spread) for weight, centre, spread in model.components())
        return Decoded(shares, MixtureFit(iterations, certificate(slope), parts))

    def _fitted(self, likelihood: Mixture, places: Floats, components: int) -> tuple[_Model, Floats, Slope, int]:
        """The mixture that EM reaches, its shares, the slope of the likelihood there, and the number of updates."""
        model = _Model(places, components)
        shares = model.shares
        slope = likelihood.slope(shares)
        iterations = 0
        while iterations < self.max_iterations:
            shares = model.update(shares * slope.gradient)
            before, slope = slope.value, likelihood.slope(shares)
            iterations += 1
            if abs(slope.value - before) * likelihood.n < self.stop:
                break
        return model, shares, slope, iterations

    def quality(self, evidence: Evidence) -> str:
        return f"those of a mixture of {self.components} Gaussians ({self.name})"


class _Model:
    """Weights, and for each component the slope a and the bend b of its logarithm, a x + b x**2 without a constant."""

    def __init__(self, places: Floats, count: int) -> None:
        self.powers = np.array([places, places**2])
        spread = 1 / (2 * count)
        self.weights = np.full(count, 1 / count)
        centres = (np.arange(count) + 0.5) / count
        self.bends = np.array([centres / spread**2, np.full(count, -0.5 / spread**2)]).T
        # A component is at least half a bucket wide; at a bend of zero it is flat.
        self.sharpest = -0.5 * (2 * len(places)) ** 2

    @property
    def parts(self) -> Floats:
        """The shares of each component."""
        return np.array([self._part(bend) for bend in self.bends])

    def _part(self, bend: Floats) -> Floats:
        height = bend @ self.powers
        part = np.exp(height - height.max())
        return np.asarray(part / part.sum())

    @property
    def shares(self) -> Floats:
        return np.asarray(self.weights @ self.parts)

    def update(self, held: Floats) -> Floats:
        """One step of EM: `held` are the shares that reports and mixture together expect."""
        parts = self.parts
        joint = self.weights[:, None] * parts
        masses = joint / np.maximum(joint.sum(axis=0), 1e-300) * (held / held.sum())
        self.weights = masses.sum(axis=1)
        for k, (weight, mass) in enumerate(zip(self.weights, masses, strict=True)):
            if weight > 1e-12:
                self.bends[k] = self._fitted(self.bends[k], self.powers @ mass / weight)
        self.weights = self.weights / self.weights.sum()
        return self.shares

    def _fitted(self, bend: Floats, moments: Floats) -> Floats:
        """The component with these moments, by Newton's method: its likelihood is concave in slope and bend."""
        gain = self._gain(bend, moments)
        for _ in range(_STEPS):
            part = self._part(bend)
            mean = self.powers @ part
            spread = (self.powers * part) @ self.powers.T - np.outer(mean, mean)
            step = np.linalg.solve(spread + 1e-12 * np.eye(2), moments - mean)
            for _ in range(_HALVINGS):
                tried = bend + step
                tried[1] = np.clip(tried[1], self.sharpest, 0.0)
                better = self._gain(tried, moments)
                if better > gain:
                    break
                step = step / 2
            else:
                break
            bend, gain = tried, better
        return bend

    def _gain(self, bend: Floats, moments: Floats) -> float:
        height = bend @ self.powers
        top = float(height.max())
        return float(bend @ moments) - top - float(np.log(np.exp(height - top).sum()))

    def components(self) -> list[tuple[float, float, float]]:
        """Weight, centre and standard deviation; a flat component has those of the uniform law."""
        components = []
        for weight, (slope, bend) in zip(self.weights, self.bends, strict=True):
            flat = bend > -1e-9
            centre, spread = (0.5, 1.0) if flat else (-slope / (2 * bend), (-2 * bend) ** -0.5)
            components.append((float(weight), float(centre), float(spread)))
        return sorted(components, key=lambda component: component[1])
