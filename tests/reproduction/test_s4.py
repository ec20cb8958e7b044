import numpy as np
import pytest

from kakuran.model.reconstruction import class_by_class, maximum_likelihood
from kakuran.reproduction import s4
from kakuran.reproduction.s4 import CLAIMS, CURVES, FIGURES, Setting, errors_of, reproduce


def test_every_figure_is_drawn_told_and_put_in_numbers(tmp_path, assert_all_is_found):
    found = reproduce(tmp_path, quick=True)
    text = found.text
    assert_all_is_found("s4", found)
    assert {path.name for path in tmp_path.iterdir()} == {"s4-retention.png", "s4-classes.png"}
    for figure in FIGURES:
        assert f"## {figure.title}\n" in text
        assert text.count(f"\n| {figure.number} |") == len(CLAIMS[figure.number])
    for curve in CURVES:
        assert text.count(f"\n| {curve} |") == len(FIGURES)
    assert "Against EIBT converged" in text
    assert "| 101 | COUNT(P₀^2 ∧ P₁) | 1,600 |" in text


def test_classes_together_and_apart_agree_where_both_are_well_determined():
    rows = [line.split(" | ") for line in s4.report() if line.startswith("| 0")]
    assert len(rows) == 4
    assert all(row[4] == row[5].rstrip(" |") for row in rows)


def test_figures_2_to_15_have_the_settings_of_the_paper():
    assert [figure.number for figure in FIGURES] == list(range(2, 16))
    by_number = {figure.number: figure for figure in FIGURES}
    assert by_number[9].settings([0.3]) == [Setting(10, 3, 10_000, 0.3)]
    assert by_number[13].settings([7]) == [Setting(7, 1, 100_000, 0.1)]


def test_the_draws_follow_the_population_and_the_perturbation():
    setting = Setting(3, 2, 200_000, 0.4)
    truth, perturbed = setting.draw(5)
    assert setting.shares.sum() == pytest.approx(1)
    assert setting.shares.sum(axis=(1, 2)) == pytest.approx(np.array([6, 3, 2]) / 11)
    expected = setting.operator.forward(truth.sum(axis=0))
    assert np.abs(truth.sum(axis=0) / 1e6 - setting.shares).max() < 6 * 0.5e-3
    assert (np.abs(perturbed.sum(axis=0) - expected) < 6 * np.sqrt(expected)).all()
    assert (perturbed.sum(axis=(1, 2, 3)) == 200_000).all()


def test_the_same_setting_is_drawn_alike_every_time():
    setting = Setting(4, 1, 10_000, 0.2)
    assert (setting.draw(2)[1] == setting.draw(2)[1]).all()


def test_repetitions_converge_together_as_they_do_alone():
    setting = Setting(5, 1, 10_000, 0.2)
    _, tables = setting.draw(3)
    together = CURVES["EIBT"](tables, setting.operator), CURVES["IBT"](tables, setting.operator)
    for place, table in enumerate(tables):
        joint, _ = maximum_likelihood(table, setting.operator)
        one_by_one = class_by_class(table, setting.operator, run=maximum_likelihood)
        assert together[0][place] == pytest.approx(joint, abs=1.0)
        assert together[1][place] == pytest.approx(one_by_one, abs=1.0)


@pytest.mark.parametrize(("classes", "explanatory"), [(5, 1), (10, 3)])
def test_at_low_retention_all_classes_at_once_are_nearer_to_the_truth_and_auto_nearer_still(classes, explanatory):
    errors = {curve: found.mean() for curve, found in errors_of(Setting(classes, explanatory, 10_000, 0.1), 10).items()}
    assert errors["auto"] < 0.85 * errors["EIBT"] < 0.85 * errors["IBT"] < errors["randomized"]


def test_with_many_records_and_more_retention_they_are_nearly_equal():
    errors = {curve: found.mean() for curve, found in errors_of(Setting(5, 1, 100_000, 0.2), 10).items()}
    assert errors["EIBT"] == pytest.approx(errors["IBT"], abs=0.02)
