"""Dates: the periods they are told by, and the ways people write them."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import kakuran as kk
from kakuran.schema import decode, encode
from kakuran.schema.dates import day_of

APRIL = (datetime.date(2020, 4, 3) - datetime.date(1970, 1, 1)).days


class TestWriting:
    @pytest.mark.parametrize(
        "word",
        [
            "2020-04-03",
            "2020/4/3",
            "2020.04.03",
            "20200403",
            " 2020-04-03T23:59:59Z ",
            "2020-04-03 12:30",
            "3.4.2020",
            "3 Apr 2020",
            "03-APR-2020",
            "April 3, 2020",
            "2020年4月3日",
            "２０２０年４月３日",
            "令和2年4月3日",
            "令和２年４月３日",
            "R2.4.3",
            "r2/4/3",
            "平成32年4月3日",
            "H32.4.3",
            "昭和95年4月3日",
        ],
    )
    def test_what_can_be_meant_in_one_way_is_read(self, word):
        assert day_of(word) == APRIL

    def test_the_first_year_of_an_era_has_a_name(self):
        assert day_of("令和元年5月1日") == day_of("2019-05-01")
        assert day_of("平成元年1月8日") == day_of("S64.1.8") == day_of("1989-01-08")
        assert day_of("大正1年7月30日") == day_of("M45.7.30") == day_of("1912-07-30")

    def test_months_and_quarters_are_called_by_their_first_day(self):
        assert day_of("2020-04") == day_of("2020年4月") == day_of("R2.4") == day_of("2020-Q2") == day_of("2020-04-01")

    def test_days_and_months_are_told_apart_by_whoever_knows(self):
        assert day_of("3/4/2020") is None
        assert day_of("3/4/2020", "d/m/y") == APRIL == day_of("4/3/2020", "m/d/y")
        assert day_of("13/04/2020", "m/d/y") is None

    @pytest.mark.parametrize("word", ["", "soon", "2020-13-01", "2021-02-29", "3/4/20", "12345", "1234.5", "R2"])
    def test_anything_else_is_no_date(self, word):
        assert day_of(word) is None

    def test_a_column_that_needs_an_order_says_which(self):
        schema = kk.Schema([kk.Date("born", "1900-01-01", "2030-12-31", step="year")])
        with pytest.raises(kk.DataError, match="order = 'd/m/y' or order = 'm/d/y'"):
            schema.encode(pa.table({"born": ["3/4/2020"]}))
        with pytest.raises(kk.DataError, match=r"how it is meant: order = 'd/m/y'\."):
            schema.encode(pa.table({"born": ["13/4/2020"]}))


DATES = st.dates(datetime.date(1990, 1, 1), datetime.date(2029, 12, 31))
PERIODS = ["day", "week", "month", "quarter", "year"]


class TestPeriods:
    @given(DATES, st.sampled_from(PERIODS))
    def test_every_day_lies_in_its_period(self, day, step):
        column = kk.Date("x", "1990-01-01", "2029-12-31", step=step)
        (code,) = encode(column, pa.array([day]))
        first, last = (ends[0] for ends in column.ends_of(np.array([code])))
        assert first <= (day - datetime.date(1970, 1, 1)).days <= last

    @given(st.integers(-50, 3000), st.sampled_from(PERIODS))
    def test_released_dates_are_read_back_also_beyond_the_bounds(self, code, step):
        column = kk.Date("x", "2000-02-29", "2009-12-31", step=step, missing="category")
        codes = np.array([min(code, column.points + 49), column.points + 50], np.int32)
        released = decode(column, codes, 50)
        assert released.type == pa.date32()
        assert encode(column, released, 50, is_released=True).tolist() == codes.tolist()

    @pytest.mark.parametrize(
        ("step", "size", "label", "both"),
        [
            ("day", 366, "2020-01-01", "2020-01-01–2020-01-02"),
            ("week", 53, "2020-01-01", "2020-01-01–2020-01-14"),
            ("month", 12, "2020-01", "2020-01-01–2020-02-29"),
            ("quarter", 4, "2020-Q1", "2020-01-01–2020-06-30"),
        ],
    )
    def test_periods_are_called_by_what_they_hold(self, step, size, label, both):
        column = kk.Date("x", "2020-01-01", "2020-12-31", step=step)
        assert (column.size, column.label(0, 0), column.label(0, 1)) == (size, label, both)

    def test_periods_are_whole(self):
        column = kk.Date("x", "2020-02-15", "2020-03-01", step="month")
        assert (column.written(column.low), column.written(column.high)) == ("2020-02-01", "2020-03-31")

    def test_they_survive_toml(self, tmp_path):
        schema = kk.Schema(
            [kk.Date("x", datetime.date(2020, 1, 1), "2020-12-31", "week", "d/m/y", clip=True, missing_codes=["n/a"])]
        )
        schema.save(tmp_path / "schema.toml")
        assert kk.Schema.load(tmp_path / "schema.toml") == schema

    def test_dates_may_stand_in_toml_as_such(self, tmp_path):
        path = tmp_path / "schema.toml"
        path.write_text('[columns.x]\ntype = "date"\nlow = 2020-01-01\nhigh = 2020-12-31\nstep = "month"\n')
        assert kk.Schema.load(path)["x"] == kk.Date("x", "2020-01-01", "2020-12-31", step="month")

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"low": "soon"}, "low must be a date, as 2020-04-03, got 'soon'"),
            ({"low": 2020}, "low must be a date"),
            ({"low": "2021-01-01"}, "low must not be after high"),
            ({"step": "decade"}, "step must be one of 'day', 'week', 'month', 'quarter', 'year', got 'decade'"),
            ({"order": "y/m/d"}, "order must be one of 'd/m/y', 'm/d/y'"),
        ],
    )
    def test_what_is_no_date_column_is_refused(self, given, words):
        with pytest.raises(kk.SchemaError, match=words):
            kk.Date("x", **{"low": "2020-01-01", "high": "2020-12-31"} | given)

    def test_a_day_outside_is_refused_by_its_date(self):
        with pytest.raises(kk.DataError, match=r"1 row outside 2020-01-01 … 2020-12-31.*'2021-01-01'"):
            kk.Schema([kk.Date("x", "2020-01-01", "2020-12-31")]).encode(pa.table({"x": ["2021-01-01"]}))

    def test_codes_stand_for_missing(self):
        column = kk.Date("x", "2020-01-01", "2020-12-31", missing_codes=["9999-12-31", "unknown"])
        assert encode(column, pa.array(["unknown", "2020-01-02", None])).tolist() == [366, 1, 366]
        assert encode(column, pa.array([datetime.date(9999, 12, 31)])).tolist() == [366]
