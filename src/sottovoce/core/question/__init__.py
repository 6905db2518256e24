"""Questions, one module each. Each is loaded when first used."""

from typing import Any

from sottovoce.core.late import attribute, by_name

# One line for each question; its module is loaded when a specification or a program names it.
QUESTIONS = {
    "frequency": "core.question.frequency:Frequency",
    "frequent-words": "core.question.frequent_words:FrequentWords",
    "set-shares": "core.question.set_shares:SetShares",
    "mean-places": "core.question.mean_places:MeanPlaces",
    "mean": "core.question.mean:Mean",
    "variance": "core.question.variance:Variance",
    "group-mean": "core.question.group_mean:GroupMean",
    "within-groups": "core.question.within_groups:WithinGroups",
    "vector-mean": "core.question.vector_mean:VectorMean",
    "attributes": "core.question.attributes:Attributes",
    "joint": "core.question.joint:Joint",
    "distribution": "core.question.distribution:Distribution",
    "cdf": "core.question.cdf:Cdf",
    "range": "core.question.range:Range",
    "quantile": "core.question.quantile:Quantile",
    "density": "core.question.density:Density",
    "circular-mean": "core.question.circular_mean:CircularMean",
    "half-sets": "core.question.half_sets:HalfSets",
    "boxes": "core.question.boxes:Boxes",
    "key-means": "core.question.key_means:KeyMeans",
}
# Protocols ask several questions; a mechanism asks one, so that no specification names this kind.
_OTHERS = (
    "core.question.base:Several",
    "core.question.base:Question",
    "core.question.read:question_class",
    "core.question.read:question_from_brief",
    "core.question.read:question_from_spec",
)
_NAMES = by_name(*QUESTIONS.values(), *_OTHERS)  # type checkers read them in the stub, written by `scripts.write_stub`


def __getattr__(name: str) -> Any:
    return attribute(__name__, _NAMES, name)
