"""What each key of a study file means: [table][key] for the generated page. A key without a text fails a test."""

from __future__ import annotations

STUDY = {
    "name": 'Short name of the study: small letters, digits, hyphens, such as `"sleep-2027"`. Required.',
    "title": "What people read instead of the name: a text, or a table by language.",
    "owner": "Who is responsible. Required.",
    "contact": "Data-protection officer: a mail address, or a page with `https://`. Required.",
    "purpose": "What the answers are for, in a sentence that participants read. Required.",
    "analysts": "Who sees the noisy reports and the estimates.",
    "start": "First day on which reports are accepted, such as `2027-01-01`, without quotes.",
    "end": "Last day on which reports are accepted.",
    "unit": 'What the budget protects: `"person"`, `"device"` or `"event"`. Required.',
    "epsilon": 'Privacy budget of one participation, such as `"1"`. Required.',
    "lifetime": "For events only: the most that all reports of one device lose together.",
    "languages": 'Languages of the texts, such as `["en", "de"]`; `["en"]` if left out.',
    "participants": "How many people you expect; `plan`, `simulate`, `dossier` and `serve` use it.",
    "stratum": "The stratum that this file is served for. `sottovoce serve` writes it; leave it out.",
}
QUESTION = {
    "ask": "Kind of the question. Required; see the table below.",
    "text": "What participants read: a text, or a table by language. Required, unless there is an `attribute`.",
    "missing": 'Reasons for giving no answer, such as `["don\'t know"]`. They get noise like every answer.',
    "share": "How often the question is reported, compared with the others: 2 means twice as often.",
    "unit": 'Unit of the numbers, such as `"hours"`: a text, or a table by language.',
    "labels": 'Answers, and names of attributes of tables, in words of each language: `{ de = { yes = "ja" } }`.',
    "attribute": "Name of another question, whose answer this question is about. Participants answer once.",
    "low": "Smallest possible answer. Never taken from the data, since that would reveal them.",
    "high": "Largest possible answer. The noise of a mean grows with the length of the range.",
    "whole": "`true` where answers are whole numbers.",
    "step": "Distance between possible answers, such as `0.5` for half hours.",
    "categories": "Possible answers, as a list.",
    "items": "For `set-shares` and `key-means`: what a participant may tick, as a list. For `ranking`: what is ranked.",
    "most": "For `set-shares` and `key-means`: the largest number of items in one answer; all of them if left out.",
    "by": 'Groups, as a list; the participant\'s group is private too. All kinds but `"variance"` take it.',
    "by_text": "What participants read above the groups: a text, or a table by language.",
    "quantiles": "Which quantiles, such as `[0.25, 0.5, 0.75]`.",
    "rounds": "For quantiles: `true` asks in five rounds, one after another, which is more precise.",
    "points": "Values up to which the share of answers is estimated, such as `[2, 5]`.",
    "from": "Lower end of the range whose share is estimated.",
    "to": "Upper end of the range whose share is estimated.",
    "period": "Length of the circle, such as `24` for times of day.",
    "attributes": "For `table` and `boxes`: what is asked, each as a table `[questions.NAME.attributes.ATTRIBUTE]`.",
    "ways": "For `table`: how many attributes each table crosses, 2 if left out; all such tables are estimated.",
    "tables": 'For `table`, instead of `ways`: the tables by their attributes, such as `[["age", "smoker"]]`.',
    "buckets": "Number of buckets of a distribution, or of each number of `boxes`; chosen by sottovoce if left out.",
    "boxes": 'For `boxes`: what results list, such as `[{ age = [16, 39], sex = "f" }]`; both ends are included.',
}
ATTRIBUTE = {
    "text": "What participants read: a text, or a table by language. Required.",
    "categories": "Possible answers, as a list.",
    "bins": "Where intervals of a number begin, such as `[40, 65]`, or how many. The device keeps the interval.",
    "low": "Smallest possible number.",
    "high": "Largest possible number.",
    "whole": "`true` where numbers are whole; up to 100 of them need no `bins`.",
    "step": "Distance between possible numbers.",
}
REPEAT = {
    "every": 'Time from one wave to the next: `"day"`, `"week"`, `"4 weeks"` or a number of days. Required.',
    "waves": "How many waves there are. Required; the study ends with the last one.",
    "guarantee": 'What `epsilon` protects: a `"report"`, all reports of a `"window"`, or the `"sequence"`. Required.',
    "window": 'For `guarantee = "window"`: a person answers once in any so many waves in a row.',
}
POPULATION = {
    "law": "`normal`, `uniform`, `lognormal`, `exponential` or `beta`, kept to the range of the question.",
    "shares": "Share of each category, as a table or a list; answers that are left out share the rest.",
    "missing": "Share of people who give a reason instead of an answer.",
    "within": "Expected shares within each group, for shares with `by`: a table by group, or one table for all.",
    "mean": "Mean of a normal or exponential law.",
    "sd": "Standard deviation of a normal law.",
    "median": "Median of a lognormal law.",
    "sigma": "Standard deviation of the logarithm, for a lognormal law.",
    "a": "First parameter of a beta law.",
    "b": "Second parameter of a beta law.",
}
COLLECTION = {
    "epoch_days": "Days of an epoch, the only time that travels with a report (none with sealed ones); 1 if left out.",
    "invitations": "`true` if every report needs an invitation, each good for one report.",
    "sealed_for": "Public key of the collector, where reports go through a shuffler.",
    "batch": "Fewest reports that the shuffler forwards at once.",
    "ask_all": "`true` if participants answer all questions; otherwise the device draws one and asks only that.",
}
KINDS = {
    "mean": "the mean of a number",
    "variance": "the variance of a number",
    "frequency": "the share of each answer",
    "set-shares": "tick all that apply: the share of each item, and how many items people tick",
    "ranking": "put a list in order: the mean place of each item",
    "key-means": "tick what applies and give each a number: the mean of each item, and who ticked it",
    "group-mean": "the mean of a number in each group",
    "distribution": "the share of each bucket, and shares up to each value",
    "median": "the value below which half of the answers lie",
    "quantile": "values below which given shares of the answers lie",
    "cdf": "the share of answers up to each point",
    "within-groups": "written as another kind with `by`: its numbers within each group, and their differences",
    "circular-mean": "the mean direction, such as of a time of day; needs a population",
    "range": "the share of answers from one value to another",
    "boxes": "shares of boxes: ranges of several numbers or ordered categories of a person at once",
    "table": "cross tables: the share of each combination of answers to two or more attributes",
}
EXPERIMENT = {
    "share": "How many people are in the arm, compared with the others: 2 means twice as many; 1 if left out.",
    "text": "What people in the arm read above the question: a text, or a table by language. At least one arm has one.",
    "population": "Expected answers in the arm where they differ: a table `[experiment.NAME.population.QUESTION]`.",
}
STRATA = {
    "people": "How many people the stratum has in the population; for a cluster how many people it stands for.",
    "cluster_of": "The stratum from which this one was drawn, where all tables are clusters such as schools.",
    "margins": "In place of `people`: public variables, each with the category of the stratum and its people.",
    "label": "What participants read instead of the name: a text, or a table by language.",
}
