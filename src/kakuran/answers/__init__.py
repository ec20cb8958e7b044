"""Answers from a release: everything that can be asked of one, and one protocol for what comes back (`Answer`)."""

from kakuran.answers.answer import QUESTIONS, Answer, can_be_asked
from kakuran.answers.bayes import NaiveBayes, fit_naive_bayes, learn_bayes
from kakuran.answers.density import Density, density
from kakuran.answers.estimate import MOST_CELLS, Estimate, check_percent
from kakuran.answers.groups import AskedOf
from kakuran.answers.impossible import (
    FALSE_ALARM,
    MOST_POINTS,
    Impossible,
    ImpossibleFindings,
    impossible,
    log_chance_of,
    points_of,
)
from kakuran.answers.mixture import MixtureEstimate, mixture
from kakuran.answers.quantile import quantile
from kakuran.answers.reader import Reader, TableQuestion, ask, ask_totals, tell_by_tell
from kakuran.answers.regression import Regression, RegressionFamily, regress
from kakuran.answers.statistics import Statistic, correlation, mean, share, variance, weighed
from kakuran.answers.synthetic import CombinedEstimate, SyntheticQuality, SyntheticTable, combine, synthesise
from kakuran.answers.tree import (
    CRITERIA,
    Classifier,
    DecisionTree,
    GrownTree,
    Growth,
    LearningColumns,
    Node,
    SplitCriterion,
    check_classes,
    columns_for,
    grow_tree,
    learn_tree,
)

__all__ = [
    "CRITERIA",
    "FALSE_ALARM",
    "MOST_CELLS",
    "MOST_POINTS",
    "QUESTIONS",
    "Answer",
    "AskedOf",
    "Classifier",
    "CombinedEstimate",
    "DecisionTree",
    "Density",
    "Estimate",
    "GrownTree",
    "Growth",
    "Impossible",
    "ImpossibleFindings",
    "LearningColumns",
    "MixtureEstimate",
    "NaiveBayes",
    "Node",
    "Reader",
    "Regression",
    "RegressionFamily",
    "SplitCriterion",
    "Statistic",
    "SyntheticQuality",
    "SyntheticTable",
    "TableQuestion",
    "ask",
    "ask_totals",
    "can_be_asked",
    "check_classes",
    "check_percent",
    "columns_for",
    "combine",
    "correlation",
    "density",
    "fit_naive_bayes",
    "grow_tree",
    "impossible",
    "learn_bayes",
    "learn_tree",
    "log_chance_of",
    "mean",
    "mixture",
    "points_of",
    "quantile",
    "regress",
    "share",
    "synthesise",
    "tell_by_tell",
    "variance",
    "weighed",
]
