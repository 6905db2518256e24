"""Arms of an experiment: public texts, of which each participant is shown one.

An arm is drawn with the question, from the id of the report: neither the participant nor the collector picks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sottovoce.core.asked import MAX_SHARE, NAME
from sottovoce.core.errors import ParameterError, SpecError
from sottovoce.core.language.translated import Texts, texts_by_language
from sottovoce.core.params import check_integer
from sottovoce.core.specs import Spec, integer, take
from sottovoce.core.specs import text as text_of

MOST_ARMS = 20
_KEYS = ("name", "share", "texts")


@dataclass(frozen=True, slots=True)
class ExperimentArm:
    """One arm of an experiment.

    Attributes:
        name: A short name for files and results; participants do not read it.
        share: The relative number of participants in this arm.
        texts: What participants of this arm read above the questions, by language; empty where they read nothing more.
    """

    name: str
    share: int = 1
    texts: Texts = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise ParameterError("The name of an arm is made like that of a question, such as new-text.")
        check_integer("share", f"arm {self.name}", self.share, 1, MAX_SHARE)
        object.__setattr__(self, "texts", texts_by_language(self.texts, f"text of arm {self.name}", "text"))

    def text(self, language: str) -> str:
        """The text in a language, else in the first one; empty where this arm shows none."""
        texts = dict(self.texts)
        return texts.get(language) or next(iter(texts.values()), "")

    def spec(self) -> Spec:
        """In plain data."""
        return {"name": self.name, "share": self.share, "texts": dict(self.texts)}


def check_arms(arms: Sequence[ExperimentArm]) -> None:
    """Refuse arms that cannot be compared."""
    if not 2 <= len(arms) <= MOST_ARMS:
        raise ParameterError(f"An experiment has 2 to {MOST_ARMS} arms.")
    if len({arm.name for arm in arms}) < len(arms):
        raise ParameterError("The names of the arms of an experiment must differ.")
    if not any(arm.texts for arm in arms):
        raise ParameterError("No arm of the experiment has a text, so participants of all arms read the same.")


def arms_from_spec(spec: object) -> tuple[ExperimentArm, ...]:
    """Read the arms of an experiment from plain data."""
    if not isinstance(spec, list):
        raise SpecError("The experiment of a study is a list of arms.")
    try:
        arms = tuple(_arm(one) for one in spec)
        check_arms(arms)
    except ParameterError as problem:
        raise SpecError(str(problem)) from None
    return arms


def _arm(spec: object) -> ExperimentArm:
    name, share, texts = take(spec, "an arm of an experiment", _KEYS)
    return ExperimentArm(
        text_of(name, "an arm of an experiment", "name"), integer(share, "an arm of an experiment", "share"), texts
    )
