"""Whether two checkouts give the same estimates, to the bit: `python -m scripts.same_numbers FOLDER`.

Each mechanism of the registry is tried on a few domains with seeded reports. Compared are the table, the intervals and
warnings of all methods for both targets, and what a distribution answers.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
PEOPLE, SEED = 3_000, 3
ASKED: dict[str, Any] = {"cdf": (4,), "quantile": ([0.25, 0.5],), "range": (2, 7), "mean": (), "variance": ()}


def _domains(sv: Any) -> Iterator[tuple[Any, Any]]:
    """Domains, each with answers."""
    drawn = np.random.default_rng(1)
    yield sv.Integers(0, 9), drawn.integers(0, 10, PEOPLE)
    yield sv.Categories(list("abcd")), drawn.choice(list("abcd"), PEOPLE)
    yield sv.Categories(["yes", "no"]), drawn.choice(["yes", "no"], PEOPLE)
    yield sv.Interval(0, 100), np.round(drawn.beta(2, 5, PEOPLE) * 100, 1)
    groups = drawn.choice(list("xyz"), PEOPLE)
    yield sv.Pair(sv.Categories(list("xyz")), sv.Interval(0, 10)), (groups, np.round(drawn.beta(2, 3, PEOPLE) * 10, 1))


def _said(call: Callable[[], object]) -> str:
    """A result as a text; of an error its sentence."""
    try:
        result = call()
    except Exception as problem:  # the same error is the same behaviour
        return f"{type(problem).__name__}: {problem}"
    return json.dumps(result, default=str, sort_keys=True)


def _shown(estimate: Any) -> str:
    """All numbers of an estimate."""
    texts = [_said(estimate.to_dict), _said(lambda: estimate.to_frame().to_csv())]
    for method in map(str, estimate.evidence.methods):
        for target in ("population", "sample"):
            low_high = _said(lambda m=method, t=target: [end.tolist() for end in estimate.ci(0.9, method=m, target=t)])
            texts += [low_high, _said(lambda m=method: estimate.doubt(0.9, method=m))]
    return "\n".join(texts)


def digests(sv: Any) -> dict[str, str]:
    """A digest of the estimate of each mechanism and domain that fit each other."""
    from sottovoce.core.errors import SottovoceError

    known: dict[str, str] = {}
    for number, (domain, answers) in enumerate(_domains(sv)):
        for name in sv.names():
            try:
                mechanism = sv.mechanism(name, domain, epsilon=1)
                estimate = mechanism.estimate(mechanism.tally(mechanism.privatize(answers, seed=SEED)))
            except SottovoceError:
                continue
            others = (_said(lambda e=estimate, a=asked: getattr(e, a)(*ASKED[a]).to_dict()) for asked in ASKED)
            known[f"{name} {number}"] = hashlib.sha256("\n".join([_shown(estimate), *others]).encode()).hexdigest()
    return known


def main() -> None:
    """Compare with another checkout; with `--print` only print the digests of one."""
    source = str((Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT) / "src")
    if "--print" in sys.argv:
        sys.path.insert(0, source)
        import sottovoce as sv

        if not str(sv.__file__).startswith(source):
            raise SystemExit(f"The package was loaded from {sv.__file__}, not from {source}.")
        warnings.simplefilter("ignore")
        print(json.dumps(digests(sv)))
        return
    texts = [
        subprocess.run([sys.executable, __file__, folder, "--print"], check=True, capture_output=True, text=True).stdout
        for folder in (str(ROOT), sys.argv[1])
    ]
    ours, theirs = (json.loads(text.splitlines()[-1]) for text in texts)
    different = sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))
    print(f"{len(ours)} estimates, {len(different)} of them different{': ' * bool(different)}{', '.join(different)}")


if __name__ == "__main__":
    main()
