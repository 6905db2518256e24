"""The commands by task, with examples: the order of help, of the bare install's help and of the reference pages."""

from __future__ import annotations

from sottovoce.core.language.spelling import nearest

GROUPS: dict[str, dict[str, tuple[str, ...]]] = {
    "Start": {
        "demo": ("demo", "demo --collector"),
        "explain": ("explain 1", "explain sleep.toml --participants 3000"),
    },
    "Run a study": {
        "study": ("study new sleep.toml", "study check sleep.toml"),
        "plan": (
            'plan sleep.toml --goal "smoker +- 2 points"',
            "plan mean --low 0 --high 24 --epsilon 1 --std-error 0.1",
            "plan median --low 0 --high 24 --epsilon 1 --participants 3000",
        ),
        "simulate": ("simulate sleep.toml --participants 3000 -o simulated",),
        "dossier": ("dossier sleep.toml --participants 3000 -o dossier",),
        "serve": ("serve sleep.toml",),
        "status": ("status sleep.sqlite",),
        "export": ("export sleep.sqlite -o results",),
        "report": ("report sleep.sqlite -o report.html --pdf", "report sleep.toml --participants 3000 -o report.html"),
        "close": ("close sleep.sqlite",),
    },
    "Operate a collector": {
        "invite": ("invite sleep.sqlite --count 500 -o invitations.txt",),
        "token": ("token sleep.sqlite --name monitoring --scope read",),
        "backup": ("backup sleep.sqlite -o copy.sqlite",),
        "restore": ("restore copy.sqlite --store postgresql://collector@localhost/sleep",),
        "shuffle": ("shuffle --new-key collector.key", "shuffle https://collector.example"),
    },
    "Work with files": {
        "privatize": ("privatize people.csv --column city --categories Rome,Milan --epsilon 1 -o reports.parquet",),
        "tally": ("tally reports.parquet -o city.tally", "tally --spec city.json --sql duckdb"),
        "estimate": ("estimate city.tally",),
        "compare": ("compare new.tally old.tally",),
    },
    "Take part": {
        "answer": ("answer https://collector.example/v1/studies/ID --device me.sqlite",),
        "device": ("device me.sqlite",),
    },
    "Check and reproduce": {
        "methods": ("methods",),
        "audit": ("audit --name grr", "audit --timing --name grr"),
        "audit-program": ("audit-program --claimed 1 --value yes --value no -- ./program {value} {count}",),
        "reproduce": ("reproduce group-table-3 --quick",),
        "bench": ("bench",),
        "chaos": ("chaos --kills 5",),
    },
}
ORDER = [command for commands in GROUPS.values() for command in commands]
SUBCOMMANDS = {"new": ("study new sleep.toml",), "check": ("study check sleep.toml",)}


def examples(command: str) -> tuple[str, ...]:
    """Lines that show how a command is called, without the name of the program."""
    return next((listed[command] for listed in GROUPS.values() if command in listed), SUBCOMMANDS.get(command, ()))


def group_of(command: str) -> str | None:
    """The title of the group that a command belongs to."""
    return next((title for title, listed in GROUPS.items() if command in listed), None)


def did_you_mean(word: str, known: list[str]) -> str:
    """A sentence that names the nearest known word, or an empty text. It never repeats what was typed."""
    near = nearest(word, known)
    return f" Did you mean {near}?" if near else ""
