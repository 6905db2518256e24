# Written by `python -m scripts.write_stub` from the names in __init__.py.
from sottovoce.core.question.attributes import Attributes as Attributes
from sottovoce.core.question.base import Question as Question
from sottovoce.core.question.base import Several as Several
from sottovoce.core.question.boxes import Boxes as Boxes
from sottovoce.core.question.cdf import Cdf as Cdf
from sottovoce.core.question.circular_mean import CircularMean as CircularMean
from sottovoce.core.question.density import Density as Density
from sottovoce.core.question.distribution import Distribution as Distribution
from sottovoce.core.question.frequency import Frequency as Frequency
from sottovoce.core.question.frequent_words import FrequentWords as FrequentWords
from sottovoce.core.question.group_mean import GroupMean as GroupMean
from sottovoce.core.question.half_sets import HalfSets as HalfSets
from sottovoce.core.question.joint import Joint as Joint
from sottovoce.core.question.key_means import KeyMeans as KeyMeans
from sottovoce.core.question.mean import Mean as Mean
from sottovoce.core.question.mean_places import MeanPlaces as MeanPlaces
from sottovoce.core.question.quantile import Quantile as Quantile
from sottovoce.core.question.range import Range as Range
from sottovoce.core.question.read import question_class as question_class
from sottovoce.core.question.read import question_from_brief as question_from_brief
from sottovoce.core.question.read import question_from_spec as question_from_spec
from sottovoce.core.question.set_shares import SetShares as SetShares
from sottovoce.core.question.variance import Variance as Variance
from sottovoce.core.question.vector_mean import VectorMean as VectorMean
from sottovoce.core.question.within_groups import WithinGroups as WithinGroups

QUESTIONS: dict[str, str]
