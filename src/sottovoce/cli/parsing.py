"""How the app reads its arguments: each option once, and complaints that repeat none of them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from sottovoce.core.errors import ParameterError, PluginWarning

CommandError: type[Exception] = typer.BadParameter.__mro__[
    2
]  # ClickException, of the click that this typer brings or uses


class Verbs(TyperGroup):
    """The verbs. An option that takes one value is refused where it is given twice: one of the two would be ignored."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing:  # as it is while a shell completes a line
            inner = type(ctx)(command, info_name=name, parent=ctx, **command.context_settings)
            options = command.make_parser(inner).parse_args(args=list(rest))[2]
            for option in options:
                if options.count(option) > 1 and not option.multiple and not getattr(option, "is_flag", False):
                    raise ParameterError(f"The option {option.opts[0]} takes one value and is given twice.")
        return name, command, rest


def complaint(problem: Exception) -> str:
    """What is wrong with the arguments, without repeating any of them: it may be a misplaced answer."""
    kind, parameter, context = type(problem).__name__, getattr(problem, "param", None), getattr(problem, "ctx", None)
    if parameter is not None:
        name = parameter.opts[0] if parameter.opts[0].startswith("-") else parameter.metavar or parameter.name.upper()
        return (
            f"{name} is missing" if kind == "MissingParameter" else f"The value of {name} must be {_range(parameter)}"
        )
    if kind == "BadOptionUsage":
        return "An option lacks its value, or has a value and takes none"
    if context is None or context.parent is None:
        return "The first argument is not one of the commands"
    wrong = "an unknown option" if kind == "NoSuchOption" else "one too many"
    return f"The arguments of sottovoce {context.info_name} have {wrong}"


def _range(parameter: Any) -> str:
    """The valid range of a number, which versions of typer store in different places."""
    low, high = (
        getattr(parameter, end, getattr(getattr(parameter, "type", None), end, None)) for end in ("min", "max")
    )
    ends = [f"from {low}"] * (low is not None) + [f"up to {high}"] * (high is not None)
    return " ".join(["a number of its type", *ends])


@contextmanager
def plugins_in_one_sentence() -> Iterator[None]:
    """A mechanism of another distribution that is left out is one line, like everything that is said."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, PluginWarning):
            print(f"sottovoce: {message}", file=sys.stderr)
        else:
            usual(message, category, *place, **more)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = usual
