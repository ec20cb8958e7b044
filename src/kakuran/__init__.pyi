from .advice import (
    Advice as Advice,
)
from .advice import (
    advise as advise,
)
from .answers import (
    Answer as Answer,
)
from .answers import (
    DecisionTree as DecisionTree,
)
from .answers import (
    Density as Density,
)
from .answers import (
    Estimate as Estimate,
)
from .answers import (
    MixtureEstimate as MixtureEstimate,
)
from .answers import (
    NaiveBayes as NaiveBayes,
)
from .audit import (
    Anonymity as Anonymity,
)
from .audit import Audit as Audit
from .audit import (
    Graph as Graph,
)
from .audit import audit as audit
from .audit import (
    check_anonymity as check_anonymity,
)
from .audit import (
    information_loss as information_loss,
)
from .audit import (
    l1_accuracy as l1_accuracy,
)
from .collect import (
    Survey as Survey,
)
from .collect import (
    SurveyClient as SurveyClient,
)
from .design import (
    Plan as Plan,
)
from .design import (
    TableError as TableError,
)
from .design import (
    calibrate as calibrate,
)
from .design import (
    preview as preview,
)
from .errors import (
    ArgumentError as ArgumentError,
)
from .errors import (
    CalibrationError as CalibrationError,
)
from .errors import (
    CollectError as CollectError,
)
from .errors import (
    DataError as DataError,
)
from .errors import (
    GuardError as GuardError,
)
from .errors import (
    InferredDomainWarning as InferredDomainWarning,
)
from .errors import (
    KakuranError as KakuranError,
)
from .errors import (
    LeakageWarning as LeakageWarning,
)
from .errors import (
    MissingExtraError as MissingExtraError,
)
from .errors import (
    MissingLettersWarning as MissingLettersWarning,
)
from .errors import (
    NotForPublicationWarning as NotForPublicationWarning,
)
from .errors import (
    ProtocolError as ProtocolError,
)
from .errors import (
    RandomnessError as RandomnessError,
)
from .errors import (
    ReleaseError as ReleaseError,
)
from .errors import (
    ScatteredNumbersWarning as ScatteredNumbersWarning,
)
from .errors import (
    SchemaError as SchemaError,
)
from .errors import (
    UnclearCellsWarning as UnclearCellsWarning,
)
from .estimators import (
    BooleanFactorisation as BooleanFactorisation,
)
from .estimators import (
    MaskedNMF as MaskedNMF,
)
from .estimators import (
    MatrixRelease as MatrixRelease,
)
from .estimators import (
    Microaggregation as Microaggregation,
)
from .estimators import (
    NoisyMixture as NoisyMixture,
)
from .estimators import (
    ReconstructedNaiveBayes as ReconstructedNaiveBayes,
)
from .estimators import (
    ReconstructedTree as ReconstructedTree,
)
from .mechanism import (
    PRAM as PRAM,
)
from .mechanism import (
    BoundedGaussian as BoundedGaussian,
)
from .mechanism import (
    BoundedLaplace as BoundedLaplace,
)
from .mechanism import (
    Laplace as Laplace,
)
from .mechanism import (
    RetentionReplacement as RetentionReplacement,
)
from .model import (
    Reconstruction as Reconstruction,
)
from .model import (
    reconstruct as reconstruct,
)
from .release import (
    Release as Release,
)
from .release import (
    perturb as perturb,
)
from .release import (
    perturb_file as perturb_file,
)
from .release import (
    read_release as read_release,
)
from .report import (
    release_report as release_report,
)
from .schema import (
    Categorical as Categorical,
)
from .schema import (
    Dropped as Dropped,
)
from .schema import (
    Numeric as Numeric,
)
from .schema import (
    Schema as Schema,
)
from .schema import (
    Tree as Tree,
)
from .schema import (
    open_source as open_source,
)
from .vertical import (
    VerticalFit as VerticalFit,
)
from .vertical import (
    VerticalPlan as VerticalPlan,
)
from .vertical import (
    fit_vertically as fit_vertically,
)

__version__: str
