from __future__ import annotations

import json

import numpy as np
import pytest

from kakuran.collect.site import STATIC
from kakuran.errors import CalibrationError
from kakuran.mechanism import PRAM, BoundedGaussian, BoundedLaplace, Laplace, RetentionReplacement
from kakuran.mechanism.base import MOST_WEIGHTS, TOTAL


@pytest.mark.parametrize("noise", [BoundedLaplace(121, 1, 30), Laplace(11, 1, 6), BoundedGaussian(41, 0.5, 7)])
def test_noise_is_described_by_the_exact_weights_it_is_drawn_from(noise):
    said = noise.drawn_by()
    up = [int(weight) for weight in said["weights"]]
    assert [*reversed(up[1:]), *up] == noise.exact_weights.tolist()
    assert len(up) == noise.size + noise.reach


def test_a_matrix_is_described_row_by_row():
    said = PRAM([[0.9, 0.1], [0.2, 0.8]]).drawn_by()
    assert [sum(map(int, row)) for row in said["weights"]] == [TOTAL, TOTAL]


def test_a_description_survives_json_to_the_last_digit():
    for mechanism in (RetentionReplacement(7, 0.31), BoundedLaplace(121, 1, 30), PRAM(np.full((3, 3), 1 / 3))):
        assert json.loads(json.dumps(mechanism.drawn_by())) == mechanism.drawn_by()


def test_a_grid_too_fine_for_a_phone_is_refused():
    assert len(BoundedLaplace(MOST_WEIGHTS, 1, 30).drawn_by()["weights"]) == MOST_WEIGHTS
    with pytest.raises(CalibrationError, match="use a larger step"):
        BoundedLaplace(MOST_WEIGHTS + 1, 1, 30).drawn_by()


def test_an_age_takes_a_page_few_bytes():
    assert len(json.dumps(BoundedLaplace(121, 1, 30).drawn_by())) < 3_000


def test_the_file_to_audit_is_short():
    assert len((STATIC / "perturb.js").read_text(encoding="utf-8").splitlines()) < 320
