"""Every error the package raises on purpose, each one sentence.

Errors are printed, logged, pickled and sent to others. They state what was expected and how much was found. They never
contain an answer, or a text that was read from a file or typed: a misplaced text may be an answer.
"""

from __future__ import annotations


class SottovoceError(Exception):
    """Base of all errors raised on purpose."""

    @property
    def sentence(self) -> str:
        """The part of the message that may be shown to anyone."""
        return str(self)


class ParameterError(SottovoceError, ValueError):
    """A parameter is invalid. `got` describes the value that was given; the command line leaves it out.

    `parameter` names the parameter, where it is one that a caller may have to find, such as a key of a file.
    """

    def __init__(self, sentence: str, got: str | None = None, *, parameter: str = "") -> None:
        super().__init__(*([sentence] if got is None else [sentence, got]))
        self.parameter = parameter

    @property
    def sentence(self) -> str:
        return str(self.args[0])

    def __str__(self) -> str:
        return " ".join([self.sentence, *(f"Got {got}." for got in self.args[1:])])


class DomainError(SottovoceError, ValueError):
    """A value lies outside the domain of the question. Raised before any coin is drawn.

    It carries the domain, which is public, and never the value. `must_be` says what the domain takes. The list of
    categories belongs to the message, for programmers; the command line leaves it out, since it may come from a file.
    """

    def __init__(self, message: str, *, domain: object, must_be: str = "", listed: str = "") -> None:
        super().__init__(message)
        self.domain, self.must_be, self.listed = domain, must_be, listed

    @property
    def sentence(self) -> str:
        return str(self.args[0])

    def __str__(self) -> str:
        return f"{self.sentence} Allowed: {self.listed}." if self.listed else self.sentence

    def __reduce__(self) -> tuple[object, ...]:
        return _domain_error, (self.sentence, self.domain, self.must_be, self.listed)


def _domain_error(message: str, domain: object, must_be: str, listed: str) -> DomainError:
    """Pickling calls without keywords."""
    return DomainError(message, domain=domain, must_be=must_be, listed=listed)


class ReportError(SottovoceError, ValueError):
    """Bytes or numbers that are not valid reports of the mechanism."""


class ProgramError(ReportError):
    """A program that is asked for reports fails. `said` ends its error output; the command line leaves it out."""

    def __init__(self, sentence: str, said: str | None = None) -> None:
        super().__init__(*([sentence] if said is None else [sentence, said]))

    @property
    def sentence(self) -> str:
        return str(self.args[0])

    def __str__(self) -> str:
        return " ".join([self.sentence, *(f"It said: {said}" for said in self.args[1:])])


class SpecError(SottovoceError, ValueError):
    """A specification that does not describe a mechanism of this version."""


class MismatchError(SottovoceError, ValueError):
    """Two things that belong to different mechanisms."""


class PrivacyError(SottovoceError):
    """A device refuses to answer: the guarantee is not one that it accepts."""


class DeviceFileError(SottovoceError):
    """The file of a device cannot be used; without it the device does not answer."""


class WordsError(SottovoceError):
    """A sampler that violates the rule: each word is read once, in order and within the span."""


class TooLargeError(SottovoceError):
    """An exact computation that would take too long; a closed form is needed."""


class MissingExtraError(SottovoceError, ImportError):
    """A part of the package whose third-party packages are not installed."""


class NoBatchError(SottovoceError, NotImplementedError):
    """Only single answers are supported here, not batches."""


class BatchWarning(UserWarning):
    """A batch without a fast kernel: the result is right, but takes longer."""


class PluginWarning(UserWarning):
    """A mechanism of another distribution that is left out, because it fails or its name is taken."""


class NoCovarianceError(SottovoceError):
    """The law of the reports does not fix the covariance of the estimates."""


class NoIntervalError(SottovoceError):
    """This kind of interval does not exist for this estimate."""


class CollectorError(SottovoceError):
    """A collector that cannot be reached, or whose answer is not understood."""
