"""Mechanisms of other distributions: entry points of the group `sottovoce.mechanisms`, each a name and its builder.

Plugins are loaded when mechanisms are listed, or when a name is asked for that is not one of this package. A device
that reads a specification loads none. One that fails is left out with one sentence, and does not disturb the others.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sottovoce.core.domain import Ball, Box, Domain, Integers, Interval, Pair, Sparse
from sottovoce.core.errors import ParameterError, PluginWarning, SottovoceError
from sottovoce.core.language.spelling import letters
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Question

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "sottovoce.mechanisms"
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
TRIED: tuple[Domain, ...] = (
    *(Integers(0, size - 1) for size in (2, 3, 16)),
    Interval(-1, 1),
    Pair(Integers(0, 1), Interval(-1, 1)),
    *(Box(-1, 1, 3), Sparse(3, 1), Ball(1, 3)),
)


class PluginFailure(ParameterError):
    """A builder of another distribution raised an error of its own, of which only the kind is shown."""

    def __init__(self, name: str, distribution: str, kind: str) -> None:
        super().__init__(f"{_of(name, distribution)} failed: {kind}.")
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Plugin:
    """A mechanism of another distribution: its name, its builder, and the questions that it answers."""

    name: str
    distribution: str
    function: Callable[..., Mechanism]
    questions: frozenset[type[Question]]

    def build(self, domain: Domain, options: dict[str, Any]) -> Mechanism:
        """Call the builder; whatever it raises that is not an error of this package becomes one sentence."""
        try:
            mechanism = self.function(domain, **options)
        except SottovoceError:
            raise
        except Exception as problem:
            raise PluginFailure(self.name, self.distribution, type(problem).__name__) from None
        if not isinstance(mechanism, Mechanism) or mechanism.name != self.name:
            raise ParameterError(f"{_of(self.name, self.distribution)} builds no mechanism of that name.")
        return mechanism


@lru_cache
def installed(taken: frozenset[str]) -> dict[str, Plugin]:
    """Every plugin that works, by name. Those that fail, or whose name is taken, give one warning each."""
    result: dict[str, Plugin] = {}
    for entry, distribution in _entries():
        if not NAME.fullmatch(entry.name):
            problem = "has a name that is not made of lower-case letters, digits and hyphens"
        elif letters(entry.name) in {letters(name) for name in (*taken, *result)}:
            problem = "has a name that is already taken"
        else:
            plugin = _loaded(entry, distribution)
            if isinstance(plugin, Plugin):
                result[entry.name] = plugin
                continue
            problem = plugin
        warnings.warn(f"{_of(entry.name, distribution)} {problem}, so it is left out.", PluginWarning, stacklevel=2)
    return result


def _entries() -> list[tuple[EntryPoint, str]]:
    """The entry points with the names of their distributions, in an order that does not depend on the machine."""
    from importlib import metadata  # here, since devices do not need it and it takes a while to load

    entries = [(entry, entry.dist.name if entry.dist else "unknown") for entry in metadata.entry_points(group=GROUP)]
    return sorted(entries, key=lambda pair: (pair[0].name, pair[1]))


def _loaded(entry: EntryPoint, distribution: str) -> Plugin | str:
    """The plugin of an entry point, or what is wrong with it."""
    try:
        function = entry.load()
        inspect.signature(function)  # from which the options of a builder are read
    except Exception as problem:  # code of others may raise anything
        return f"cannot be loaded ({type(problem).__name__})"
    plugin = Plugin(entry.name, distribution, function, frozenset())
    questions: set[type[Question]] = set()
    failure = ""
    for domain in TRIED:
        try:
            questions.add(type(plugin.build(domain, {"epsilon": 1}).question))
        except PluginFailure as problem:
            failure = f" ({problem.kind})"
        except SottovoceError:
            continue
    if not questions:
        return f"builds no mechanism of that name for any of the domains that were tried{failure}"
    return Plugin(entry.name, distribution, function, frozenset(questions))


def _of(name: str, distribution: str) -> str:
    return f"The mechanism {name!r:.60} of the distribution {distribution!r:.60}"
