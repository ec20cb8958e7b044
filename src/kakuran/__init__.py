"""Perturb every record so that nobody can be linked above 1/k, and reconstruct the true statistics.

    schema → mechanism → calibrate → perturb → release → counts → reconstruct → mine → report

Names are loaded when they are first used, so that importing kakuran costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kakuran.advice import Advice, advise
    from kakuran.calibration import Plan, TableError, calibrate, preview
    from kakuran.collect import Survey, SurveyClient
    from kakuran.errors import (
        ArgumentError,
        CalibrationError,
        CollectError,
        DataError,
        GuardError,
        InferredDomainWarning,
        KakuranError,
        LeakageWarning,
        MissingExtraError,
        MissingLettersWarning,
        NotForPublicationWarning,
        ProtocolError,
        RandomnessError,
        ReleaseError,
        ScatteredNumbersWarning,
        SchemaError,
        UnclearCellsWarning,
    )
    from kakuran.estimators import (
        BooleanFactorisation,
        MaskedNMF,
        MatrixRelease,
        Microaggregation,
        NoisyMixture,
        ReconstructedNaiveBayes,
        ReconstructedTree,
    )
    from kakuran.measure import Anonymity, Graph, check_anonymity, information_loss, l1_accuracy
    from kakuran.mechanism import PRAM, BoundedGaussian, BoundedLaplace, Laplace, RetentionReplacement
    from kakuran.mine import Density, Estimate, MixtureEstimate
    from kakuran.reconstruction import Reconstruction, reconstruct
    from kakuran.release import Audit, Release, audit, perturb, perturb_file, read_release
    from kakuran.report import release_report
    from kakuran.schema import Categorical, Dropped, Numeric, Schema, Tree, open_source
    from kakuran.vertical import VerticalFit, VerticalPlan, fit_vertically

    __version__: str

_HOMES = {
    "kakuran.schema": ("Categorical", "Dropped", "Numeric", "Schema", "Tree", "open_source"),
    "kakuran.mechanism": ("PRAM", "BoundedGaussian", "BoundedLaplace", "Laplace", "RetentionReplacement"),
    "kakuran.calibration": ("Plan", "TableError", "calibrate", "preview"),
    "kakuran.reconstruction": ("Reconstruction", "reconstruct"),
    "kakuran.measure": ("Anonymity", "Graph", "check_anonymity", "information_loss", "l1_accuracy"),
    "kakuran.mine": ("Density", "Estimate", "MixtureEstimate"),
    "kakuran.release": ("Audit", "Release", "audit", "perturb", "perturb_file", "read_release"),
    "kakuran.advice": ("Advice", "advise"),
    "kakuran.report": ("release_report",),
    "kakuran.estimators": (
        "BooleanFactorisation",
        "MaskedNMF",
        "MatrixRelease",
        "Microaggregation",
        "NoisyMixture",
        "ReconstructedNaiveBayes",
        "ReconstructedTree",
    ),
    "kakuran.vertical": ("VerticalFit", "VerticalPlan", "fit_vertically"),
    "kakuran.collect": ("Survey", "SurveyClient"),
    "kakuran.errors": (
        "ArgumentError",
        "CalibrationError",
        "CollectError",
        "DataError",
        "GuardError",
        "InferredDomainWarning",
        "KakuranError",
        "LeakageWarning",
        "MissingExtraError",
        "MissingLettersWarning",
        "NotForPublicationWarning",
        "ProtocolError",
        "RandomnessError",
        "ReleaseError",
        "ScatteredNumbersWarning",
        "SchemaError",
        "UnclearCellsWarning",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "PRAM",
    "Advice",
    "Anonymity",
    "ArgumentError",
    "Audit",
    "BooleanFactorisation",
    "BoundedGaussian",
    "BoundedLaplace",
    "CalibrationError",
    "Categorical",
    "CollectError",
    "DataError",
    "Density",
    "Dropped",
    "Estimate",
    "Graph",
    "GuardError",
    "InferredDomainWarning",
    "KakuranError",
    "Laplace",
    "LeakageWarning",
    "MaskedNMF",
    "MatrixRelease",
    "Microaggregation",
    "MissingExtraError",
    "MissingLettersWarning",
    "MixtureEstimate",
    "NoisyMixture",
    "NotForPublicationWarning",
    "Numeric",
    "Plan",
    "ProtocolError",
    "RandomnessError",
    "ReconstructedNaiveBayes",
    "ReconstructedTree",
    "Reconstruction",
    "Release",
    "ReleaseError",
    "RetentionReplacement",
    "ScatteredNumbersWarning",
    "Schema",
    "SchemaError",
    "Survey",
    "SurveyClient",
    "TableError",
    "Tree",
    "UnclearCellsWarning",
    "VerticalFit",
    "VerticalPlan",
    "advise",
    "audit",
    "calibrate",
    "check_anonymity",
    "fit_vertically",
    "information_loss",
    "l1_accuracy",
    "open_source",
    "perturb",
    "perturb_file",
    "preview",
    "read_release",
    "reconstruct",
    "release_report",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # slower to import than all of kakuran

        value: Any = version("kakuran")
    elif name in _HOME_OF:
        value = getattr(import_module(_HOME_OF[name]), name)
    else:
        raise AttributeError(f"module 'kakuran' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
