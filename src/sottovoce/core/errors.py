"""Every error the package raises on purpose, each one sentence.

Errors are printed, logged, pickled and sent to others. They state what was expected and how much was found. They never
contain an answer, or a text that was read from a file or typed: a misplaced text may be an answer.
"""

from __future__ import annotations


class SottovoceError(Exception):
    """Catch every error that this package raises on purpose.

    Each error is one sentence, which says what is wrong and what is expected. No error contains a participant's answer.

    Examples:
        >>> try:
        ...     sv.mechanism("gr", sv.Categories(["yes", "no"]), epsilon=1)
        ... except sv.SottovoceError as error:
        ...     print(error)
        There is no mechanism of this name; did you mean grr? `sottovoce methods` lists all.

    See also:
        `ParameterError`, `DomainError` and `PrivacyError`, the most frequent kinds.
    """

    @property
    def sentence(self) -> str:
        """The part of the message that may be shown to anyone."""
        return str(self)


class ParameterError(SottovoceError, ValueError):
    """Report an invalid parameter of a function, an option or a key of a file.

    Args:
        sentence: What is wrong and what is expected, without the value.
        got: A description of the value that was given. The command line leaves it out.
        parameter: The name of the parameter, where a caller has to find it, such as a key of a file.

    Examples:
        >>> try:
        ...     sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon=-1)
        ... except sv.ParameterError as error:
        ...     print(error)
        The 'epsilon' parameter of grr must be a number in (0, 20]. Got -1.

    See also:
        `DomainError` for answers, `SottovoceError` for all kinds.
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
    """Report an answer outside the domain of the question, before any randomness is drawn.

    The error carries the domain, which is public, and never the answer.

    Args:
        message: What an answer must be, without the answer.
        domain: The domain that refused the answer.
        must_be: What the domain accepts, in words.
        listed: The possible answers. They belong to the message for programmers; the command line leaves them out,
            because a list may come from a private file.

    Examples:
        >>> try:
        ...     sv.Integers(0, 10).encode(11)
        ... except sv.DomainError as error:
        ...     print(error)
        An answer must be a whole number in [0, 10]; a value of type int is outside.

    See also:
        `ParameterError` for everything that is not an answer.
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
    """Report bytes or numbers that are not valid reports of a mechanism.

    Examples:
        >>> m = sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon=1)
        >>> try:
        ...     m.tally([b"abc"])
        ... except sv.ReportError as error:
        ...     print(error)
        Report 0 has 3 bytes, expected 17.

    See also:
        `MismatchError` for valid reports of another mechanism.
    """


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
    """Report a specification that does not describe a mechanism of this version.

    Examples:
        >>> try:
        ...     sv.Mechanism.from_spec({"name": "grr"})
        ... except sv.SpecError as error:
        ...     print("refused")
        refused

    See also:
        `Mechanism.spec` writes a specification, `Mechanism.from_spec` reads one.
    """


class MismatchError(SottovoceError, ValueError):
    """Report two objects that belong to different mechanisms, such as a tally of another budget.

    The sentence shows both fingerprints and every parameter that differs.

    Examples:
        >>> a, b = (sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon=e) for e in (1, 2))
        >>> try:
        ...     a.estimate(sv.Tally.empty(b))
        ... except sv.MismatchError as error:
        ...     print(str(error)[:56])
        Cannot estimate from the tally of different mechanisms (

    See also:
        `combine` estimates one question from several mechanisms.
    """


class PrivacyError(SottovoceError):
    """Report that a device refuses to answer, because the privacy loss exceeds what it accepts.

    Examples:
        >>> m = sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon=2)
        >>> try:
        ...     sv.Client(m, limit=1)
        ... except sv.PrivacyError as error:
        ...     print(error)
        This mechanism has epsilon 2, more than the limit of this device.

    See also:
        `Client` and `Participant`, which compute the loss themselves.
    """


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
