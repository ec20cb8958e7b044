"""Charts show what they are given, and nothing is loaded for them before something is drawn."""

import io
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.colors import to_hex

from kakuran.charts import (
    ESTIMATE,
    INK,
    NAIVE,
    Series,
    TreeBox,
    as_svg,
    bar_chart,
    column_chart,
    heatmaps_to_compare,
    loss_chart,
    tree_chart,
)


def test_bars_and_intervals_below_zero_are_seen_whole():
    for value, low, high in ((-2.0, -3.0, -1.0), (1.0, -1.0, 3.0)):
        (plot,) = bar_chart(["a"], [Series("", np.array([value]), INK, (np.array([low]), np.array([high])))]).axes
        least, most = plot.get_xlim()
        assert least <= low
        assert most >= max(high, 0)


def bars_of(plot):
    """The length and the colour of every bar, a list a series."""
    return [
        [(bar.get_width(), to_hex(bar.get_facecolor())) for bar in bars]
        for bars in plot.containers
        if hasattr(bars, "patches")
    ]


def test_bars_of_a_label_stand_together_and_intervals_reach_from_low_to_high():
    interval = np.array([8.0, 15.0]), np.array([12.0, 29.0])
    series = [Series("naive", np.array([11.0, 19.0]), NAIVE), Series("new", np.array([10.0, 20.0]), ESTIMATE, interval)]
    (plot,) = bar_chart(["a", "b"], series).axes
    assert bars_of(plot) == [[(11, NAIVE), (19, NAIVE)], [(10, ESTIMATE), (20, ESTIMATE)]]
    assert [segment[:, 0].tolist() for segment in plot.collections[0].get_segments()] == [[8, 12], [15, 29]]
    assert [label.get_text() for label in plot.get_yticklabels()] == ["a", "b"]


def test_the_chosen_loss_stands_out_and_every_loss_has_its_number():
    (plot,) = loss_chart("lost", {"one": 0.25, "other": 2.0}, "share", chosen="other").axes
    assert bars_of(plot) == [[(0.25, INK), (2, ESTIMATE)]]
    assert [text.get_text() for text in plot.texts] == ["0.25", "2"]


def test_columns_have_a_panel_a_title_and_one_legend():
    panels = {title: [Series("all", np.array([1.0, 2.0]), INK)] for title in ("women", "men")}
    figure = column_chart(["a", "b"], panels, width=6)
    assert [plot.get_title(loc="left") for plot in figure.axes] == ["women", "men"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["all"]


def test_words_that_are_wider_than_columns_are_put_into_lines_and_not_cut():
    words = "share of those who completed upper secondary education"
    figure = column_chart(["a"], {2 * f"{words} ": [Series("all", np.array([1.0]), INK)]}, width=4, up=words)
    figure.savefig(io.BytesIO(), dpi=figure.dpi)  # which lays it out
    (plot,) = figure.axes
    for text in (plot._left_title, plot.yaxis.label):
        box = text.get_window_extent()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1
    assert plot.bbox.width > figure.bbox.width / 2
    twice_as_wide = column_chart(["a"], {30 * "割": [Series("all", np.array([1.0]), INK)]}, width=4).axes[0]
    assert twice_as_wide.get_title(loc="left").split("\n") == [23 * "割", 7 * "割"]


@pytest.mark.parametrize("is_stacked", [False, True])
def test_only_the_last_heatmap_hatches_what_is_unclear(is_stacked):
    counts = np.arange(4.0).reshape(2, 2)
    sides = ("job", ["x", "y"]), ("sex", ["f", "m"])
    figure = heatmaps_to_compare(*sides, {"naive": counts, "new": counts}, counts > 1, is_stacked=is_stacked)
    assert [len(plot.patches) for plot in figure.axes] == [0, 2]
    assert figure.axes[0].images[0].get_clim() == figure.axes[1].images[0].get_clim()


def test_leaves_of_a_tree_stand_below_each_other_and_a_box_between_those_that_follow():
    leaves = [TreeBox(said, said, np.array([0.5, 0.5])) for said in ("first", "second", "third")]
    inner = TreeBox("inner", "inner", np.array([0.5, 0.5]), tuple(leaves[1:]))
    (plot,) = tree_chart(TreeBox("", "root", np.array([0.5, 0.5]), (leaves[0], inner)), "class", ["no", "yes"]).axes
    heights = {text.get_text(): text.get_position()[1] for text in plot.texts if text.get_style() == "normal"}
    first, second, third = (heights[leaf.said] for leaf in leaves)
    assert first > second > third
    assert heights["inner"] == pytest.approx((second + third) / 2)
    assert heights["root"] == pytest.approx((first + heights["inner"]) / 2)


def test_the_same_figure_is_the_same_svg_and_its_words_stay_words():
    one, other = (as_svg(loss_chart("失われた", {"職業": 0.5}, "share")) for _ in range(2))
    assert one == other
    assert "失われた" in one
    assert "職業" in one


def test_a_dollar_begins_no_formula():
    (plot,) = bar_chart(["$1", "$2$"], [Series("", np.array([1.0, 2.0]), INK)]).axes
    assert [label.get_text() for label in plot.get_yticklabels()] == [r"\$1", r"\$2\$"]


def test_matplotlib_is_loaded_when_something_is_drawn_and_not_before():
    code = "import sys, kakuran.charts, kakuran.answers; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize("most", [0.004, 0.013, 0.03, 0.12, 0.6])
def test_no_number_stands_twice_along_an_axis(most):
    figure = bar_chart(["a", "b"], [Series("", np.array([most / 2, most]), INK)], written="{x:.0%}")
    figure.canvas.draw()
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels() if label.get_text()]
    assert len(labels) == len(set(labels)) > 2
    assert (most < 0.1) or labels[0] == "0%"  # no more decimals than it takes
