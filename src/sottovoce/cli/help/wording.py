"""Sentences about parameters in the words of the command line: the option at fault, and what was probably meant.

Only options and known words are named. What was typed is never repeated: it may be a misplaced answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sottovoce.core.language.spelling import nearest

PARAMETER = re.compile(r"The '(\w+)' parameter of [^']+? must (be|have|hold) ")
VALUE = re.compile(r"The value of (--[\w-]+) must ")
# Parameters whose option has another name.
OPTIONS = {"shares": "--quantiles", "method": "--interval", "most": "--max-nonzero", "low": "--low"}
COMMA = " Write a decimal point, and no comma between digits."


def for_options(sentence: str, words: Sequence[str]) -> str:
    """A sentence of the library with the options of this command line, and a hint where a slip is likely."""
    given = _given(words)

    def named(match: re.Match[str]) -> str:
        option = OPTIONS.get(match[1], "")
        option = option if option in given else f"--{match[1].replace('_', '-')}"
        return f"The value of {option} must {match[2]} " if option in given else match[0]

    said = PARAMETER.sub(named, sentence, count=1)
    match = VALUE.match(said)
    if match is None:
        return sentence
    said = re.sub(r"'(\w+)'", lambda one: f"--{one[1]}" if f"--{one[1]}" in given else one[0], said)
    value, expected = given.get(match[1], ""), said[match.end() :]
    if re.fullmatch(r"[+-]?\d+(,\d+)+", value):
        return said + COMMA
    listed = re.findall(r"[a-z][a-z0-9-]+", expected) if "one of" in expected or "' or '" in expected else []
    near = nearest(value, listed)
    return f"{said} Did you mean {near}?" if near else said


def _given(words: Sequence[str]) -> dict[str, str]:
    """The options of a command line with their values."""
    given: dict[str, str] = {}
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word.startswith("--"):
            option, equals, value = word.partition("=")
            given[option] = value if equals else following
    return given
