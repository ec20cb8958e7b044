"""Numbers as people write them are read as they are said to be written, and not otherwise."""

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import kakuran as kk
from kakuran.schema.written_numbers import DECIMALS, THOUSANDS, NumberFormat, explaining, what_to_type

FORMATS = [NumberFormat(decimal, sign) for decimal in DECIMALS for sign in (None, *THOUSANDS) if sign != decimal]


def written(number, how, places=2):
    """A number as somebody writes it."""
    text = f"{number:,.{places}f}".replace(".", "d").replace(",", how.thousands or "")
    return text.replace("d", how.decimal)


@given(
    how=st.sampled_from(FORMATS),
    numbers=st.lists(st.integers(-(10**14), 10**14), min_size=1),
    places=st.integers(0, 3),
)
def test_what_is_written_comes_back(how, numbers, places):
    texts = pa.array([written(number / 10**places, how, places) for number in numbers])
    assert how.read("x", texts, pa.float64()).to_pylist() == [number / 10**places for number in numbers]
    named = explaining(texts.to_pylist())
    assert any(one.decimal in (".", how.decimal) and one.thousands in (None, how.thousands) for one in named)


@pytest.mark.parametrize(
    ("word", "value"),
    [("1.234.567,8", 1234567.8), (" 12 ", 12), ("-1.234", -1234), ("+7,5", 7.5), (",5", 0.5), ("1,5e3", 1500)],
)
def test_known_numbers_with_points_between_thousands(word, value):
    assert NumberFormat(",", ".").read("x", pa.array([word]), pa.float64()).to_pylist() == [value]


@pytest.mark.parametrize("word", ["1.5", "12.34,5", "1.2345", "1..234", ".123", "1.234.", "1,2,3", "1.23.456", "0x10"])
def test_a_sign_that_does_not_separate_groups_of_three_is_refused(word):
    with pytest.raises(kk.DataError, match=r'column \'x\': at least one row is not one of numbers with "," before'):
        NumberFormat(",", ".").read("x", pa.array(["1", word]), pa.float64())


def test_whole_numbers_have_no_decimals_and_are_not_too_large_to_be_kept():
    for word in ("1,0", "1" * 19):
        with pytest.raises(kk.DataError, match=f"for example '{word}'"):
            NumberFormat(",").read("x", pa.array(["1", word]), pa.int64())


def test_groups_of_two_as_in_india_are_refused_clearly():
    with pytest.raises(kk.DataError, match=r"between groups of three digits, for example '1,00,000'\. Correct"):
        NumberFormat(".", ",").read("x", pa.array(["1,000", "1,00,000"]), pa.float64())


def test_spaces_and_apostrophes_of_print_shops_count_as_plain_ones():
    assert NumberFormat(",", " ").read("x", pa.array(["1\u202f234,5", "1\u00a0234"]), pa.float64()).to_pylist() == [
        1234.5,
        1234,
    ]
    assert NumberFormat(".", "'").read("x", pa.array(["1’234"]), pa.int64()).to_pylist() == [1234]


@given(words=st.lists(st.from_regex(r"[+-]?[0-9]{1,4}([.,' ][0-9]{1,4}){0,3}", fullmatch=True), min_size=1, max_size=4))
def test_only_a_comma_can_be_meant_in_two_ways(words):
    formats = explaining(words)
    assert len(formats) < 2 or set(formats) == {NumberFormat(","), NumberFormat(".", ",")}


def test_what_is_missing_stays_missing():
    assert NumberFormat(",").read("x", pa.array(["", "NA", None, "1"]), pa.float64()).to_pylist() == [None] * 3 + [1]


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["", None], pa.null()),
        (["1.234", "5"], pa.int64()),
        (["1.234", "5,0"], pa.float64()),
        (["1" * 19], pa.float64()),
        (["1.5"], pa.string()),
    ],
)
def test_a_column_is_whole_numbers_numbers_or_text(texts, kind):
    assert NumberFormat(",", ".").kind_of(pa.array(texts, pa.string())) == kind


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["-7,899"], '--decimal "," if 1,234 is 1.234 or --thousands "," if 1,234 is 1234'),
        (["1,234", "0,5"], '--decimal ","'),
        (["1 234,5"], '--decimal "," --thousands " "'),
        (["1'234.5"], '--thousands "\'"'),
        (["1,00,000"], ""),
        (["12.5"], ""),
        (["twelve"], ""),
    ],
)
def test_the_options_to_type_are_named_and_where_two_would_do_what_each_means(words, options):
    assert what_to_type(words) == options


@pytest.mark.parametrize(
    ("signs", "words"),
    [
        ((";", None), '--decimal .* is "." or ","'),
        ((".", "_"), "--thousands .* got '_'"),
        ((".", "."), 'name the other sign too: --decimal ","'),
        ((",", ","), 'name the other sign too: --decimal "."'),
    ],
)
def test_signs_that_cannot_be_meant_are_refused(signs, words):
    with pytest.raises(kk.SchemaError, match=words):
        NumberFormat(*signs)
