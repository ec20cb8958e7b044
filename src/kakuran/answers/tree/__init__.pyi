from .columns import (
    LUCK_OF_CHOICE as LUCK_OF_CHOICE,
    Classifier as Classifier,
    LearningColumns as LearningColumns,
    ToldRecords as ToldRecords,
    check_classes as check_classes,
    columns_for as columns_for,
)
from .counts import (
    Counted as Counted,
    PathCounts as PathCounts,
    Weighing as Weighing,
)
from .decision import (
    DecisionTree as DecisionTree,
    GrownTree as GrownTree,
    grow_tree as grow_tree,
    learn_tree as learn_tree,
)
from .growth import (
    Growth as Growth,
    Node as Node,
)
from .pruning import (
    LatentModel as LatentModel,
    held_out_score as held_out_score,
)
from .splits import (
    CRITERIA as CRITERIA,
    SplitCriterion as SplitCriterion,
)
