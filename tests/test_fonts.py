"""Letters of pictures are drawn in fonts that have them, and where no font has, that is said once."""

import io
import warnings
from pathlib import Path

import matplotlib
import pytest
from matplotlib import font_manager

import kakuran as kk
from kakuran.charts.fonts import Picture, _fonts_with

BUNDLED = Path(matplotlib.get_data_path())


@pytest.fixture(autouse=True)
def _only_the_fonts_that_come_with_matplotlib(monkeypatch):
    fonts = [font for font in font_manager.fontManager.ttflist if BUNDLED in Path(font.fname).parents]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", fonts)
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    _fonts_with.cache_clear()
    yield
    _fonts_with.cache_clear()


def drawn(*labels):
    figure = Picture(layout="constrained")
    figure.subplots().barh(labels, range(len(labels)))  # matplotlib writes such labels only as it draws
    figure.savefig(io.BytesIO(), format="png")
    return figure


def families(figure):
    return {family for label in figure.axes[0].get_yticklabels() for family in label.get_fontfamily()}


def test_letters_that_the_font_has_stay_in_it():
    assert families(drawn("care", "Übung, ε")) == {"sans-serif"}


def test_letters_that_the_font_lacks_are_taken_from_one_that_has_them():
    assert families(drawn("care", "Ⓐ")) == {"sans-serif", "STIXGeneral"}


def test_letters_that_no_font_has_are_named_once_with_the_way_out():
    with pytest.warns(kk.MissingLettersWarning, match="職.*Noto Sans CJK") as told:
        drawn("職業", "教員")
    assert len(told) == 1


def test_a_figure_drawn_again_says_nothing_new():
    with pytest.warns(kk.MissingLettersWarning):
        figure = drawn("職業")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.savefig(io.BytesIO(), format="svg")


def test_a_font_installed_after_matplotlib_made_its_list_is_found(monkeypatch):
    stix = BUNDLED / "fonts/ttf/STIXGeneral.ttf"
    fonts = [font for font in font_manager.fontManager.ttflist if "STIX" not in font.name]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", fonts)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [str(stix)])
    assert "STIXGeneral" in families(drawn("Ⓐ"))
