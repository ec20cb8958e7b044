"""scikit-learn's own checks of estimators, on plain arrays."""

from sklearn.utils.estimator_checks import parametrize_with_checks

import kakuran as kk


@parametrize_with_checks([kk.ReconstructedTree(), kk.ReconstructedNaiveBayes()])
def test_an_estimator_behaves_as_scikit_learn_expects(estimator, check):
    check(estimator)
