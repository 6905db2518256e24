"""The page of the documentation that shows what was measured about cross tables."""

from __future__ import annotations

from sottovoce_experiments.page import Page

PAGE = Page(
    "results/tables.md",
    """\
# Cross tables, measured

How far the tables of several methods are from the truth on public records, and how often intervals hold it. The error
of a table is the sum of the absolute errors of its cells: 0 is perfect, and 2 is the worst. Each section is written by
`sottovoce reproduce NAME --pages docs`; it needs the data sets that are named in [Results](index.md).
[Cross tables](../guides/cross-tables.md) shows how to ask.
""",
)
