"""Many small cases in one test: a test of its own costs more than a case that takes a millisecond."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature
from typing import Any


def for_each(name: str, values: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As `pytest.mark.parametrize`, but in one test; a failure says for which value it was.

    Several names are given with a comma between them, and their values as tuples.
    """
    names, cases = name.split(","), list(values)

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def whole(**fixtures: Any) -> None:
            for case in cases:
                given = dict(zip(names, case if len(names) > 1 else (case,), strict=True))
                try:
                    test(**given, **fixtures)
                except BaseException as problem:
                    problem.add_note(f"This was for {given}.")
                    raise

        own = signature(test)
        kept = [parameter for parameter in own.parameters.values() if parameter.name not in names]
        whole.__signature__ = own.replace(parameters=kept)  # type: ignore[attr-defined]  # the fixtures that are left
        return whole

    return decorated
