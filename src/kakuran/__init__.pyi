from .advice import (
    Advice as Advice,
    advise as advise,
)
from .answers import (
    Answer as Answer,
    CombinedEstimate as CombinedEstimate,
    DecisionTree as DecisionTree,
    Density as Density,
    Estimate as Estimate,
    MixtureEstimate as MixtureEstimate,
    NaiveBayes as NaiveBayes,
    Regression as Regression,
    Statistic as Statistic,
    SyntheticTable as SyntheticTable,
    combine as combine,
)
from .audit import (
    Anonymity as Anonymity,
    Audit as Audit,
    Graph as Graph,
    audit as audit,
    check_anonymity as check_anonymity,
    information_loss as information_loss,
    l1_accuracy as l1_accuracy,
)
from .collect import (
    Survey as Survey,
    SurveyClient as SurveyClient,
)
from .design import (
    Account as Account,
    Design as Design,
    Ledger as Ledger,
    Plan as Plan,
    TableError as TableError,
    calibrate as calibrate,
    designs as designs,
    preview as preview,
    propose_bands as propose_bands,
)
from .errors import (
    ArgumentError as ArgumentError,
    CalibrationError as CalibrationError,
    CollectError as CollectError,
    DataError as DataError,
    GuardError as GuardError,
    InferredDomainWarning as InferredDomainWarning,
    KakuranError as KakuranError,
    LeakageWarning as LeakageWarning,
    MissingExtraError as MissingExtraError,
    MissingLettersWarning as MissingLettersWarning,
    NotForPublicationWarning as NotForPublicationWarning,
    ProtocolError as ProtocolError,
    RandomnessError as RandomnessError,
    ReleaseError as ReleaseError,
    ScatteredNumbersWarning as ScatteredNumbersWarning,
    SchemaError as SchemaError,
    UnclearCellsWarning as UnclearCellsWarning,
)
from .estimators import (
    BooleanFactorisation as BooleanFactorisation,
    MaskedNMF as MaskedNMF,
    MatrixRelease as MatrixRelease,
    Microaggregation as Microaggregation,
    NoisyMixture as NoisyMixture,
    ReconstructedNaiveBayes as ReconstructedNaiveBayes,
    ReconstructedTree as ReconstructedTree,
)
from .mechanism import (
    PRAM as PRAM,
    BoundedGaussian as BoundedGaussian,
    BoundedLaplace as BoundedLaplace,
    Laplace as Laplace,
    RetentionReplacement as RetentionReplacement,
    SquareWave as SquareWave,
)
from .model import (
    Reconstruction as Reconstruction,
    reconstruct as reconstruct,
)
from .release import (
    Release as Release,
    perturb as perturb,
    perturb_file as perturb_file,
    read_release as read_release,
)
from .report import (
    release_report as release_report,
    save_synthetic as save_synthetic,
)
from .schema import (
    Categorical as Categorical,
    Date as Date,
    Dropped as Dropped,
    Numeric as Numeric,
    Schema as Schema,
    Tree as Tree,
    Weight as Weight,
    open_source as open_source,
)
from .vertical import (
    VerticalFit as VerticalFit,
    VerticalPlan as VerticalPlan,
    fit_vertically as fit_vertically,
)

__version__: str
