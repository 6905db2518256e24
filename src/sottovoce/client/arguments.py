"""Arguments of the verbs that run on the bare install."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from sottovoce.core.errors import ParameterError


class _Once(argparse.Action):
    """Stores a value. A second one is an error: of two limits the last would win."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: str | None = None) -> None:
        seen = namespace.__dict__.setdefault("options seen", set())
        if option is not None and self.dest in seen:
            raise ParameterError(f"{parser.prog} takes each option once; one is given twice.")
        seen.add(self.dest)
        setattr(namespace, self.dest, values)


class SentenceParser(argparse.ArgumentParser):
    """Fails with one sentence, without the arguments: a misplaced one may be the private answer."""

    def __init__(self, verb: str, takes: str, description: str) -> None:
        super().__init__(prog=f"sottovoce {verb}", description=description)
        self._sentence = f"Invalid arguments. The arguments of {verb} are {takes}."

        self.register("action", None, _Once)

    def error(self, message: str) -> NoReturn:
        raise ParameterError(self._sentence)
