"""`Words`: any word of a stated alphabet up to a stated length, by a number that can be read back."""

from __future__ import annotations

import unicodedata
from typing import ClassVar

from sottovoce.core import specs
from sottovoce.core.declared import Form, declared, integer, of_form, text
from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.plain import MAX_TEXT, is_utf8
from sottovoce.core.params import reject

LATIN = "abcdefghijklmnopqrstuvwxyz'"
MAX_LETTERS = 1024
MAX_LONGEST = 52
MAX_WORDS = 1 << 52  # a browser's number holds each code


def _check_letters(name: str, owner: str, value: object) -> str:
    if isinstance(value, str) and is_utf8(value):
        letters = unicodedata.normalize("NFC", value)
        different = len({*letters}) == len(letters) and not any(letter.isspace() for letter in letters)
        if 2 <= len(letters) <= MAX_LETTERS and different and letters.isprintable():
            return letters
    raise reject(name, owner, f"a text of 2 to {MAX_LETTERS} different letters, without spaces", value)


LETTERS = Form("text", specs.text, check=_check_letters)


@declared
class Words(Domain):
    """Describe an answer as any word of at most `longest` letters of an alphabet.

    Frequent words are found without a list of candidates, because the number of a word can be read back. A word is
    numbered by its length, then by its letters in the order of the alphabet; no letters at all, "", has the number 0. A
    letter that the alphabet has in lower case only may be typed in upper case.

    Args:
        letters: The alphabet, in any order. Default: a to z and the apostrophe.
        longest: The largest number of letters in a word.
        longer: What is done with longer words: "refuse" them, or "cut" them to their first letters.

    Raises:
        ParameterError: The alphabet repeats a letter, or there are more than 2**52 words.

    Examples:
        >>> words = sv.Words("abcdefghijklmnopqrstuvwxyzäöüß", longest=9)
        >>> words.encode("Müll") == words.encode("müll"), words.word(words.encode("müll"))
        (True, 'müll')

    See also:
        `Text` for texts of any length with a list of candidates, `FrequentWords` for what is asked.
    """

    kind: ClassVar[str] = "words"
    holds_texts: ClassVar[bool] = True
    is_open: ClassVar[bool] = True
    letters: str = of_form(LETTERS, default=LATIN)
    longest: int = integer(1, MAX_LONGEST, default=10)
    longer: str = text("refuse", "cut", default="refuse")

    def check_fields(self) -> None:
        if self.size > MAX_WORDS:
            most = next(
                length for length in range(self.longest, 0, -1) if words_of(len(self.letters), length) <= MAX_WORDS
            )
            raise reject("longest", self.kind, f"at most {most} for {len(self.letters)} letters", self.longest)

    @property
    def size(self) -> int:
        return words_of(len(self.letters), self.longest)

    @property
    def spelled(self) -> Words:
        return self

    @property
    def bits(self) -> int:
        """The bits that write the number of every word."""
        return (self.size - 1).bit_length()

    def typed(self, value: object) -> object:
        return value.strip() if isinstance(value, str) else str(value) if type(value) is int else value

    def encode(self, value: object) -> int:
        if isinstance(value, str) and len(value) <= MAX_TEXT and is_utf8(value):
            word = unicodedata.normalize("NFC", str.__str__(value))
            length, base, code = len(word), len(self.letters), 0
            # As many letters are looked up for every word, so that the duration does not tell its length.
            places = [self._place(letter) for letter in word[: self.longest].ljust(self.longest, self.letters[0])]
            if all(places) and (self.longer == "cut" or length <= self.longest):
                for index, place in enumerate(places):
                    code = code * base + place if index < length else code
                return code
        what = "a word" if self.longer == "cut" else f"a word of at most {self.longest} letters"
        raise self.refuse(value, f"{what}, each one of {self.letters}")

    def _place(self, letter: str) -> int:
        """The place of a letter in the alphabet, from 1 on, as typed or else in lower case; 0 if it has none."""
        lower = letter.lower()
        own, small = self.letters.find(letter) + 1, self.letters.find(lower) + 1
        return own or (small if len(lower) == 1 else 0)

    def word(self, code: int) -> str:
        """The word with a number."""
        found = []
        while code > 0:
            code, place = divmod(code - 1, len(self.letters))
            found.append(self.letters[place])
        return "".join(reversed(found))

    def foreign(self) -> list[object]:
        wrong = [None, object(), b"bytes", 0, 1.5, True, ["text"], "\ud800", "\x00", self.letters[0] * (MAX_TEXT + 1)]
        return wrong if self.longer == "cut" else [*wrong, self.letters[0] * (self.longest + 1)]


def words_of(letters: int, longest: int) -> int:
    """How many words there are, the empty one among them."""
    return int((letters ** (longest + 1) - 1) // (letters - 1))
