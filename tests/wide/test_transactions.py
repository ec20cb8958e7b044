"""Baskets on disk: what is read as an item, and how they are written again."""

from collections import Counter
from functools import partial
from unicodedata import normalize

import numpy as np
import pytest
from scipy.sparse import csr_array

from kakuran.errors import DataError, SchemaError
from kakuran.wide import ItemsKept, ReleasedMatrix
from kakuran.wide.transactions import Transactions, read_transactions, write_transactions


def baskets_of(folder, lines):
    path = folder / "baskets.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_an_item_that_a_basket_names_twice_is_in_it_once(tmp_path):
    read = read_transactions(baskets_of(tmp_path, ["milk,bread,milk", "tea,tea"]), "baskets")
    assert list(read.items) == ["bread", "milk", "tea"]
    assert read.matrix.toarray().tolist() == [[1, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize(("with_id", "refused"), [(20, True), (19, True), (18, False)])
@pytest.mark.parametrize("line", ["customer {},milk", "milk,customer {}", "milk,customer {},milk"])
def test_baskets_are_refused_where_more_than_nine_tenths_hold_an_id_wherever_it_stands(
    tmp_path, line, with_id, refused
):
    lines = [line.format(place) if place < with_id else "milk,bread" for place in range(20)]
    path = baskets_of(tmp_path, lines)
    if refused:
        with pytest.raises(SchemaError, match="that no other line has, like an id"):
            read_transactions(path, "baskets")
    else:
        assert read_transactions(path, "baskets").matrix.shape == (20, 20)


@pytest.mark.parametrize(("with_id", "refused"), [(20, True), (19, True), (18, False)])
def test_a_long_table_is_refused_where_nearly_everybody_has_an_item_alone(tmp_path, with_id, refused):
    rows = [f"{place},receipt {place if place < with_id else 'x'}\n{place},milk" for place in range(20)]
    path = tmp_path / "long.csv"
    path.write_text("who,what\n" + "\n".join(rows) + "\n")
    if refused:
        with pytest.raises(DataError, match="like an id"):
            read_transactions(path, "long")
    else:
        assert read_transactions(path, "long").matrix.shape == (20, 20)


def test_a_wide_table_is_refused_where_a_column_numbers_people_in_any_order(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("who,milk\n" + "".join(f"{place * 7 % 20},{place % 2}\n" for place in range(20)))
    with pytest.raises(DataError, match="everybody has another number"):
        read_transactions(path, "wide")
    assert read_transactions(path, "wide", identifier="who").matrix.shape == (20, 1)


def test_items_of_a_basket_are_written_in_the_order_of_their_names(tmp_path):
    """A matrix may hold a row's places in any order, and that order may tell rows of one class apart."""
    matrix = csr_array((np.ones(6, np.int8), np.array([2, 0, 1, 0, 1, 2]), np.array([0, 3, 6])), shape=(2, 3))
    released = ReleasedMatrix(matrix, {}, {}, ItemsKept.of(matrix, matrix), None)
    write_transactions(tmp_path / "out.txt", released, Transactions(matrix, ["bread", "milk", "tea"]), "baskets")
    assert Counter((tmp_path / "out.txt").read_text().splitlines()) == {"bread,milk,tea": 2}


def test_names_in_two_encodings_are_one_person_and_one_item(tmp_path):
    path = tmp_path / "long.csv"
    rows = [f"{form('José')},{form('café')}" for form in (partial(normalize, "NFC"), partial(normalize, "NFD"))]
    path.write_text("\n".join(["who,what", *rows, "Ann,tea"]), encoding="utf-8")
    assert read_transactions(path, "long").matrix.shape == (2, 2)


def test_the_order_of_items_of_a_long_table_does_not_depend_on_the_people(tmp_path):
    """Numbered as they appear, items would be written in the order of the first person's basket."""
    rows = [("ann", "tea", 1), ("ann", "milk", 2), ("bob", "bread", 3), ("bob", "tea", 4), ("eve", "bread", 5)]
    read = []
    for place, chosen in enumerate([rows, rows[::-1], [*rows[2:], ("joe", "milk", 2)]]):
        path = tmp_path / f"{place}.csv"
        path.write_text("who,what,count\n" + "".join(f"{who},{what},{count}\n" for who, what, count in chosen))
        read.append(read_transactions(path, "long"))
        assert list(read[-1].items) == ["bread", "milk", "tea"]
    assert read[0].matrix.toarray().tolist() == [[0, 2, 1], [3, 0, 4], [5, 0, 0]]
    released = ReleasedMatrix(
        read[0].matrix[:, [2, 0, 1]][:, [1, 2, 0]], {}, {}, ItemsKept.of(*[read[0].matrix] * 2), None
    )
    write_transactions(tmp_path / "out.csv", released, read[0], "long")
    told = (tmp_path / "out.csv").read_text().replace('"', "").splitlines()
    assert told == ["who,what,count", "1,milk,2", "1,tea,1", "2,bread,3", "2,tea,4", "3,bread,5"]
