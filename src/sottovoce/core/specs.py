"""Specifications: canonical JSON without floats, so that its SHA-256 is the same in every language."""

from __future__ import annotations

import json
from collections.abc import Mapping
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
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise SpecError("A specification holds text that UTF-8 cannot carry.") from None


def check_plain(value: object, depth: int = 0) -> None:
    """Refuse whatever another language could read differently."""
    if depth > MAX_DEPTH:
        raise SpecError(f"A specification may be nested at most {MAX_DEPTH} deep.")
    if value is None or isinstance(value, (bool, str)):
        return
    if isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            raise SpecError(f"A specification holds integers up to 2**53. Got one of {value.bit_length()} bits.")
    elif isinstance(value, (list, tuple)):
        for item in value:
            check_plain(item, depth + 1)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str) or not key.isascii():
                raise SpecError(f"The keys of a specification are ASCII texts. Got {key!r:.80}.")
            check_plain(item, depth + 1)
    else:
        raise SpecError(f"A specification holds no {type(value).__name__}. Got {value!r:.80}.")


def parse(text: str | bytes) -> Spec:
    """Read a specification; a key given twice, a float or a non-object is refused."""

    def once(pairs: list[tuple[str, Any]]) -> Spec:
        keys = [key for key, _ in pairs]
        if len(set(keys)) != len(keys):
            raise SpecError("A specification names a key twice.")
        return dict(pairs)

    def no_float(literal: str) -> Any:
        raise SpecError(f"A specification holds no floats. Got {literal:.80}.")

    if len(text) > MAX_BYTES:
        raise SpecError(f"A specification has at most {MAX_BYTES} bytes. Got {len(text)}.")
    try:
        text = text if isinstance(text, str) else text.decode("utf-8")
        value = json.loads(text, object_pairs_hook=once, parse_float=no_float, parse_constant=no_float)
    except SpecError:
        raise
    except (ValueError, RecursionError) as problem:
        raise SpecError(f"A specification must be JSON in UTF-8: {problem!s:.120}.") from None
    if not isinstance(value, dict):
        raise SpecError("A specification must be a JSON object.")
    canonical(value)  # refuses what another language could read differently
    return cast(Spec, value)


def take(spec: object, owner: str, names: tuple[str, ...]) -> tuple[Any, ...]:
    """The values under exactly these keys; a missing or unknown key is refused by name."""
    if not isinstance(spec, Mapping):
        raise SpecError(f"The specification of {owner} must be an object. Got {spec!r:.80}.")
    missing = [name for name in names if name not in spec]
    unknown = sorted(str(key)[:80] for key in spec if key not in names)[:8]
    if missing or unknown:
        raise SpecError(
            f"The specification of {owner} has the keys {', '.join(sorted(names))}."
            f" Missing: {', '.join(missing) or 'none'}; unknown: {', '.join(unknown) or 'none'}."
        )
    return tuple(spec[name] for name in names)


def integer(value: object, owner: str, name: str) -> int:
    """An integer of a specification; booleans are not integers."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise SpecError(f"The {name!r} of {owner} in a specification must be an integer. Got {value!r:.80}.")
    return value


def integers(value: object, owner: str, name: str) -> tuple[int, ...]:
    """A list of integers of a specification."""
    if not isinstance(value, (list, tuple)):
        raise SpecError(f"The {name!r} of {owner} in a specification must be a list. Got {value!r:.80}.")
    return tuple(integer(item, owner, name) for item in value)


def text(value: object, owner: str, name: str) -> str:
    """A text of a specification."""
    if not isinstance(value, str):
        raise SpecError(f"The {name!r} of {owner} in a specification must be a text. Got {value!r:.80}.")
    return value
