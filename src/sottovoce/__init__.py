"""Everyone answers sotto voce; only the crowd is heard: statistics under local differential privacy.

Names are loaded when they are first used, so importing this package pulls in no third-party module. Type checkers read
them from `__init__.pyi`, which `python -m scripts.write_stub` writes.
"""

from sottovoce.core.late import load as _load

__version__ = "0.1.0"

_NAMES = {
    **{
        name: f"core.domain:{name}"
        for name in (
            "Ball", "Box", "Categories", "Circle", "Integers", "Interval", "KeyValue", "Pair", "Ranking",
            "Record", "Sets", "Sparse", "Text", "Words",
        )
    },
    **{
        name: f"core.question:{name}"
        for name in (
            "Attributes", "Boxes", "Cdf", "CircularMean", "Distribution", "Frequency", "FrequentWords", "GroupMean",
            "Joint", "KeyMeans", "Mean", "Quantile", "Range", "SetShares", "Variance", "VectorMean",
        )
    },
    **{
        name: f"core.errors:{name}"
        for name in (
            "DomainError", "MismatchError", "ParameterError", "PrivacyError", "ReportError", "SottovoceError",
            "SpecError",
        )
    },
    "Mechanism": "core.mechanism:Mechanism",
    "mechanism": "core.registry:mechanism",
    "names": "core.registry:names",
    "Client": "client:Client",
    "Participant": "client.participant:Participant",
    "Reports": "fast.batch:Reports",
    "read_reports": "files.reports:read_reports",
    "write_reports": "files.writer:write_reports",
    "Tally": "tally.tally:Tally",
    "Estimate": "estimate.estimate:Estimate",
    "PoorIntervalWarning": "estimate.request:PoorIntervalWarning",
    "decoder": "estimate.decoder:decoder",
    "combine": "estimate.combine:combine",
    "compare": "estimate.comparison.compare:compare",
    "goodness_of_fit": "estimate.comparison.chi_square:goodness_of_fit",
    "independence": "estimate.comparison.chi_square:independence",
    "TestOf": "study.power.test_of:TestOf",
    "Prior": "estimate.prior:Prior",
    "metrics": "estimate.metrics",
    "Certificate": "privacy.certificate:Certificate",
    "audit": "privacy.audit:audit",
    "Plan": "study.plan:Plan",
    "plan": "study.plan:plan",
    "Asked": "core.asked:Asked",
    "Study": "study.study:Study",
    "read_study": "study.reading:read_study",
    "plan_study": "study.study_plan:plan_study",
    "simulate_study": "study.simulating:simulate_study",
    "simulate": "protocols.simulate:simulate",
    "simulate_counts": "tally.counts:simulate_counts",
    "AdaptiveMeanRounds": "protocols.mean.adaptive:AdaptiveMeanRounds",
    "GaussianMeanKnownSigma": "protocols.gaussian.known:GaussianMeanKnownSigma",
    "GaussianMeanUnknownSigma": "protocols.gaussian.unknown:GaussianMeanUnknownSigma",
    "QuantileRounds": "protocols.quantile.rounds:QuantileRounds",
    "RangeSearchMean": "protocols.ranges.mean:RangeSearchMean",
    "SampledAttributes": "protocols.shares.attributes:SampledAttributes",
    "TableViews": "protocols.shares.tables:TableViews",
    "VarianceRounds": "protocols.variance.rounds:VarianceRounds",
}  # fmt: skip

__all__ = sorted(_NAMES)


def __getattr__(name: str) -> object:
    if name not in _NAMES:
        raise AttributeError(f"module 'sottovoce' has no attribute {name!r}")
    value = _load(_NAMES[name])
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    # Rooms that are loaded are attributes too, but no part of what is offered.
    return sorted({*_NAMES, *(name for name in globals() if name.startswith("__"))})
