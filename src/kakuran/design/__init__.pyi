from .account import (
    Account as Account,
    LedgerEntry as LedgerEntry,
    Spending as Spending,
)
from .bands import (
    BandProposal as BandProposal,
    in_bands as in_bands,
    propose_bands as propose_bands,
)
from .blanket import (
    Blanket as Blanket,
)
from .calibration import (
    CountsItself as CountsItself,
    calibrate as calibrate,
    count_columns as count_columns,
    group_sizes as group_sizes,
    plan_within as plan_within,
    smallest_group as smallest_group,
)
from .central import (
    DELTA as DELTA,
    central_epsilon as central_epsilon,
    gaussian_spread as gaussian_spread,
    hockey_stick as hockey_stick,
    local_epsilon as local_epsilon,
)
from .composition import (
    Accounting as Accounting,
    CentralPart as CentralPart,
    composed_epsilon as composed_epsilon,
)
from .crowd import (
    Crowd as Crowd,
)
from .designs import (
    WAYS as WAYS,
    Design as Design,
    ExpectedError as ExpectedError,
    Purpose as Purpose,
    TellChoice as TellChoice,
    designs as designs,
    expected_error as expected_error,
    expected_error_of_noise as expected_error_of_noise,
)
from .guarantee import (
    CENTRAL_CEILING as CENTRAL_CEILING,
    CERTAINTY as CERTAINTY,
    Guarantee as Guarantee,
    plan_among as plan_among,
)
from .ledger_file import (
    Entering as Entering,
    Ledger as Ledger,
)
from .plan import (
    HARDLY_PERTURBED as HARDLY_PERTURBED,
    MOST_PEOPLE as MOST_PEOPLE,
    Calibration as Calibration,
    Plan as Plan,
    Tell as Tell,
)
from .preview import (
    TableError as TableError,
    TablesOfSize as TablesOfSize,
    by_size as by_size,
    preview as preview,
)
