"""Every kind of mistake in a study file is a sentence with its line and a remedy."""

from dataclasses import replace

import pytest

import sottovoce as sv
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.question import Question
from sottovoce.study.dossier.consent import consent_page
from sottovoce.study.reading import StudyFileError, check_study, parse_study, read_study
from sottovoce.study.study_plan import plan_study
from tests.each import for_each

GOOD = """\
# A study about sleep
[study]
name = "sleep-2027"
owner = "Institute of Sleep"
contact = "privacy@example.org"
purpose = "How long people sleep, and whether they smoke."
analysts = "Two statisticians of the institute"
start = 2027-01-01
end = 2027-03-31
unit = "person"
epsilon = "1"
lifetime = "1"
languages = ["en", "de"]

[questions.hours]
ask = "mean"
text = { en = "How many hours do you sleep?", de = "Wie viele Stunden schlafen Sie?" }
low = 0
high = "14.5"
missing = ["don't know", "refused"]
unit = "hours"

[questions.smoker]
ask = "frequency"
text = { en = "Do you smoke?", de = "Rauchen Sie?" }
categories = ["yes", "no"]
share = 2

[questions.weight]
ask = "group-mean"
text = { en = "How much do you weigh?", de = "Wie viel wiegen Sie?" }
by = ["f", "m", "d"]
low = 30
high = 250
whole = true
"""


def changed(old: str, new: str) -> bytes:
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new).encode()


def test_a_good_file():
    study, mistakes = parse_study(GOOD.encode())
    assert mistakes == []
    assert [asked.name for asked in study.questions] == ["hours", "smoker", "weight"]
    assert (study.unit, str(study.epsilon), str(study.lifetime), study.languages) == ("person", "1", "1", ("en", "de"))
    assert study.question("hours").missing == ("don't know", "refused")
    assert study.question("hours").text("de") == "Wie viele Stunden schlafen Sie?"
    assert study.question("smoker").share == 2


@pytest.mark.parametrize(
    ("table", "question"),
    [
        ('ask = "cdf"\npoints = [2, "5.5"]\nlow = 0\nhigh = 14', sv.Cdf(sv.Interval(0, 14), (2, "5.5"))),
        ('ask = "range"\nfrom = 8\nlow = 0\nhigh = 14\nwhole = true', sv.Range(sv.Integers(0, 14), 8, 14)),
        ('ask = "quantile"\nquantiles = [0.5]\nlow = 0\nhigh = 14', sv.Quantile(sv.Interval(0, 14), ("0.5",))),
        ('ask = "circular-mean"\nperiod = 24', sv.CircularMean(sv.Circle(24))),
    ],
)
def test_a_kind_of_question_in_a_file(table: str, question: Question):
    study, mistakes = parse_study(f'{GOOD}[questions.more]\ntext = {{ en = "?", de = "?" }}\n{table}\n'.encode())
    assert mistakes == [] and study.question("more").question == question


def test_an_unknown_kind_lists_the_kinds():
    _, (mistake,) = parse_study(changed('ask = "frequency"', 'ask = "shares"'))
    assert mistake.remedy == (
        'Do you mean "frequency"? Ask one of "frequency", "words", "set-shares", "ranking", "mean", "variance",'
        ' "group-mean", "table", "distribution", "cdf", "range", "quantile", "circular-mean", "boxes", "key-means",'
        ' "median".'
    )


# The change of the good file, the line, and words of the sentence.
MISTAKES = {
    "not TOML": ('name = "sleep-2027"', "name = sleep-2027", 3, "not TOML"),
    "unclosed text": ('owner = "Institute of Sleep"', 'owner = "Institute', 4, "not TOML"),
    "the same key twice": ('unit = "person"', 'unit = "person"\nunit = "device"', 11, "not TOML"),
    "no table": ("[study]\n", "[studies]\n", 2, "Do you mean study?"),
    "unknown table": (
        "[study]\n",
        "[people]\n[study]\n",
        2,
        "Known: study, questions, population",
    ),
    "strata": ("whole = true\n", "whole = true\n[strata]\nnorth = 5\n", 36, "A study has 2 to 100 strata"),
    "a stratum without people": (
        *("whole = true\n", "whole = true\n[strata.north]\npeople = 5\n[strata.south]\nlabel = 'S'\n", 38),
        "The people of stratum south must be a whole number",
    ),
    "no stratum": ('unit = "person"', 'unit = "person"\nstratum = "north"', 11, "The stratum is none of the strata."),
    "a density": ('ask = "frequency"', 'ask = "density"', 24, 'write ask = "distribution" with low and high'),
    "a vector": ('ask = "frequency"', 'ask = "vector-mean"', 24, 'ask = "mean" with low and high'),
    "attributes": ('ask = "frequency"', 'ask = "attributes"', 24, "Write one question for each attribute"),
    "within groups": ('ask = "frequency"', 'ask = "within-groups"', 24, "the groups as by ="),
    "groups of one": ('ask = "frequency"', 'ask = "frequency"\nby = ["women"]', 25, "at least two answers"),
    "text without groups": ('ask = "frequency"', 'ask = "frequency"\nby_text = "Sex?"', 25, "Add `by`, or remove"),
    "unknown key": ('purpose = "How', 'porpose = "How', 6, "Do you mean purpose?"),
    "no name": ('name = "sleep-2027"\n', "\n", 2, "The name is missing."),
    "bad name": ('"sleep-2027"', '"Sleep 2027"', 3, "The name of a study"),
    "no owner": ('owner = "Institute of Sleep"\n', "\n", 2, "The owner is missing."),
    "empty owner": ('"Institute of Sleep"', '" "', 4, "The owner of a study"),
    "no contact": ('contact = "privacy@example.org"\n', "\n", 2, "The contact is missing."),
    "no address": ('"privacy@example.org"', '"the officer"', 5, "The contact must be an address"),
    "no purpose": ('purpose = "How long people sleep, and whether they smoke."\n', "\n", 2, "The purpose is missing."),
    "purpose is a number": ('"How long people sleep, and whether they smoke."', "7", 6, "The purpose of a study"),
    "no unit": ('unit = "person"\n', "\n", 2, "The unit is missing."),
    "unknown unit": ('unit = "person"', 'unit = "household"', 10, "The unit of privacy must be one of"),
    "no epsilon": ('epsilon = "1"\n', "\n", 2, "The epsilon is missing."),
    "epsilon is a word": ('epsilon = "1"', 'epsilon = "small"', 11, "must be a number in (0, 20]"),
    "epsilon is negative": ('epsilon = "1"', "epsilon = -1", 11, "must be a number in (0, 20]"),
    "epsilon is huge": ('epsilon = "1"', "epsilon = 100", 11, "must be a number in (0, 20]"),
    "lifetime too small": ('lifetime = "1"', 'lifetime = "0.5"', 12, "at least the epsilon of one participation"),
    "lifetime of a person": ('lifetime = "1"', 'lifetime = "2"', 12, "answers a study once"),
    "lifetime is a list": ('lifetime = "1"', "lifetime = [2]", 12, "must be a number"),
    "start is a text": ("start = 2027-01-01", 'start = "January"', 8, "The start is not a date."),
    "end is a time": ("end = 2027-03-31", "end = 2027-03-31T00:00:00", 9, "The end is not a date."),
    "ends before it starts": ("end = 2027-03-31", "end = 2026-03-31", 9, "ends before it starts"),
    "languages are a text": ('languages = ["en", "de"]', 'languages = "en"', 13, "not a list of different short"),
    "a language twice": ('languages = ["en", "de"]', 'languages = ["en", "en"]', 13, "not a list of different"),
    "question is no table": ("whole = true\n", "whole = true\n[questions]\nsmokers = 3\n", 37, "is not a table"),
    "bad name of a question": ("[questions.smoker]", "[questions.Smoker]", 23, "The name of a question"),
    "no kind": ('ask = "mean"\n', "\n", 15, "does not say what to ask"),
    "unknown kind": ('ask = "mean"', 'ask = "average"', 16, "This is no kind of question."),
    "unknown key of a question": ("share = 2", "shares = 2", 27, "Do you mean share?"),
    "text in one language": (
        '{ en = "Do you smoke?", de = "Rauchen Sie?" }',
        '"Do you smoke?"',
        25,
        "in one language of 2",
    ),
    "text misses a language": (', de = "Rauchen Sie?"', "", 25, "missing in de"),
    "text in a foreign language": ('de = "Rauchen Sie?"', 'fr = "Fumez-vous?"', 25, "a language that the study"),
    "empty text": ('en = "Do you smoke?"', 'en = ""', 25, "missing or empty"),
    "no categories": ('categories = ["yes", "no"]\n', "\n", 23, "has no categories"),
    "categories are a text": ('["yes", "no"]', '"yes, no"', 26, "not a list"),
    "one category": ('["yes", "no"]', '["yes"]', 26, "at least two distinct"),
    "a category twice": ('["yes", "no"]', '["yes", "yes"]', 26, "at least two distinct"),
    "texts and numbers": ('["yes", "no"]', '["yes", 0]', 26, "texts only, or integers only"),
    "categories and a range": ("share = 2", "low = 0", 27, "not both"),
    "shares of a continuum": ('categories = ["yes", "no"]', "low = 0\nhigh = 3", 26, "Shares of numbers"),
    "no low": ("low = 0\n", "\n", 15, "has no low"),
    "no high": ('high = "14.5"\n', "\n", 15, "has no high"),
    "low above high": ('high = "14.5"', 'high = "-1"', 19, "high"),
    "low is a word": ("low = 0", 'low = "none"', 18, "low"),
    "whole is a text": ("whole = true", 'whole = "yes"', 35, "neither true nor false"),
    "whole numbers with a half": ("low = 30", "low = 30.5", 33, "low"),
    "no groups": ('by = ["f", "m", "d"]\n', "\n", 29, "has no by"),
    "one group": ('["f", "m", "d"]', '["f"]', 32, "at least two distinct"),
    "reasons are a text": ('["don\'t know", "refused"]', '"refused"', 20, "must be a list of texts"),
    "a reason twice": ('["don\'t know", "refused"]', '["refused", "refused"]', 20, "must differ"),
    "a reason is an answer": ("share = 2", 'missing = ["no"]', 27, "is among the answers already"),
    "reasons for a variance": (
        'ask = "mean"',
        'ask = "variance"',
        20,
        "`missing` is not supported",
    ),
    "share is zero": ("share = 2", "share = 0", 27, "must be an integer in [1, 1000]"),
    "unknown language": ('languages = ["en", "de"]', 'languages = ["en", "tlh"]', 13, "no sentences for participants"),
    "labels in a foreign language": ("share = 2", 'labels = { fr = { yes = "oui" } }', 27, "a language that the study"),
    "a label of nothing": ("share = 2", 'labels = { de = { maybe = "vielleicht" } }', 27, "does not have"),
    "no such attribute": ('ask = "mean"\n', 'ask = "mean"\nattribute = "age"\n', 17, "not the name of another"),
    "a range of an attribute": (
        "whole = true\n",
        'whole = true\n[questions.spread]\nask = "variance"\nattribute = "hours"\nlow = 0\n',
        39,
        "that of its attribute",
    ),
    "no quantiles": ('ask = "mean"', 'ask = "quantile"', 15, "list of at least one"),
    "a quantile above one": ('ask = "mean"', 'ask = "quantile"\nquantiles = [1.5]', 17, "numbers in (0, 1)"),
    "no range": ('ask = "mean"', 'ask = "range"', 15, "no from and no to"),
    "a range outside": ('ask = "mean"', 'ask = "range"\nfrom = 20', 17, "values of the domain"),
    "categories and a circle": (
        'ask = "frequency"',
        'ask = "distribution"\nperiod = 24',
        25,
        "not two of them",
    ),
    "a circle without a period": ('ask = "mean"', 'ask = "distribution"\nbuckets = 1', 17, "buckets"),
    "a population of nobody": (
        "whole = true\n",
        "whole = true\n[population.age]\nlaw = 'uniform'\n",
        36,
        "not in the study",
    ),
    "a population without a law": ("whole = true\n", "whole = true\n[population.hours]\nmean = 3\n", 36, "no law"),
}


@for_each("kind", MISTAKES)
def test_mistakes(kind):
    old, new, line, words = MISTAKES[kind]
    study, mistakes = parse_study(changed(old, new))
    assert study is None
    found = [one for one in mistakes if one.line == line and words in f"{one.what} {one.remedy}"]
    assert len(found) == 1, [str(one) for one in mistakes]
    assert all(one.what.endswith((".", "?")) for one in mistakes)


def test_no_questions_and_bad_text():
    _, mistakes = parse_study(GOOD[: GOOD.index("[questions.hours]")].encode())
    assert [str(one)[:37] for one in mistakes] == ["line 1: There are no questions. Add a"]
    _, mistakes = parse_study(GOOD.encode().replace(b"schlafen", b"schl\xe4fen"))
    assert [str(one) for one in mistakes] == ["line 17: This is not UTF-8. Save the file as UTF-8 text."]
    _, mistakes = parse_study(b"")
    assert [one.what for one in mistakes] == ["There are no questions.", "There is no table [study]."]


def test_all_mistakes_at_once(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(GOOD.replace('unit = "person"', "").replace("share = 2", "share = 0").replace("low = 30", ""))
    with pytest.raises(StudyFileError, match="has 3 mistakes: line 2: ") as caught:
        read_study(path)
    assert [one.line for one in caught.value.mistakes] == [2, 27, 29]
    with pytest.raises(ValueError, match="cannot be read"):
        read_study(tmp_path / "none.toml")


TRANSLATED = (
    GOOD.replace('name = "sleep-2027"', 'name = "sleep-2027"\ntitle = { en = "Sleep in 2027", de = "Schlaf 2027" }')
    .replace(
        'purpose = "How long people sleep, and whether they smoke."', 'purpose = { en = "Sleep.", de = "Schlaf." }'
    )
    .replace('unit = "hours"', 'unit = { en = "hours", de = "Stunden" }')
    .replace('epsilon = "1"', 'epsilon = "1"\nparticipants = 3000')
)


def test_title_purpose_and_unit_are_translated_and_manifests_carry_them():
    study = check_study(TRANSLATED.encode())
    manifest = study.plan(3000).manifest()
    assert Manifest.from_spec(manifest.content).facts == manifest.facts
    for facts in (study.facts, manifest.facts):
        assert [facts.title_in(one) for one in ("de", "en", "fr")] == ["Schlaf 2027", "Sleep in 2027", "Sleep in 2027"]
        assert (facts.purpose, facts.purpose_in("de")) == ("Sleep.", "Schlaf.")
    hours = manifest.questions[0]
    assert (hours.unit, hours.unit_in("de"), hours.unit_in("en")) == ("hours", "Stunden", "hours")
    assert "Schlaf 2027" in consent_page(manifest, "de") and "Schlaf." in consent_page(manifest, "de")
    assert replace(study, analysts="A statistician").translations == study.translations


def test_a_study_without_a_title_is_called_by_its_name():
    facts = check_study(GOOD.encode()).facts
    assert facts.title_in("de") == "sleep-2027" and "title" not in facts.spec() and "translations" not in facts.spec()


@pytest.mark.slow
def test_participants_of_the_study_are_planned_for():
    study = check_study(TRANSLATED.encode())
    assert plan_study(study).participants == plan_study(study, 3000).participants == 3000
    with pytest.raises(sv.ParameterError, match="participants = 3000 under"):
        plan_study(check_study(GOOD.encode()))


def test_a_median_is_the_quantile_one_half():
    study = check_study(changed('ask = "mean"', 'ask = "median"').replace(b'missing = ["don\'t know", "refused"]', b""))
    assert study.question("hours").question == sv.Quantile(sv.Interval(0, "14.5"), ("0.5",))


@pytest.mark.parametrize(
    ("word", "meant"), [("shares", "frequency"), ("average", "mean"), ("group means", "group-mean"), ("cfd", "cdf")]
)
def test_common_words_for_a_kind_name_the_kind_that_is_meant(word: str, meant: str):
    _, (mistake,) = parse_study(changed('ask = "frequency"', f'ask = "{word}"'))
    assert mistake.remedy.startswith(f'Do you mean "{meant}"? Ask one of')


def test_answers_that_a_population_leaves_out_share_the_rest():
    three = GOOD.replace('["yes", "no"]', '["yes", "no", "rarely"]') + "[population.smoker]\nshares = { yes = 0.5 }\n"
    assert dict(check_study(three.encode()).population)["smoker"].shares == (0.5, 0.25, 0.25)
    _, (mistake,) = parse_study(three.replace("yes = 0.5", "si = 0.5").encode())
    assert "name an answer that the question does not have" in mistake.what
