"""How the app reads its arguments: each option once, and complaints that repeat none of them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from sottovoce.cli.help.groups import ORDER, did_you_mean, examples, group_of
from sottovoce.core.errors import ParameterError, PluginWarning

CommandError: type[Exception] = typer.BadParameter.__mro__[
    2
]  # ClickException, of the click that this typer brings or uses


class Verbs(TyperGroup):
    """Commands by task, each with an example in its help.

    An option that takes one value is refused where it is given twice: one of the two would be ignored.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(self.commands, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command: Any = super().get_command(ctx, cmd_name)
        if command is not None:
            command.rich_help_panel = group_of(cmd_name)
            lines = [f"sottovoce {line}" for line in examples(cmd_name)]
            command.epilog = "\n\n".join([f"Example{'s' * (len(lines) > 1)}:", *lines]) if lines else None
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        if args[0] not in self.commands and not args[0].startswith("-"):
            place = "The first argument is" if ctx.parent is None else f"The argument after {ctx.info_name} is"
            hint = did_you_mean(args[0], list(self.commands)) or " `sottovoce --help` lists them."
            raise ParameterError(f"{place} not one of the commands.{hint}")
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing:  # as it is while a shell completes a line
            inner = type(ctx)(command, info_name=name, parent=ctx, **command.context_settings)
            options = command.make_parser(inner).parse_args(args=list(rest))[2]
            for option in options:
                if options.count(option) > 1 and not option.multiple and not getattr(option, "is_flag", False):
                    raise ParameterError(f"The option {option.opts[0]} takes one value and is given twice.")
        return name, command, rest


def complaint(problem: Exception) -> str:
    """Say what is wrong with the arguments, without repeating them: one may be a misplaced answer."""
    kind, parameter, context = type(problem).__name__, getattr(problem, "param", None), getattr(problem, "ctx", None)
    if parameter is not None:
        name = parameter.opts[0] if parameter.opts[0].startswith("-") else parameter.metavar or parameter.name.upper()
        wrong = (
            f"{name} is missing" if kind == "MissingParameter" else f"The value of {name} must be {_range(parameter)}"
        )
        return f"{wrong}; see --help."
    if kind == "BadOptionUsage":
        return "An option lacks its value, or has a value and takes none; see --help."
    if context is None or context.parent is None:
        return "The first argument is not one of the commands; see --help."
    verb = f"sottovoce {context.info_name}"
    if kind == "NoSuchOption":
        known = [name for parameter in context.command.params for name in parameter.opts if name.startswith("--")]
        hint = did_you_mean(getattr(problem, "option_name", ""), known)
        return f"The arguments of {verb} have an unknown option.{hint or f' `{verb} --help` lists them.'}"
    return f"The arguments of {verb} have one too many; see --help."


def _range(parameter: Any) -> str:
    """The valid range of a number, which versions of typer store in different places."""
    low, high = (
        getattr(parameter, end, getattr(getattr(parameter, "type", None), end, None)) for end in ("min", "max")
    )
    ends = [f"from {low}"] * (low is not None) + [f"up to {high}"] * (high is not None)
    kind = "a whole number" if "int" in str(getattr(getattr(parameter, "type", None), "name", "")) else "a number"
    return " ".join([kind, *ends])


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
