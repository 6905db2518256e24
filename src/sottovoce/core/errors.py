"""Every error the package raises on purpose, each one sentence.

An error is printed, logged, pickled and sent to others. So it says what was expected and how much was found, and holds
neither an answer nor a text that was read from a file or typed: a misplaced text may be an answer.
"""

from __future__ import annotations


class SottovoceError(Exception):
    """Base of all errors raised on purpose."""

    @property
    def sentence(self) -> str:
        """What may be shown to anyone, whoever gave the parameters."""
        return str(self)


class ParameterError(SottovoceError, ValueError):
    """A parameter lies outside what it may be. `got` names what a program gave; the command line leaves it out."""

    def __init__(self, sentence: str, got: str | None = None) -> None:
        super().__init__(*([sentence] if got is None else [sentence, got]))

    @property
    def sentence(self) -> str:
        return str(self.args[0])

    def __str__(self) -> str:
        return " ".join([self.sentence, *(f"Got {got}." for got in self.args[1:])])


class DomainError(SottovoceError, ValueError):
    """A value lies outside the domain of the question. Raised before any coin is drawn.

    It carries the domain, which is public, and never the value.
    """

    def __init__(self, message: str, *, domain: object) -> None:
        super().__init__(message)
        self.domain = domain

    def __reduce__(self) -> tuple[object, ...]:
        return _domain_error, (str(self), self.domain)


def _domain_error(message: str, domain: object) -> DomainError:
    """Pickling calls without keywords."""
    return DomainError(message, domain=domain)


class ReportError(SottovoceError, ValueError):
    """Bytes or numbers that no participant following the mechanism can have sent."""


class SpecError(SottovoceError, ValueError):
    """A specification that does not describe a mechanism of this version."""


class MismatchError(SottovoceError, ValueError):
    """Two things that belong to different mechanisms."""


class PrivacyError(SottovoceError):
    """A device refuses to answer: the guarantee is not the one it was told to accept."""


class MemoError(SottovoceError):
    """The file in which a device keeps its memos cannot be used; without it the device does not answer."""


class WordsError(SottovoceError):
    """A sampler that does not read its words once, in order and within its span."""


class TooLargeError(SottovoceError):
    """An exact computation that would not end in reasonable time; a closed form is needed."""


class MissingExtraError(SottovoceError, ImportError):
    """A part of the package whose third-party packages are not installed."""


class NoBatchError(SottovoceError, NotImplementedError):
    """Something for which there are single answers but no batches."""


class BatchWarning(UserWarning):
    """A batch for which there is no fast way: it is right, but takes longer."""


class NoCovarianceError(SottovoceError):
    """The law of the reports does not fix the covariance of the estimates."""


class NoIntervalError(SottovoceError):
    """This kind of interval does not exist for this estimate."""
