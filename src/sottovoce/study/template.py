"""The study file that `sottovoce study new` writes: every key with a comment."""

from __future__ import annotations

import json
from collections.abc import Mapping

from sottovoce.core.question import Mean
from sottovoce.study.question_tables import SHORT_FORMS
from sottovoce.study.questions import file_words

TEMPLATE = """\
# A study: what is asked, of whom, why, and with which privacy budget.
# Check it with `sottovoce study check`, plan it with `sottovoce plan FILE`, try it with `sottovoce simulate FILE`.

[study]
name = {name}  # short: small letters, digits, hyphens
title = {title}  # what people read; in several languages: { en = "...", de = "..." }, as purpose and unit
owner = {owner}  # who is responsible
contact = {contact}  # data-protection officer: mail, or a page with https://
purpose = {purpose}
analysts = ""  # who sees the noisy reports and the estimates
# start = 2027-01-01
# end = 2027-03-31
unit = {unit}  # what the budget protects: person, device or event
epsilon = {epsilon}  # of one participation: smaller is more private, larger is more accurate
# lifetime = "5"  # only for events: the most that all reports of one device lose together
languages = ["en"]
participants = 10000  # how many people you expect; `plan`, `simulate`, `dossier` and `serve` use it

# Every question is asked of a part of the participants, with the whole epsilon.
[questions.hours]
ask = "mean"  # or {kinds}
text = "How many hours did you sleep last night?"
low = 0  # never taken from the data: that would reveal them
high = 14
# whole = true  # where answers are whole numbers
missing = ["don't know", "refused"]  # answers like any other, and noised like any other
unit = "hours"

[questions.smoker]
ask = "frequency"
text = "Do you smoke?"
categories = ["yes", "no"]
# share = 2  # asked of twice as many participants as the others

# [questions.weight]
# ask = "group-mean"
# text = "What do you weigh, in kilograms?"
# by = ["f", "m", "d"]
# low = 30
# high = 250

# The answers that you expect, for `plan` and `simulate`. They are never taken from the answers of the study.
[population.hours]
law = "normal"  # or uniform, lognormal, exponential, beta
mean = 7
sd = 1.5
missing = 0.05  # the share of those who give a reason instead

[population.smoker]
shares = { yes = 0.2 }  # answers that are left out share the rest
"""
DEFAULTS = {
    "name": "my-study",
    "title": "My study",
    "owner": "Who is responsible",
    "contact": "privacy@example.org",
    "purpose": "What the answers are for, in a sentence.",
    "unit": "person",
    "epsilon": "1",
}


def filled(template: str, answers: Mapping[str, str]) -> str:
    """The template with answers as TOML texts; defaults where there is none."""
    values = {**DEFAULTS, **answers}
    template = template.replace(
        "{kinds}", ", ".join(kind for kind in [*file_words(), *SHORT_FORMS] if kind != Mean.kind)
    )
    for key, value in values.items():
        template = template.replace("{" + key + "}", json.dumps(value, ensure_ascii=False))
    return template
