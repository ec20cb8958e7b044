"""scikit-learn is an extra: only the estimators need it."""

import subprocess
import sys

WITHOUT = "import sys; sys.modules['sklearn'] = None\n"


def test_an_estimator_without_scikit_learn_says_what_to_install():
    code = (
        WITHOUT
        + "import kakuran as kk\ntry:\n    kk.MatrixRelease\nexcept kk.MissingExtraError as error:\n    print(error)"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert "kakuran[sklearn]" in told


def test_everything_below_the_estimators_runs_without_scikit_learn():
    code = WITHOUT + (
        "import numpy as np\nfrom kakuran.wide import release_matrix\n"
        "from kakuran.wide import microaggregate\n"
        "print(microaggregate(np.arange(6.0), 3).k, release_matrix(np.zeros((9, 4)), 3, rank=2).loss)"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert told == "3 0.0\n"
