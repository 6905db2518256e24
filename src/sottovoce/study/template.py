"""The study file that `sottovoce study new` writes: every key with a comment."""

from __future__ import annotations

import json
from collections.abc import Mapping

TEMPLATE = """\
# A study: what is asked, of whom, why, and with which privacy budget.
# Check it with `sottovoce study check`, plan it with `sottovoce plan FILE --participants 50000`.

[study]
name = {name}  # short: small letters, digits, hyphens
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

# Every question is asked of a part of the participants, with the whole epsilon.
[questions.hours]
ask = "mean"  # or frequency, variance, group-mean, distribution, range, quantile
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
"""
DEFAULTS = {
    "name": "my-study",
    "owner": "Who is responsible",
    "contact": "privacy@example.org",
    "purpose": "What the answers are for, in a sentence.",
    "unit": "person",
    "epsilon": "1",
}


def filled(template: str, answers: Mapping[str, str]) -> str:
    """The template with answers as TOML texts; defaults where there is none."""
    values = {**DEFAULTS, **answers}
    for key, value in values.items():
        template = template.replace("{" + key + "}", json.dumps(value, ensure_ascii=False))
    return template
