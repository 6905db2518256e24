"""The bill of materials: which software computes the plan and the estimates, in CycloneDX form."""

from __future__ import annotations

import re
from importlib import metadata
from typing import Any

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def bill_of_materials(root: str = "sottovoce") -> dict[str, Any]:
    """The package and everything installed that it needs, with versions."""
    versions: dict[str, str] = {}
    waiting = [root]
    while waiting:
        name = waiting.pop()
        if _plain(name) in versions:
            continue
        try:
            dist = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # an extra that is not installed
        versions[_plain(name)] = dist.version
        for need in dist.requires or ():
            match = _NAME.match(need)
            marker = need.partition(";")[2]
            wanted = "extra" not in marker or (_plain(name) == root and "dev" not in marker)
            if match and wanted:
                waiting.append(match[0])
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "components": [
            {"type": "library", "name": name, "version": version, "purl": f"pkg:pypi/{name}@{version}"}
            for name, version in sorted(versions.items())
        ],
    }


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
