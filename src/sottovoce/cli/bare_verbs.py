"""The verbs that run on the bare install, and what runs them."""

from __future__ import annotations

from collections.abc import Sequence

STUDY = "cli.studies.explain:main"
BARE = {"answer": "client.command:main", "device": "client.command:device", "explain": "privacy.explain:main"}


def bare_target(verb: str, arguments: Sequence[str]) -> str:
    """What runs a verb of the bare install; `explain` of a study or a manifest needs the extra `analysis`."""
    about_a_study = any(one.lower().endswith((".toml", ".json")) for one in arguments)
    return STUDY if verb == "explain" and about_a_study else BARE[verb]
