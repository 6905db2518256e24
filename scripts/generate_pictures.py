"""Writes docs/pictures: plots of estimates, and what a notebook shows of objects. `python scripts/generate_pictures.py`

The noise comes from seeds, so the pictures are the same every time.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

import sottovoce as sv

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
SETTINGS = {"svg.hashsalt": "sottovoce", "svg.fonttype": "none", "font.family": "sans-serif"}
STYLE = (
    "body{margin:12px;font:14px sans-serif;color:#222;background:#fff}table{border-collapse:collapse;margin:6px 0}"
    "th,td{padding:3px 10px;border-bottom:1px solid #ddd;vertical-align:top}p{margin:6px 0}"
)
ROW, LINE, WIDTH = 25, 24, 720  # pixels of a row of a table, of a line of text, and of the picture
LINE_LENGTH = 95  # characters

SLEEP = sv.Categories(["lark", "owl", "neither"])
BODY = sv.Pair(sv.Categories(["18-39", "40-64", "65 and over"]), sv.Interval(10, 60))


def sleepers() -> sv.Estimate:
    """Shares of three sleepers, of 20,000 people."""
    m = sv.mechanism("grr", SLEEP, epsilon=1)
    answers = np.repeat(["lark", "owl", "neither"], [5000, 9000, 6000])
    return estimated(m, answers)


def hours() -> sv.Estimate:
    """The mean of hours slept, of 20,000 people."""
    return estimated(
        sv.mechanism("nprr", sv.Interval(0, 14), epsilon=1), generator().normal(7, 1.2, 20_000).clip(0, 14)
    )


def bodies() -> sv.Estimate:
    """Body mass by age group, both private, of 60,000 people."""
    rng = generator()
    groups = rng.choice(BODY.group.values, 60_000, p=[0.4, 0.35, 0.25])
    middle = np.select([groups == name for name in BODY.group.values], [24.5, 27.0, 26.5])
    values = rng.normal(middle, 4).clip(10, 60)
    return estimated(
        sv.mechanism("group-nprr", BODY, epsilon=3), list(zip(groups.tolist(), values.tolist(), strict=True))
    )


def times_of_sleep() -> tuple[sv.Estimate, np.ndarray]:
    """Hours of sleep of 100,000 people, of whom a part sleeps in shifts, and the truth."""
    rng = generator()
    answers = np.where(rng.random(100_000) < 0.8, rng.normal(7.5, 0.9, 100_000), rng.normal(4.5, 0.6, 100_000))
    answers = answers.clip(0, 12)
    m = sv.mechanism("hierarchy", sv.Interval(0, 12), epsilon=1, buckets=64)
    return m.estimate(m.tally(m.privatize(answers, seed=1)), decoder="admm"), answers


def smoking() -> Any:
    """The people of docs/guides/cross-tables.md, so that pictures and printed numbers are the same."""
    rng, people = generator(), []
    ages, habits = ["18-39", "40-64", "65+"], ["never", "used to", "smokes"]
    record = sv.Record({"age": sv.Categories(ages), "smoker": sv.Categories(habits), "sex": sv.Categories(["f", "m"])})
    for _ in range(60_000):
        age = rng.choice(ages, p=[0.35, 0.4, 0.25])
        smokes = dict(zip(ages, [0.28, 0.22, 0.09], strict=True))[age]
        smoker = rng.choice(habits, p=[0.7 - 0.7 * smokes, 0.3 - 0.3 * smokes, smokes])
        people.append({"age": str(age), "smoker": str(smoker), "sex": str(rng.choice(["f", "m"]))})
    return sv.simulate(sv.TableViews(record, sv.Joint(record, ways=2).tables, 2), people, seed=1)["tables"]


def generator() -> np.random.Generator:
    return np.random.default_rng(1)


def estimated(m: sv.Mechanism, answers: Any) -> sv.Estimate:
    found: sv.Estimate = m.estimate(m.tally(m.privatize(answers, seed=1)))
    return found


def pictures() -> dict[str, str]:
    """The text of each picture, by its name."""
    matplotlib.use("Agg")
    shares, groups = sleepers(), bodies()
    plan = sv.plan(sv.Frequency(SLEEP), epsilon=1, half_width="0.02")
    return {
        "plot-shares": drawn(shares),
        "plot-mean": drawn(hours()),
        "plot-distribution": drawn_with_truth(*times_of_sleep()),
        "plot-groups": drawn(groups),
        "plot-pairs": drawn(groups.all_pairs()),
        "plot-table": drawn(smoked := smoking().table("age", "smoker")),
        "plot-mosaic": drawn(smoked.shares_within("age")),
        "notebook-mechanism": shown(shares.mechanism),
        "notebook-estimate": shown(shares),
        "notebook-plan": shown(plan),
        "notebook-certificate": shown(sv.audit(shares.mechanism)),
    }


def drawn(found: Any) -> str:
    """A plot as SVG."""
    with matplotlib.rc_context(SETTINGS):
        return _svg(found.plot().figure)


def drawn_with_truth(found: sv.Estimate, answers: np.ndarray) -> str:
    """The plot of a distribution, with the share of the answers up to each value."""
    with matplotlib.rc_context(SETTINGS):
        axes = found.plot()
        grid = np.linspace(0, 12, 241)
        truth = np.searchsorted(np.sort(answers), grid, side="right") / len(answers)
        axes.plot(grid, truth, color="black", linestyle="--", linewidth=1, label="truth")
        axes.legend(loc="lower right")
        return _svg(axes.figure)


def _svg(figure: Any) -> str:
    """Without a date, and with the same identifiers every time."""
    with matplotlib.rc_context(SETTINGS), io.StringIO() as file:
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)
        return re.sub(r"[ \t]+$", "", file.getvalue(), flags=re.MULTILINE)


def shown(found: Any) -> str:
    """What a notebook shows of an object: its own HTML, inside an SVG."""
    html = found._repr_html_()
    sentences = [re.sub(r"<[^>]+>", "", text) for text in re.findall(r"<p>.*?</p>", html)]
    height = 40 + ROW * html.count("<tr>") + sum(LINE * (1 + len(text) // LINE_LENGTH) for text in sentences)
    page = f'<body xmlns="http://www.w3.org/1999/xhtml"><style>{STYLE}</style>{html}</body>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">'
        f'<rect width="100%" height="100%" fill="#fff"/>'
        f'<foreignObject width="100%" height="100%">{page}</foreignObject></svg>\n'
    )


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (FOLDER / f"{name}.svg").write_text(text, encoding="utf-8")
