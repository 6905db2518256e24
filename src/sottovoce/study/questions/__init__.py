"""Questions as studies ask them: one module for each kind, found by its name.

The kind group-mean is `StudyGroupMean` of `group_mean.py`. A kind without a module has the defaults of `StudyQuestion`.
"""

from __future__ import annotations

import pkgutil
from functools import cache

from sottovoce.core.asked import Asked
from sottovoce.core.late import load
from sottovoce.core.question import QUESTIONS, Question, question_class
from sottovoce.study.questions.base import StudyQuestion


def study_question(asked: Asked) -> StudyQuestion:
    """A question of a study, with all that its kind does in studies."""
    return study_class(type(asked.question))(asked)


@cache
def study_class(question: type[Question]) -> type[StudyQuestion]:
    """What a kind of question does in studies."""
    module = question.kind.replace("-", "_")
    if module not in {one.name for one in pkgutil.iter_modules(__path__)}:
        return StudyQuestion
    own: type[StudyQuestion] = load(f"study.questions.{module}:Study{question.__name__}")
    return own


def file_kinds() -> dict[str, type[StudyQuestion]]:
    """The kinds that a study file can ask."""
    known = {kind: study_class(question_class(kind)) for kind in QUESTIONS}
    return {kind: own for kind, own in known.items() if own.keys}


def file_words() -> list[str]:
    """The words that a study file may write as `ask`."""
    return [own.word or kind for kind, own in file_kinds().items() if not own.is_form]
