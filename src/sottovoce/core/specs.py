"""Specifications: canonical JSON without floats, so that its SHA-256 is the same in every language."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from sottovoce.core.errors import SpecError

Spec = dict[str, Any]
MAX_INTEGER = 1 << 53
MAX_DEPTH = 32
MAX_BYTES = 1 << 26


def canonical(spec: Mapping[str, Any]) -> bytes:
    """The one text of a specification: keys sorted, UTF-8, no spaces, integers up to 2**53, no floats."""
    check_plain(spec)
    text = json.dumps(spec, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    with suppress(UnicodeEncodeError):  # it holds the whole text and must not become the context of our error
        return text.encode("utf-8")
    raise SpecError("A specification holds text that UTF-8 cannot carry.")


def check_plain(value: object, depth: int = 0) -> None:
    """Refuse values that another language could read differently."""
    if depth > MAX_DEPTH:
        raise SpecError(f"A specification may be nested at most {MAX_DEPTH} deep.")
    if value is None or isinstance(value, (bool, str)):
        return
    if isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            raise SpecError("A specification holds integers up to 2**53.")
    elif isinstance(value, (list, tuple)):
        for item in value:
            check_plain(item, depth + 1)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str) or not key.isascii():
                raise SpecError("The keys of a specification are ASCII texts.")
            check_plain(item, depth + 1)
    else:
        raise SpecError(f"A specification holds no {type(value).__name__}.")


def parse(text: str | bytes) -> Spec:
    """Read a specification; a key given twice, a float or a non-object is refused."""

    def once(pairs: list[tuple[str, Any]]) -> Spec:
        keys = [key for key, _ in pairs]
        if len(set(keys)) != len(keys):
            raise SpecError("A specification names a key twice.")
        return dict(pairs)

    def no_float(literal: str) -> Any:
        raise SpecError("A specification holds no floats.")

    if len(text) > MAX_BYTES:
        raise SpecError(f"A specification has at most {MAX_BYTES} bytes. Got {len(text)}.")
    problem = ""
    try:
        text = text if isinstance(text, str) else text.decode("utf-8")
        value = json.loads(text, object_pairs_hook=once, parse_float=no_float, parse_constant=no_float)
    except SpecError:
        raise
    except json.JSONDecodeError as error:
        problem = f"it cannot be read from line {error.lineno}, column {error.colno} on"
    except UnicodeDecodeError:
        problem = "it is not UTF-8"
    except (ValueError, RecursionError):
        problem = "a number is too long, or it is nested too deep"
    if problem:  # raised here, so that the parser's error, which holds the whole text, is not its context
        raise SpecError(f"A specification must be JSON in UTF-8: {problem}.")
    if not isinstance(value, dict):
        raise SpecError("A specification must be a JSON object.")
    canonical(value)  # refuses values that another language could read differently
    return cast(Spec, value)


def take(spec: object, owner: str, names: tuple[str, ...]) -> tuple[Any, ...]:
    """The values under exactly these keys; a missing or unknown key is refused by name."""
    if not isinstance(spec, Mapping):
        raise SpecError(f"The specification of {owner} must be an object, not a {type(spec).__name__}.")
    missing = [name for name in names if name not in spec]
    unknown = sum(key not in names for key in spec)
    if missing or unknown:
        raise SpecError(
            f"The specification of {owner} has the keys {', '.join(sorted(names))}."
            f" Missing: {', '.join(missing) or 'none'}; unknown: {unknown}."
        )
    return tuple(spec[name] for name in names)


def integer(value: object, owner: str, name: str) -> int:
    """An integer of a specification; booleans are not integers."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise SpecError(f"The {name!r} of {owner} in a specification must be an integer, not a {type(value).__name__}.")
    return value


def integers(value: object, owner: str, name: str) -> tuple[int, ...]:
    """A list of integers of a specification."""
    if not isinstance(value, (list, tuple)):
        raise SpecError(f"The {name!r} of {owner} in a specification must be a list, not a {type(value).__name__}.")
    return tuple(integer(item, owner, name) for item in value)


def text(value: object, owner: str, name: str) -> str:
    """A text of a specification."""
    if not isinstance(value, str):
        raise SpecError(f"The {name!r} of {owner} in a specification must be a text, not a {type(value).__name__}.")
    return value
