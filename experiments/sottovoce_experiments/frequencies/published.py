"""The page that shows measured errors of frequency oracles: `docs/results/shares.md`."""

from __future__ import annotations

from sottovoce_experiments.page import Page

PAGE = Page(
    "results/shares.md",
    """\
# Frequency oracles, measured

Written by `sottovoce reproduce ID --pages docs`, section by section: the planner's choice, compression, and candidate
words. The figures of the overview and the tables of the survey are on the [pages of the papers](papers/index.md). Times
depend on the machine; all else comes out the same for the same seed.
""",
)
