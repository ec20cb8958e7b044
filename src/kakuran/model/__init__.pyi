from .density import (
    BinShares as BinShares,
    DensityMethod as DensityMethod,
    estimate_shares as estimate_shares,
)
from .intervals import (
    LARGEST_AXIS as LARGEST_AXIS,
    About as About,
    influence as influence,
    interval as interval,
    inverse_estimate as inverse_estimate,
)
from .joint import (
    JointModel as JointModel,
    joint_model as joint_model,
)
from .latent_records import (
    STARTS as STARTS,
    Occupied as Occupied,
    PlacedRecords as PlacedRecords,
    Table as Table,
    average as average,
    fit_latent_classes as fit_latent_classes,
    held_out as held_out,
)
from .latent_tells import ToldCounts as ToldCounts
from .mixture.fit import (
    Bootstrap as Bootstrap,
    Covariance as Covariance,
    Mixture as Mixture,
    Options as Options,
    Solver as Solver,
    bootstrap as bootstrap,
    bootstrap_counts as bootstrap_counts,
    fit_mixture as fit_mixture,
    mixture_of_columns as mixture_of_columns,
    refitted as refitted,
)
from .mixture.growth import (
    SelectionCriterion as SelectionCriterion,
    try_out_by as try_out_by,
)
from .mixture.observations import (
    ColumnNoise as ColumnNoise,
    Components as Components,
    Observations as Observations,
    PerturbedColumn as PerturbedColumn,
    PerturbedGrid as PerturbedGrid,
    noises_of as noises_of,
    observations as observations,
    observe as observe,
    of_codes as of_codes,
    of_table as of_table,
    shares_of_cells as shares_of_cells,
)
from .moments import (
    Moment as Moment,
    ToldCells as ToldCells,
    TrueMoments as TrueMoments,
    effective as effective,
    moments_of as moments_of,
    unbiased as unbiased,
)
from .operator import (
    Histogram as Histogram,
    Operator as Operator,
    one_thread as one_thread,
    operator_of as operator_of,
    transition_between as transition_between,
)
from .reconstruction import (
    Method as Method,
    Reconstruction as Reconstruction,
    class_by_class as class_by_class,
    ibt as ibt,
    marginal as marginal,
    maximum_likelihood as maximum_likelihood,
    reconstruct as reconstruct,
)
