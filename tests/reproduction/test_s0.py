from pathlib import Path

import pytest

from kakuran.reproduction import s0

DATA = Path(__file__).parents[3] / "shared/data"


def test_a_quick_run_writes_both_figures_and_says_what_is_missing(rough_models, monkeypatch, tmp_path):
    monkeypatch.setattr(s0, "COMPONENTS", (2, 6))
    told = s0.reproduce(tmp_path, quick=True, data=tmp_path).text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s0-figure-1.png", "s0-figure-2.png"]
    assert "N = 1,000" in told
    assert "needs the Adult data" in told


def test_the_same_seed_draws_the_same_records():
    first, second = s0.draw_codes(1000, 7), s0.draw_codes(1000, 7)
    assert (first[1] == second[1]).all()
    assert (first[0] != first[1]).mean() > 0.9


def test_the_observed_range_gives_the_noise_s0_prints():
    for n, printed in s0.SCALES.items():
        if n <= 10_000:
            drawn = [s0.scale_for_observed_range(s0.draw_numbers(n, seed)) for seed in range(10)]
            assert sum(drawn) / len(drawn) == pytest.approx(printed, rel=0.02)


@pytest.mark.skipif(not (DATA / "adult.data").exists(), reason="the Adult data set is not beside the checkout")
def test_one_release_of_adult_reaches_what_ten_must_on_average():
    column = s0.adult_column(DATA, "education-num")
    assert (column.min(), column.max(), len(column)) == (1, 16, 32_561)
    own, auto, _ = s0.adult_accuracies(column, "education-num", 0)
    assert auto > 85 > max(s0.PRINTED["education-num"])
    assert own > s0.PRINTED["education-num"][1]
    assert s0.scale_for_observed_range(column) == pytest.approx(2.887, abs=1e-3)
