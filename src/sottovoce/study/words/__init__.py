"""What participants read, by language. Texts of a study come from its manifest.

Each language is one TOML file of this folder. In its sentences `[a|b]` is a word for a phone and one for a computer,
`**a**` is bold, and `{a}` is filled in.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from datetime import date
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from sottovoce.core.language.html import Html

LANGUAGES = ("en", "de", "fr", "es", "it")
FALLBACK = "en"
_PARTS = re.compile(r"\[([^|\]]*)\|([^\]]*)\]|\*\*(.+?)\*\*|\{(\w+)\}")


def words(language: str) -> Mapping[str, Any]:
    """The tables of sentences in a language, in English by default."""
    short = language.partition("-")[0]
    return _read(short if short in LANGUAGES else FALLBACK)


@cache
def _read(language: str) -> Mapping[str, Any]:
    return tomllib.loads(files(__package__).joinpath(f"{language}.toml").read_text(encoding="utf-8"))


def language_name(language: str) -> str:
    """The name of a language in that language; its code where there are no sentences in it."""
    short = language.partition("-")[0]
    return str(_read(short)["name"]) if short in LANGUAGES else language


def spoken(sentence: str, **values: object) -> Html:
    """A sentence as HTML: both words for the device, of which the style sheet shows one; values are escaped."""

    def part(match: re.Match[str]) -> str:
        phone, computer, bold, name = match.groups()
        if phone is not None:
            return f'<span class="on-phone">{escape(phone)}</span><span class="on-computer">{escape(computer)}</span>'
        return f"<b>{spoken(bold, **values)}</b>" if bold is not None else _escaped(values[name])

    pieces, end = [], 0
    for match in _PARTS.finditer(sentence):
        pieces += [escape(sentence[end : match.start()]), part(match)]
        end = match.end()
    return Html("".join([*pieces, escape(sentence[end:])]))


def _escaped(value: object) -> str:
    markup = getattr(value, "__html__", None)  # that of templates, too
    return str(value) if isinstance(value, Html) else markup() if markup is not None else escape(str(value))


def plain(sentence: str, device: int = 0, **values: object) -> str:
    """A sentence as text, with the words for a phone (0) or a computer (1)."""

    def part(match: re.Match[str]) -> str:
        bold, name = match[3], match[4]
        if bold is not None:
            return plain(bold, device, **values)
        return str(values[name]) if name is not None else match[1 + device]

    return _PARTS.sub(part, sentence)


def measure_name(measure: str, language: str) -> str:
    """Name of an estimated number in a language, such as "Mean"; the measure itself where it has no word."""
    name = str(words(language)["results"]["measures"].get(measure, measure))
    return name[:1].upper() + name[1:]


def quantile_name(share: str, language: str) -> str:
    """Name of a quantile in a language, such as "Half at most"."""
    tables = words(language)["results"]
    part = tables["parts"].get(share) or f"{local(f'{100 * float(share):g}', language)}\u00a0%"
    return plain(tables["at_most"], part=part)


def local(number: str, language: str) -> str:
    """A decimal number as people of a language write it."""
    tables = words(language)
    sign, digits = ("\u2212", number[1:]) if number.startswith("-") else ("", number)
    whole, point, part = digits.partition(".")
    if len(whole) >= tables["grouped_from"] and whole.isdigit():
        whole = f"{int(whole):,}".replace(",", tables["thousands"])
    return f"{sign}{whole}{tables['decimal'] if point else ''}{part}"


def local_date(day: str, language: str) -> str:
    """A date such as 2027-06-30 as people of a language write it."""
    tables, read = words(language), date.fromisoformat(day)
    first = "1er" if language.partition("-")[0] == "fr" and read.day == 1 else str(read.day)
    return str(tables["date"].format(day=first, month=tables["months"][read.month - 1], year=read.year))
