"""Words that people write for a kind of question, and the kind that is meant."""

from __future__ import annotations

from collections.abc import Iterable

_MEANT = {
    "frequency": "share shares count counts category categories proportion proportions percentage percent choice",
    "mean": "average averages number total sum",
    "set-shares": "multiple-choice multiple several tick ticks checkboxes set sets items",
    "ranking": "rank order preference preferences mean-places",
    "key-means": "key-value key-values keys ratings rating",
    "frequent-words": "word open-answer heavy-hitters top-words new-words",
    "variance": "sd std spread standard-deviation",
    "group-mean": "group groups group-means means-by-group by",
    "vector-mean": "vector vectors vector-means",
    "distribution": "histogram buckets density curve",
    "cdf": "cumulative up-to",
    "range": "interval threshold above below at-least at-most",
    "quantile": "median quantiles percentile percentiles quartile quartiles",
    "circular-mean": "circle direction time-of-day angle",
}
_KINDS = {word: kind for kind, words in _MEANT.items() for word in words.split()}


def meant_kind(written: object, known: Iterable[str]) -> str | None:
    """The known kind that a word may stand for: by a table of common words, else the closest one."""
    import difflib  # only where a word is wrong

    kinds = list(known)
    word = str(written).strip().lower().replace(" ", "-").replace("_", "-")[:100]
    if word in _KINDS:
        return _KINDS[word] if _KINDS[word] in kinds else None
    close = difflib.get_close_matches(word, kinds, 1)
    return close[0] if close else None


def did_you_mean(written: object, known: Iterable[str]) -> str:
    """A question that names the kind that may be meant, followed by a space; empty where there is none."""
    kind = meant_kind(written, known)
    return "" if kind is None else f'Do you mean "{kind}"? '
