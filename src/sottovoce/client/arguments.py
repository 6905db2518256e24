"""Arguments of the verbs that run on the bare install."""

from __future__ import annotations

import argparse
from typing import NoReturn

from sottovoce.core.errors import ParameterError


class SentenceParser(argparse.ArgumentParser):
    """Fails with one sentence, without the arguments: a misplaced one may be the private answer."""

    def __init__(self, verb: str, takes: str, description: str) -> None:
        super().__init__(prog=f"sottovoce {verb}", description=description)
        self._sentence = f"Invalid arguments. The arguments of {verb} are {takes}."

    def error(self, message: str) -> NoReturn:
        raise ParameterError(self._sentence)
