"""Help where the extra `analysis` is not installed: the commands are read from the source of the app, not imported."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

from sottovoce.core.errors import MissingExtraError

NEEDED = ("typer", "rich")
INSTALL = "pip install 'sottovoce[analysis]'"


def is_bare() -> bool:
    """Whether the packages that print help are missing."""
    try:
        return any(find_spec(package) is None for package in NEEDED)
    except ValueError:  # a module that is set to None in sys.modules
        return True


def commands() -> dict[str, str]:
    """The first sentence of every command of the app."""
    tree = ast.parse((Path(__file__).parent / "app.py").read_text(encoding="utf-8"))
    sentences: dict[str, str] = {}
    for node in tree.body:
        # A group of commands: its name is that of the variable.
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            words = {one.arg: one.value for one in node.value.keywords}
            if ast.unparse(node.value.func) == "typer.Typer" and (name := ast.unparse(node.targets[0])) != "app":
                sentences[name] = ast.literal_eval(words["help"])
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        for call in function.decorator_list:
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "app.command":
                name = ast.literal_eval(call.args[0]) if call.args else function.name
                sentences[name] = (ast.get_docstring(function) or "").partition("\n")[0]
    for file in ("collector/verbs.py", "studies/verbs.py", "checking.py"):
        more = ast.parse((Path(__file__).parent / file).read_text(encoding="utf-8"))
        for verb in (node for node in more.body if isinstance(node, ast.FunctionDef)):
            if not verb.name.startswith("_"):
                sentences[verb.name.replace("_", "-")] = (ast.get_docstring(verb) or "").partition("\n")[0]
    return sentences


def help_text(bare: dict[str, str], verb: str | None = None) -> str:
    """All commands, or one of them; `bare` holds those that need no extra."""
    known = commands()
    if verb is not None:
        if verb not in known:
            raise MissingExtraError(f"The other commands and their options need more packages: {INSTALL}.")
        return f"sottovoce {verb}: {known[verb]}\nIts options are shown when it is installed: {INSTALL}."
    lines = ["Usage: sottovoce COMMAND ...", "", "Here, with nothing but Python:"]
    width = max(map(len, known))
    lines += [f"  {name:{width}}  {text}" for name, text in known.items() if name in bare]
    lines += ["", f"After {INSTALL}:"]
    lines += [f"  {name:{width}}  {text}" for name, text in known.items() if name not in bare]
    return "\n".join([*lines, "", "sottovoce COMMAND --help shows the options, sottovoce --version the version."])
