"""Results of methods that are computed once for each object."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def remembered(method: F) -> F:
    """Keep the results of a method of an object that does not change: one for each list of positional arguments."""
    name = f"_remembered_{method.__name__}"

    @wraps(method)
    def read(self: Any, *arguments: Any) -> Any:
        known = self.__dict__.setdefault(name, {})
        if arguments not in known:
            known[arguments] = method(self, *arguments)
        return known[arguments]

    return cast(F, read)
