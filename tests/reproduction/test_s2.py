"""S2's figure 1, run again."""

from kakuran.reproduction.s2 import METHODS, SIZES, errors, protocols_agree, reproduce


def test_selection_beats_all_variables_most_where_records_are_few():
    found = errors(repeats=12)
    gain = found["all variables"] - found["S2: AIC, S2's ranking"]
    assert (gain > 0).all()
    assert gain[0] > gain[-1]
    assert found["all variables"][0] > 1.4


def test_the_protocol_itself_chooses_the_model_the_figure_is_drawn_from():
    assert protocols_agree(2) == 2


def test_the_report_has_the_figure_and_a_row_for_every_method(tmp_path, assert_all_is_found):
    found = reproduce(tmp_path, quick=True)
    report = found.text
    assert_all_is_found("s2", found)
    assert (tmp_path / "s2-figure-1.png").stat().st_size > 10_000
    for name in METHODS:
        assert f"| {name} |" in report
    assert f"N={SIZES[-1]}" in report
    assert "S2 has 1,000" in report
