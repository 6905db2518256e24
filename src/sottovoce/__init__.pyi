# Written by `python -m scripts.write_stub` from the names in __init__.py.
from sottovoce.client import Client as Client
from sottovoce.client import Tick as Tick
from sottovoce.client import Untimed as Untimed
from sottovoce.client.participant import Participant as Participant
from sottovoce.core.asked import Asked as Asked
from sottovoce.core.coins import SeededCoins as SeededCoins
from sottovoce.core.domain import Above as Above
from sottovoce.core.domain import Ball as Ball
from sottovoce.core.domain import Bins as Bins
from sottovoce.core.domain import Box as Box
from sottovoce.core.domain import Categories as Categories
from sottovoce.core.domain import Circle as Circle
from sottovoce.core.domain import Clamp as Clamp
from sottovoce.core.domain import Digit as Digit
from sottovoce.core.domain import Domain as Domain
from sottovoce.core.domain import Fields as Fields
from sottovoce.core.domain import Integers as Integers
from sottovoce.core.domain import Interval as Interval
from sottovoce.core.domain import Level as Level
from sottovoce.core.domain import Pair as Pair
from sottovoce.core.domain import Powers as Powers
from sottovoce.core.domain import Prefix as Prefix
from sottovoce.core.domain import Record as Record
from sottovoce.core.domain import Select as Select
from sottovoce.core.domain import Sparse as Sparse
from sottovoce.core.domain import Square as Square
from sottovoce.core.domain import Text as Text
from sottovoce.core.errors import CollectorError as CollectorError
from sottovoce.core.errors import DeviceFileError as DeviceFileError
from sottovoce.core.errors import DomainError as DomainError
from sottovoce.core.errors import MismatchError as MismatchError
from sottovoce.core.errors import MissingExtraError as MissingExtraError
from sottovoce.core.errors import NoCovarianceError as NoCovarianceError
from sottovoce.core.errors import NoIntervalError as NoIntervalError
from sottovoce.core.errors import ParameterError as ParameterError
from sottovoce.core.errors import PluginWarning as PluginWarning
from sottovoce.core.errors import PrivacyError as PrivacyError
from sottovoce.core.errors import ProgramError as ProgramError
from sottovoce.core.errors import ReportError as ReportError
from sottovoce.core.errors import SottovoceError as SottovoceError
from sottovoce.core.errors import SpecError as SpecError
from sottovoce.core.errors import TooLargeError as TooLargeError
from sottovoce.core.mechanism import Mechanism as Mechanism
from sottovoce.core.question import Attributes as Attributes
from sottovoce.core.question import Cdf as Cdf
from sottovoce.core.question import CircularMean as CircularMean
from sottovoce.core.question import Density as Density
from sottovoce.core.question import Distribution as Distribution
from sottovoce.core.question import Frequency as Frequency
from sottovoce.core.question import GroupMean as GroupMean
from sottovoce.core.question import Mean as Mean
from sottovoce.core.question import Quantile as Quantile
from sottovoce.core.question import Question as Question
from sottovoce.core.question import Range as Range
from sottovoce.core.question import Variance as Variance
from sottovoce.core.question import VectorMean as VectorMean
from sottovoce.core.registry import mechanism as mechanism
from sottovoce.core.registry import names as names
from sottovoce.core.round import Arm as Arm
from sottovoce.core.round import Protocol as Protocol
from sottovoce.core.round import Round as Round
from sottovoce.estimate import metrics as metrics
from sottovoce.estimate.combine import combine as combine
from sottovoce.estimate.decoder import Decoder as Decoder
from sottovoce.estimate.decoder import decoder as decoder
from sottovoce.estimate.estimate import Estimate as Estimate
from sottovoce.estimate.evidence import Evidence as Evidence
from sottovoce.estimate.group_mean.power import participants_for as participants_for
from sottovoce.estimate.group_mean.power import power_of_difference as power_of_difference
from sottovoce.estimate.group_mean.within import group_frequencies as group_frequencies
from sottovoce.estimate.prior import Prior as Prior
from sottovoce.estimate.request import PoorIntervalWarning as PoorIntervalWarning
from sottovoce.fast.batch import Reports as Reports
from sottovoce.files.reports import read_reports as read_reports
from sottovoce.files.writer import write_reports as write_reports
from sottovoce.privacy.accounting.account import Account as Account
from sottovoce.privacy.accounting.account import Entry as Entry
from sottovoce.privacy.accounting.shuffling import shuffled as shuffled
from sottovoce.privacy.audit import audit as audit
from sottovoce.privacy.blackbox import BlackBoxCertificate as BlackBoxCertificate
from sottovoce.privacy.blackbox import audit_black_box as audit_black_box
from sottovoce.privacy.blackbox import command_source as command_source
from sottovoce.privacy.blackbox import samples_needed as samples_needed
from sottovoce.privacy.certificate import Certificate as Certificate
from sottovoce.protocols.ask import AskEveryone as AskEveryone
from sottovoce.protocols.ask import AskOneOf as AskOneOf
from sottovoce.protocols.gaussian.known import GaussianMeanKnownSigma as GaussianMeanKnownSigma
from sottovoce.protocols.gaussian.unknown import GaussianMeanUnknownSigma as GaussianMeanUnknownSigma
from sottovoce.protocols.mean.adaptive import AdaptiveMeanRounds as AdaptiveMeanRounds
from sottovoce.protocols.mean.personal import PersonalBudgetMean as PersonalBudgetMean
from sottovoce.protocols.nested.parallel import Branch as Branch
from sottovoce.protocols.nested.parallel import Parallel as Parallel
from sottovoce.protocols.nested.sequential import Sequential as Sequential
from sottovoce.protocols.ranges.clamped import ClampedMeanRound as ClampedMeanRound
from sottovoce.protocols.ranges.densest import DensestInterval as DensestInterval
from sottovoce.protocols.ranges.mean import RangeSearchMean as RangeSearchMean
from sottovoce.protocols.ranges.search import RangeSearchRounds as RangeSearchRounds
from sottovoce.protocols.shares.attributes import SampledAttributes as SampledAttributes
from sottovoce.protocols.shares.personal import PersonalBudgetShares as PersonalBudgetShares
from sottovoce.protocols.simulate import simulate as simulate
from sottovoce.protocols.variance.rounds import VarianceRounds as VarianceRounds
from sottovoce.study.detect import smallest_share as smallest_share
from sottovoce.study.plan import Plan as Plan
from sottovoce.study.plan import plan as plan
from sottovoce.study.planners.base import Option as Option
from sottovoce.study.reading import read_study as read_study
from sottovoce.study.simulating import simulate_study as simulate_study
from sottovoce.study.study import Study as Study
from sottovoce.study.study_plan import StudyPlan as StudyPlan
from sottovoce.study.study_plan import plan_study as plan_study
from sottovoce.tally.counts import simulate_counts as simulate_counts
from sottovoce.tally.tally import Tally as Tally

__version__: str
__all__ = [
    "Above",
    "Account",
    "AdaptiveMeanRounds",
    "Arm",
    "AskEveryone",
    "AskOneOf",
    "Asked",
    "Attributes",
    "Ball",
    "Bins",
    "BlackBoxCertificate",
    "Box",
    "Branch",
    "Categories",
    "Cdf",
    "Certificate",
    "Circle",
    "CircularMean",
    "Clamp",
    "ClampedMeanRound",
    "Client",
    "CollectorError",
    "Decoder",
    "DensestInterval",
    "Density",
    "DeviceFileError",
    "Digit",
    "Distribution",
    "Domain",
    "DomainError",
    "Entry",
    "Estimate",
    "Evidence",
    "Fields",
    "Frequency",
    "GaussianMeanKnownSigma",
    "GaussianMeanUnknownSigma",
    "GroupMean",
    "Integers",
    "Interval",
    "Level",
    "Mean",
    "Mechanism",
    "MismatchError",
    "MissingExtraError",
    "NoCovarianceError",
    "NoIntervalError",
    "Option",
    "Pair",
    "Parallel",
    "ParameterError",
    "Participant",
    "PersonalBudgetMean",
    "PersonalBudgetShares",
    "Plan",
    "PluginWarning",
    "PoorIntervalWarning",
    "Powers",
    "Prefix",
    "Prior",
    "PrivacyError",
    "ProgramError",
    "Protocol",
    "Quantile",
    "Question",
    "Range",
    "RangeSearchMean",
    "RangeSearchRounds",
    "Record",
    "ReportError",
    "Reports",
    "Round",
    "SampledAttributes",
    "SeededCoins",
    "Select",
    "Sequential",
    "SottovoceError",
    "Sparse",
    "SpecError",
    "Square",
    "Study",
    "StudyPlan",
    "Tally",
    "Text",
    "Tick",
    "TooLargeError",
    "Untimed",
    "Variance",
    "VarianceRounds",
    "VectorMean",
    "audit",
    "audit_black_box",
    "combine",
    "command_source",
    "decoder",
    "group_frequencies",
    "mechanism",
    "metrics",
    "names",
    "participants_for",
    "plan",
    "plan_study",
    "power_of_difference",
    "read_reports",
    "read_study",
    "samples_needed",
    "shuffled",
    "simulate",
    "simulate_counts",
    "simulate_study",
    "smallest_share",
    "write_reports",
]
