"""How hard the participants' texts are to read: `python -m scripts.readability` prints a number for each language.

Each language has an index that was fitted to texts of that language, or an accepted variant of one:

| language | index | reading age of 12 |
|---|---|---|
| en | Flesch-Kincaid grade: 0.39 words per sentence + 11.8 syllables per word - 15.59 | grade 6 or lower |
| de | first Vienna formula (Bamberger, Vanecek 1984), which gives a school grade | grade 6 or lower |
| fr | Kandel, Moles 1958: 207 - 1.015 words per sentence - 73.6 syllables per word | 70 or more (Flesch: sixth grade) |
| es | Fernandez Huerta 1959: 206.84 - 1.02 words per sentence - 60 syllables per word | 70 or more (sixth grade) |
| it | Gulpease 1988: 89 + (300 sentences - 10 letters) / words | 60 or more (easy after lower secondary school) |

Syllables are groups of vowels; in English a silent e at the end is left out. Beside the index the longest sentence is
shown, because a mean hides it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from sottovoce.study.words import LANGUAGES, plain, words

VALUES = {
    **{"coin": "23", "guess": "11", "count": "5", "low": "0", "high": "10", "step": "1", "spent": "2", "limit": "2"},
    **{"answer": "yes", "reason": "no", "contact": "Anna", "owner": "Anna", "date": "May"},
    **{"what": "Share", "level": "95 %", "value": "5", "unit": "cm", "text": "Hello.", "part": "Half"},
    **{"some": "2", "most": "3", "none": "none", "rows": "Age", "columns": "town", "first": "bus", "second": "car"},
    **{"longest": "8", "letters": "a to z"},
}
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_VOWELS = {
    "en": r"[aeiouy]+",
    "de": r"[aeiouyäöü]+",
    "fr": r"[aeiouyàâäéèêëîïôöùûüœ]+",
    "es": r"[aeiouáéíóúü]+",
    "it": r"[aeiouàèéìòóù]+",
}


class Reading(NamedTuple):
    """The index of a text, the bound of a reading age of 12, and how long its longest sentence is."""

    index: float
    bound: float
    longest: int

    @property
    def easy(self) -> bool:
        """Whether readers of 12 years can read it: grades are small then, and scores of ease large."""
        return self.index <= self.bound if self.bound < 20 else self.index >= self.bound


def sentences(language: str) -> Iterator[str]:
    """All sentences of the participants' texts, for phones and computers; not the labels of buttons and headings."""
    for text in _texts(words(language)):
        for device in (0, 1) if "[" in text else (0,):
            said = plain(text, device, **VALUES)
            yield from (one for one in re.split(r"(?<=[.?!:])\s+", said) if one[-1] in ".?!:")


def _texts(table: Any) -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _texts(value)
        elif key not in ("name", "decimal", "thousands", "date", "months", "grouped_from"):
            yield from value if isinstance(value, list) else [value]


def syllables(word: str, language: str) -> int:
    """The syllables of a word, as groups of vowels."""
    count = len(re.findall(_VOWELS[language], word.lower()))
    silent = language == "en" and re.search(r"[^aeiouyl]e$", word.lower())
    return max(1, count - bool(silent))


def reading(texts: list[str], language: str) -> Reading:
    """The index of sentences of a language."""
    by_sentence = [_WORD.findall(text) for text in texts]
    listed = [word for one in by_sentence for word in one]
    beats = [syllables(word, language) for word in listed]
    length, rhythm = len(listed) / len(texts), sum(beats) / len(listed)
    letters = sum(map(len, listed))
    if language == "en":
        index, bound = 0.39 * length + 11.8 * rhythm - 15.59, 6.0
    elif language == "de":
        many = 100 * sum(beat >= 3 for beat in beats) / len(listed)
        single = 100 * sum(beat == 1 for beat in beats) / len(listed)
        long = 100 * sum(len(word) > 6 for word in listed) / len(listed)
        index, bound = 0.1935 * many + 0.1672 * length + 0.1297 * long - 0.0327 * single - 0.875, 6.0
    elif language == "fr":
        index, bound = 207 - 1.015 * length - 73.6 * rhythm, 70.0
    elif language == "es":
        index, bound = 206.84 - 1.02 * length - 60 * rhythm, 70.0
    else:
        index, bound = 89 + (300 * len(texts) - 10 * letters) / len(listed), 60.0
    return Reading(index, bound, max(map(len, by_sentence)))


def main() -> None:
    """Print the index of each language."""
    for language in LANGUAGES:
        index, bound, longest = reading(list(sentences(language)), language)
        side = "at most" if bound < 20 else "at least"
        print(f"{language}: {index:.1f} (easy: {side} {bound:.0f}), longest sentence {longest} words")


if __name__ == "__main__":
    main()
