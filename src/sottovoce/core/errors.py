"""Every error the package raises on purpose. Each is one sentence, and carries the objects it speaks of."""

from __future__ import annotations


class SottovoceError(Exception):
    """Base of all errors raised on purpose."""


class ParameterError(SottovoceError, ValueError):
    """A parameter lies outside what it may be."""


class DomainError(SottovoceError, ValueError):
    """A value lies outside the domain of the question. Raised before any coin is drawn."""

    def __init__(self, message: str, *, value: object, domain: object) -> None:
        super().__init__(message)
        self.value = value
        self.domain = domain

    def __reduce__(self) -> tuple[object, ...]:
        return _domain_error, (str(self), self.value, self.domain)


def _domain_error(message: str, value: object, domain: object) -> DomainError:
    """Pickling calls without keywords."""
    return DomainError(message, value=value, domain=domain)


class ReportError(SottovoceError, ValueError):
    """Bytes or numbers that no participant following the mechanism can have sent."""


class SpecError(SottovoceError, ValueError):
    """A specification that does not describe a mechanism of this version."""


class MismatchError(SottovoceError, ValueError):
    """Two things that belong to different mechanisms."""


class PrivacyError(SottovoceError):
    """A device refuses to answer: the guarantee is not the one it was told to accept."""


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
