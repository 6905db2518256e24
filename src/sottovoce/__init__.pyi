# Written by `python -m scripts.write_stub` from the names in __init__.py.
from sottovoce.client import Client as Client
from sottovoce.client.participant import Participant as Participant
from sottovoce.core.asked import Asked as Asked
from sottovoce.core.domain import Ball as Ball
from sottovoce.core.domain import Box as Box
from sottovoce.core.domain import Categories as Categories
from sottovoce.core.domain import Circle as Circle
from sottovoce.core.domain import Integers as Integers
from sottovoce.core.domain import Interval as Interval
from sottovoce.core.domain import KeyValue as KeyValue
from sottovoce.core.domain import Pair as Pair
from sottovoce.core.domain import Ranking as Ranking
from sottovoce.core.domain import Record as Record
from sottovoce.core.domain import Sets as Sets
from sottovoce.core.domain import Sparse as Sparse
from sottovoce.core.domain import Text as Text
from sottovoce.core.domain import Words as Words
from sottovoce.core.errors import DomainError as DomainError
from sottovoce.core.errors import MismatchError as MismatchError
from sottovoce.core.errors import ParameterError as ParameterError
from sottovoce.core.errors import PrivacyError as PrivacyError
from sottovoce.core.errors import ReportError as ReportError
from sottovoce.core.errors import SottovoceError as SottovoceError
from sottovoce.core.errors import SpecError as SpecError
from sottovoce.core.mechanism import Mechanism as Mechanism
from sottovoce.core.question import Attributes as Attributes
from sottovoce.core.question import Boxes as Boxes
from sottovoce.core.question import Cdf as Cdf
from sottovoce.core.question import CircularMean as CircularMean
from sottovoce.core.question import Distribution as Distribution
from sottovoce.core.question import Frequency as Frequency
from sottovoce.core.question import FrequentWords as FrequentWords
from sottovoce.core.question import GroupMean as GroupMean
from sottovoce.core.question import Joint as Joint
from sottovoce.core.question import KeyMeans as KeyMeans
from sottovoce.core.question import Mean as Mean
from sottovoce.core.question import Quantile as Quantile
from sottovoce.core.question import Range as Range
from sottovoce.core.question import SetShares as SetShares
from sottovoce.core.question import Variance as Variance
from sottovoce.core.question import VectorMean as VectorMean
from sottovoce.core.registry import mechanism as mechanism
from sottovoce.core.registry import names as names
from sottovoce.estimate import metrics as metrics
from sottovoce.estimate.combine import combine as combine
from sottovoce.estimate.comparison.chi_square import goodness_of_fit as goodness_of_fit
from sottovoce.estimate.comparison.chi_square import independence as independence
from sottovoce.estimate.comparison.compare import compare as compare
from sottovoce.estimate.decoder import decoder as decoder
from sottovoce.estimate.estimate import Estimate as Estimate
from sottovoce.estimate.prior import Prior as Prior
from sottovoce.estimate.request import PoorIntervalWarning as PoorIntervalWarning
from sottovoce.fast.batch import Reports as Reports
from sottovoce.files.reports import read_reports as read_reports
from sottovoce.files.writer import write_reports as write_reports
from sottovoce.privacy.audit import audit as audit
from sottovoce.privacy.certificate import Certificate as Certificate
from sottovoce.protocols.gaussian.known import GaussianMeanKnownSigma as GaussianMeanKnownSigma
from sottovoce.protocols.gaussian.unknown import GaussianMeanUnknownSigma as GaussianMeanUnknownSigma
from sottovoce.protocols.mean.adaptive import AdaptiveMeanRounds as AdaptiveMeanRounds
from sottovoce.protocols.quantile.rounds import QuantileRounds as QuantileRounds
from sottovoce.protocols.ranges.mean import RangeSearchMean as RangeSearchMean
from sottovoce.protocols.shares.attributes import SampledAttributes as SampledAttributes
from sottovoce.protocols.shares.tables import TableViews as TableViews
from sottovoce.protocols.simulate import simulate as simulate
from sottovoce.protocols.variance.rounds import VarianceRounds as VarianceRounds
from sottovoce.study.plan import Plan as Plan
from sottovoce.study.plan import plan as plan
from sottovoce.study.power.test_of import TestOf as TestOf
from sottovoce.study.reading import read_study as read_study
from sottovoce.study.simulating import simulate_study as simulate_study
from sottovoce.study.study import Study as Study
from sottovoce.study.study_plan import plan_study as plan_study
from sottovoce.tally.counts import simulate_counts as simulate_counts
from sottovoce.tally.tally import Tally as Tally

__version__: str
__all__ = [
    "AdaptiveMeanRounds",
    "Asked",
    "Attributes",
    "Ball",
    "Box",
    "Boxes",
    "Categories",
    "Cdf",
    "Certificate",
    "Circle",
    "CircularMean",
    "Client",
    "Distribution",
    "DomainError",
    "Estimate",
    "Frequency",
    "FrequentWords",
    "GaussianMeanKnownSigma",
    "GaussianMeanUnknownSigma",
    "GroupMean",
    "Integers",
    "Interval",
    "Joint",
    "KeyMeans",
    "KeyValue",
    "Mean",
    "Mechanism",
    "MismatchError",
    "Pair",
    "ParameterError",
    "Participant",
    "Plan",
    "PoorIntervalWarning",
    "Prior",
    "PrivacyError",
    "Quantile",
    "QuantileRounds",
    "Range",
    "RangeSearchMean",
    "Ranking",
    "Record",
    "ReportError",
    "Reports",
    "SampledAttributes",
    "SetShares",
    "Sets",
    "SottovoceError",
    "Sparse",
    "SpecError",
    "Study",
    "TableViews",
    "Tally",
    "TestOf",
    "Text",
    "Variance",
    "VarianceRounds",
    "VectorMean",
    "Words",
    "audit",
    "combine",
    "compare",
    "decoder",
    "goodness_of_fit",
    "independence",
    "mechanism",
    "metrics",
    "names",
    "plan",
    "plan_study",
    "read_reports",
    "read_study",
    "simulate",
    "simulate_counts",
    "simulate_study",
    "write_reports",
]
