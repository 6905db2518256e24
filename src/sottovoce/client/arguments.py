"""Arguments of the verbs that run on the bare install."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Sequence
from typing import Any, NoReturn

from sottovoce.core.errors import ParameterError
from sottovoce.core.language.spelling import nearest


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

    def __init__(self, verb: str, takes: str, description: str, examples: Sequence[str] = (), more: str = "") -> None:
        shown = ["Examples:", *(f"  sottovoce {line}" for line in examples), *([""] * bool(more)), more]
        super().__init__(
            prog=f"sottovoce {verb}",
            description=textwrap.fill(description, 100),
            epilog="\n".join(shown),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self._sentence = f"Invalid arguments. The arguments of {verb} are {takes}."
        self._hint = ""
        self.register("action", None, _Once)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        known = [option for option in self._option_string_actions if option.startswith("--")]
        written = [word.partition("=")[0] for word in args or () if word.startswith("--")]
        unknown = [word for word in written if not any(option.startswith(word) for option in known)]
        near = nearest(unknown[0], known) if unknown else ""
        self._hint = f"There is an unknown option. Did you mean {near}? " if near else ""
        return super().parse_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Name the option whose value is invalid, which is one of ours; never what was typed."""
        option = re.match(r"argument (?:-\w/)?(--[\w-]+): (invalid|expected)", message)
        fault = f"The value of {option[1]} is missing or invalid. " if option else self._hint
        raise ParameterError(f"{fault}{self._sentence}")
