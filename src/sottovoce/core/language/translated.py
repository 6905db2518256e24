"""Texts in several languages: in plain data a table by language, in objects a tuple of pairs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sottovoce.core.errors import ParameterError

MAX_TEXT = 2000
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})?")

Texts = tuple[tuple[str, str], ...]  # languages and texts


def texts_by_language(texts: object, what: str, parameter: str = "") -> Texts:
    """Texts by language, checked; `what` is what an error calls them, such as "text of a question"."""
    pairs = tuple(texts.items()) if isinstance(texts, Mapping) else texts
    if not isinstance(pairs, tuple) or not all(isinstance(one, tuple) and len(one) == 2 for one in pairs):
        raise ParameterError(f"The {what} must be a text, or a table of texts by language.", parameter=parameter)
    for language, text in pairs:
        if not isinstance(language, str) or not _LANGUAGE.fullmatch(language):
            raise ParameterError(f"The {what} must be named by languages, such as en or de.", parameter=parameter)
        if not isinstance(text, str) or not text.strip() or len(text) > MAX_TEXT:
            raise ParameterError(f"The {what} must have 1 to {MAX_TEXT} characters.", parameter=parameter)
    return pairs
