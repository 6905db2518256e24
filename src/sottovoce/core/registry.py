"""The list of mechanisms: one line each. A builder's module is loaded when its mechanism is asked for.

Other distributions add theirs by entry points (`core/plugins.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sottovoce.core import late, plugins
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.language.spelling import letters, suggestion
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.question import (
    Attributes,
    Boxes,
    Distribution,
    Frequency,
    FrequentWords,
    GroupMean,
    HalfSets,
    KeyMeans,
    Mean,
    Question,
    SetShares,
    VectorMean,
)

FREQUENCIES = {
    "grr": "mechanisms.frequency.grr:build",
    "subset": "mechanisms.frequency.subset:build",
    "sue": "mechanisms.frequency.sue:build",
    "oue": "mechanisms.frequency.oue:build",
    "olh": "mechanisms.frequency.local_hash.olh:build",
    "hadamard": "mechanisms.frequency.hadamard:build",
    "rr": "mechanisms.frequency.rr:build",
    "unary": "mechanisms.frequency.unary:build",
    "blh": "mechanisms.frequency.local_hash.blh:build",
    "slh": "mechanisms.frequency.local_hash.slh:build",
    "flh": "mechanisms.frequency.local_hash.flh:build",
    "hrr": "mechanisms.frequency.hrr:build",
    "she": "mechanisms.frequency.she:build",
    "the": "mechanisms.frequency.the:build",
    "d-bit-flip": "mechanisms.frequency.d_bit_flip:build",
    "rue": "mechanisms.frequency.rue:build",
    "rlh": "mechanisms.frequency.local_hash.rlh:build",
    "rws": "mechanisms.frequency.rws:build",
    "projective": "mechanisms.frequency.projective:build",
    "shist": "mechanisms.frequency.shist:build",
    "distortion": "mechanisms.frequency.distortion:build",
    "compression": "design.compression:build",
    "urr": "mechanisms.frequency.urr:build",
    "urap": "mechanisms.frequency.urap:build",
    "basic-rappor": "mechanisms.rappor.basic_rappor:build",
    "one-time-rappor": "mechanisms.rappor.one_time_rappor:build",
    "rappor": "mechanisms.rappor.rappor:build",
    "loloha": "mechanisms.rappor.loloha:build",
    "d-bit-flip-memo": "mechanisms.rappor.d_bit_flip_memo:build",
    "o-rr": "mechanisms.rappor.o_rr:build",
    "o-rappor": "mechanisms.rappor.o_rappor:build",
    "cms": "mechanisms.sketch.cms:build",
    "hcms": "mechanisms.sketch.hcms:build",
    "pcs": "mechanisms.sketch.pcs:build",
}
MEANS = {
    "bernoulli": "mechanisms.mean.bernoulli:build",
    "bernoulli-memo": "mechanisms.mean.bernoulli_memo:build",
    "nprr": "mechanisms.mean.nprr:build",
    "three-output": "mechanisms.mean.three_output:build",
    "laplace": "mechanisms.mean.laplace:build",
    "scdf": "mechanisms.mean.scdf:build",
    "staircase": "mechanisms.mean.staircase:build",
    "piecewise": "mechanisms.mean.piecewise:build",
    "pm-sub": "mechanisms.mean.pm_sub:build",
    "hybrid": "mechanisms.mean.hybrid:build",
    "n-output": "design.few_outputs:build",
    "designed": "design.designed:build",
}
GROUPS = {
    "group-bernoulli": "mechanisms.group.bernoulli:build",
    "group-nprr": "mechanisms.group.nprr:build",
    "group-laplace": "mechanisms.group.laplace:build",
    "group-piecewise": "mechanisms.group.piecewise:build",
    "group-designed": "design.group:build",
}
VECTORS = {
    "duchi-linf": "mechanisms.vector.linf:build",
    "sampled": "design.sampled:build",
    "split-n": "design.sampled:split_n",
    "split-epsilon": "design.sampled:split_epsilon",
    "one-sparse": "mechanisms.vector.one_sparse:build",
    "sparse": "mechanisms.vector.sparse:build",
    "duchi-l2": "mechanisms.vector.duchi_l2:build",
    "priv-unit": "mechanisms.vector.priv_unit:build",
    "priv-unit-g": "mechanisms.vector.priv_unit_g:build",
    "proj-unit": "mechanisms.vector.proj_unit:build",
}
ATTRIBUTES = {
    "split-attributes": "mechanisms.attributes.split:build",
    "fake-attributes": "mechanisms.attributes.fake:build",
}
DISTRIBUTIONS = {
    "square-wave": "mechanisms.distribution.square_wave:build",
    "square-wave-discrete": "mechanisms.distribution.square_wave:discrete",
    "general-wave": "mechanisms.distribution.general_wave:build",
    "subset-exponential": "mechanisms.distribution.subset_exponential:build",
    "hierarchy": "mechanisms.distribution.hierarchy:build",
    "haar": "mechanisms.distribution.haar:build",
    "binned": "mechanisms.distribution.binned:build",
    "orthogonal-series": "mechanisms.distribution.orthogonal_series:build",
    "laplace-histogram": "mechanisms.distribution.laplace_histogram:build",
    "designed-distribution": "design.distribution:build",
    "coded-wave": "design.distribution:build_coded",
    "mixed-wave": "design.mixed:build",
}
SETS = {
    "mask": "mechanisms.sets.mask:build",
    "cells": "mechanisms.sets.cells:build",
    "options": "mechanisms.sets.options:build",
    "padding-sampling": "mechanisms.sets.mask:padding_sampling",
    "wheel": "mechanisms.sets.wheel:build",
}
KEY_VALUES = {
    "key-mask": "mechanisms.key_values.ends:mask",
    "key-cells": "mechanisms.key_values.ends:cells",
    "key-options": "mechanisms.key_values.asked:options",
    "pckv-grr": "mechanisms.key_values.pckv:grr",
    "privkv": "mechanisms.key_values.asked:privkv",
}
WORDS = {
    "fragments": "mechanisms.words.fragments:build",
}
BOXES = {
    "torus-wave": "design.boxes:build",
}
HALF_SETS = {
    "half-sets": "mechanisms.frequency.half_sets:build",
    "one-bit": "mechanisms.frequency.one_bit:build",
}
BY_QUESTION: dict[type[Question], dict[str, str]] = {
    Frequency: FREQUENCIES,
    Mean: MEANS,
    GroupMean: GROUPS,
    VectorMean: VECTORS,
    Attributes: ATTRIBUTES,
    Distribution: DISTRIBUTIONS,
    HalfSets: HALF_SETS,
    SetShares: SETS,
    KeyMeans: KEY_VALUES,
    Boxes: BOXES,
    FrequentWords: WORDS,
}
BUILDERS = {name: builder for group in BY_QUESTION.values() for name, builder in group.items()}
ALIASES = {
    "k-rr": "grr",
    "direct-encoding": "grr",
    "subset-selection": "subset",
    "k-rappor": "sue",
    "count-mean-sketch": "cms",
    "hadamard-count-mean-sketch": "hcms",
    "private-count-sketch": "pcs",
    "hadamard-response": "hadamard",
    "hadamard-mechanism": "hrr",
    "orthogonal-matrix": "hrr",
    "s2m": "subset",
    "s2mb": "subset",
    "binary-local-hashing": "blh",
    "fast-local-hashing": "flh",
    "duchi": "bernoulli",
    "harmony": "bernoulli",
    "1bit-mean": "bernoulli",
    "pm": "piecewise",
    "three-outputs": "three-output",
    "sw": "square-wave",
    "gw": "general-wave",
    "sem": "subset-exponential",
    "hh": "hierarchy",
    "hh-admm": "hierarchy",
    "hierarchical-histogram": "hierarchy",
    "haar-hrr": "haar",
    "cfo-binning": "binned",
    "raptor": "half-sets",
    "privset": "mask",
}

# Names of a mechanism together with its decoder: an estimate is decoded so, unless another decoder is asked for.
DECODERS: dict[str, tuple[str, dict[str, Any]]] = {
    "hh-admm": ("admm", {"weighted": False}),
    "s2m": ("em", {}),
    "s2mb": ("em", {}),
}
# Published mechanisms that have, with their default options, the law of another one.
SAME_LAW = {"distortion": "grr", "compression": "grr", "urr": "grr", "urap": "sue", "shist": "hrr"}


def names(question: type[Question] | None = None) -> list[str]:
    """List the names of all mechanisms, or of those for one kind of question.

    Args:
        question: A class such as `Mean`. Default: all kinds.

    Returns:
        Names that `mechanism` takes.

    Examples:
        >>> sv.names(sv.Mean)[:3]
        ['bernoulli', 'bernoulli-memo', 'nprr']

    See also:
        `mechanism` builds one, `plan` compares them.
    """
    if question is None:
        return [*BUILDERS, *_plugins()]
    if question not in BY_QUESTION:
        known = ", ".join(sorted(kind.__name__ for kind in BY_QUESTION))
        raise reject("question", "names", f"one of the classes {known}", question)
    return [*BY_QUESTION[question], *(name for name, one in _plugins().items() if question in one.questions)]


def _plugins() -> dict[str, plugins.Plugin]:
    """Mechanisms of other distributions, by name."""
    return plugins.installed(frozenset({*BUILDERS, *ALIASES}))


def registered_name(name: str) -> str:
    """The registered name of a mechanism, however it is written: GRR, three_output, k-RR, PrivUnit."""
    if not isinstance(name, str):
        raise reject("name", "mechanism", "a text", name)
    if name in BUILDERS:
        return name
    plain, ours = letters(name), [*BUILDERS, *ALIASES]
    for one in ours:
        if letters(one) == plain:
            return ALIASES.get(one, one)
    theirs = list(_plugins())
    for one in theirs:
        if letters(one) == plain:
            return one
    known = sorted([*ours, *theirs])
    hint = suggestion(name, known)
    listed = "`sottovoce methods` lists all." if "did you mean" in hint else f"Known: {', '.join(known)}."
    raise ParameterError(f"There is no mechanism of this name{hint} {listed}")


def builder(name: str) -> Callable[..., Mechanism]:
    """The function that builds a mechanism of this name."""
    registered = registered_name(name)
    if registered in BUILDERS:
        build: Callable[..., Mechanism] = late.load(BUILDERS[registered])
        return build
    build = _plugins()[registered].function
    return build


def fits(name: str, domain: Domain) -> bool:
    """Whether a mechanism takes a domain: some take two categories only, some have a largest size."""
    builder(name)  # refuses a name that is not registered
    try:
        mechanism(name, domain, epsilon=1)
    except ParameterError:
        return False
    return True


def mechanism(name: str, domain: Domain, *, epsilon: Any = None, **options: Any) -> Mechanism:
    """Build a mechanism by name: the sampler of a device together with its estimator.

    Args:
        name: A name of `names()`, such as "grr". The names "hh-admm" and "s2m" of the literature stand for a mechanism
            and its decoder: estimates are decoded so, unless `decoder="linear"` is asked for.
        domain: The possible answers. The question follows from the mechanism.
        epsilon: The privacy budget of one report, above 0 and at most 20; a float is read as its shortest decimal. Left
            out where published parameters, such as f, p and q of RAPPOR, are given: epsilon then follows from them.
        **options: Options of this mechanism, such as `buckets=64`; `sottovoce methods` lists them.

    Returns:
        A `Mechanism`, which is immutable and complete: its specification can be sent to devices.

    Raises:
        ParameterError: The name, the domain, epsilon or an option does not fit.

    Examples:
        >>> sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon=1)
        Mechanism(grr, frequency of Categories([yes, no]), epsilon=1, a057833cc5b7)

    See also:
        `plan` chooses a mechanism, `audit` computes its exact privacy loss.
    """
    decoded = next((one for one in DECODERS if isinstance(name, str) and letters(one) == letters(name)), None)
    name = registered_name(name)
    build = builder(name)
    allowed = [parameter for parameter in inspect.signature(build).parameters if parameter not in ("domain", "epsilon")]
    for option in options:
        if option not in allowed:
            raise ParameterError(f"{name} has no such parameter. Known: epsilon{''.join(', ' + a for a in allowed)}.")
    if not isinstance(domain, Domain):
        raise reject("domain", name, "a domain", domain)
    if ALIASES.get(name, name) not in BUILDERS and (plugin := _plugins().get(name)) is not None:
        return plugin.build(domain, {"epsilon": epsilon, **options})
    built = build(domain, epsilon=epsilon, **options)
    return built if decoded is None else replace(built, name=decoded)
