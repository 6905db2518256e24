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
            "Above", "Ball", "Bins", "Box", "Categories", "Circle", "Clamp", "Digit", "Domain", "Fields", "Integers",
            "Interval", "Level", "Pair", "Prefix", "Powers", "Record", "Select", "Sparse", "Square", "Text",
        )
    },
    **{
        name: f"core.errors:{name}"
        for name in (
            "CollectorError", "DeviceFileError", "DomainError", "MismatchError", "MissingExtraError", "ParameterError",
            "PrivacyError", "ProgramError", "ReportError", "SottovoceError", "SpecError", "TooLargeError",
            "NoCovarianceError", "NoIntervalError", "PluginWarning",
        )
    },
    **{
        name: f"core.question:{name}"
        for name in (
            "Attributes", "Cdf", "CircularMean", "Density", "Distribution", "Frequency", "GroupMean", "Mean",
            "Quantile", "Question", "Range", "Variance", "VectorMean",
        )
    },
    "Mechanism": "core.mechanism:Mechanism",
    "mechanism": "core.registry:mechanism",
    "names": "core.registry:names",
    "Client": "client:Client",
    "Untimed": "client:Untimed",
    "Participant": "client.participant:Participant",
    "Tick": "client:Tick",
    "Arm": "core.round:Arm",
    "Round": "core.round:Round",
    "Protocol": "core.round:Protocol",
    "Reports": "fast.batch:Reports",
    "read_reports": "files.reports:read_reports",
    "write_reports": "files.writer:write_reports",
    "Tally": "tally.tally:Tally",
    "Estimate": "estimate.estimate:Estimate",
    "Evidence": "estimate.evidence:Evidence",
    "Decoder": "estimate.decoder:Decoder",
    "decoder": "estimate.decoder:decoder",
    "combine": "estimate.combine:combine",
    "Certificate": "privacy.certificate:Certificate",
    "audit": "privacy.audit:audit",
    "Account": "privacy.accounting.account:Account",
    "Entry": "privacy.accounting.account:Entry",
    "shuffled": "privacy.accounting.shuffling:shuffled",
    "BlackBoxCertificate": "privacy.blackbox:BlackBoxCertificate",
    "audit_black_box": "privacy.blackbox:audit_black_box",
    "command_source": "privacy.blackbox:command_source",
    "samples_needed": "privacy.blackbox:samples_needed",
    "AdaptiveMeanRounds": "protocols.mean.adaptive:AdaptiveMeanRounds",
    "AskEveryone": "protocols.ask:AskEveryone",
    "AskOneOf": "protocols.ask:AskOneOf",
    "PersonalBudgetMean": "protocols.mean.personal:PersonalBudgetMean",
    "PersonalBudgetShares": "protocols.shares.personal:PersonalBudgetShares",
    "SampledAttributes": "protocols.shares.attributes:SampledAttributes",
    "VarianceRounds": "protocols.variance.rounds:VarianceRounds",
    "ClampedMeanRound": "protocols.ranges.clamped:ClampedMeanRound",
    "RangeSearchMean": "protocols.ranges.mean:RangeSearchMean",
    "RangeSearchRounds": "protocols.ranges.search:RangeSearchRounds",
    "Branch": "protocols.nested.parallel:Branch",
    "Sequential": "protocols.nested.sequential:Sequential",
    "Parallel": "protocols.nested.parallel:Parallel",
    "DensestInterval": "protocols.ranges.densest:DensestInterval",
    "GaussianMeanKnownSigma": "protocols.gaussian.known:GaussianMeanKnownSigma",
    "GaussianMeanUnknownSigma": "protocols.gaussian.unknown:GaussianMeanUnknownSigma",
    "PoorIntervalWarning": "estimate.request:PoorIntervalWarning",
    "SeededCoins": "core.coins:SeededCoins",
    "simulate": "protocols.simulate:simulate",
    "simulate_counts": "tally.counts:simulate_counts",
    "Option": "study.planners.base:Option",
    "Asked": "core.asked:Asked",
    "Study": "study.study:Study",
    "StudyPlan": "study.study_plan:StudyPlan",
    "plan_study": "study.study_plan:plan_study",
    "read_study": "study.reading:read_study",
    "simulate_study": "study.simulating:simulate_study",
    "Plan": "study.plan:Plan",
    "plan": "study.plan:plan",
    "smallest_share": "study.detect:smallest_share",
    "group_frequencies": "estimate.group_mean.within:group_frequencies",
    "power_of_difference": "estimate.group_mean.power:power_of_difference",
    "participants_for": "estimate.group_mean.power:participants_for",
    "Prior": "estimate.prior:Prior",
    "metrics": "estimate.metrics",
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
