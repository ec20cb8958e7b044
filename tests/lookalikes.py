"""Tables that look like public ones: the same header, the same kinds and the same dirt; the people are made up.

Each writes its file as the archive does and hands back its columns. Nobody's record of the originals is in here:
shares are round numbers, and columns hang together only as far as the walk-throughs ask about them.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Columns = dict[str, Any]


def bank(path: Path, rows: int = 41_188) -> Columns:
    """Bank marketing: semicolons, words in quotes, `unknown`, and 999 days since nobody called."""
    dice = np.random.default_rng(1)
    called = dice.random(rows) < 0.06
    poutcome = np.where(called, dice.choice(["success", "failure"], rows, p=[0.7, 0.3]), "nonexistent")
    job = _words(dice, rows, "admin. blue-collar technician services management retired student unemployed unknown")
    duration = np.rint(dice.gamma(1.2, 215, rows)).clip(0, 4918).astype(int)
    bought = dice.random(rows) < np.where(called, 0.5, 0.03 + duration / 4918)
    columns = {
        "age": np.rint(dice.gamma(14, 2.9, rows)).clip(17, 98).astype(int),
        "job": job,
        "marital": _words(dice, rows, "married single divorced unknown"),
        "education": _words(dice, rows, "university.degree high.school basic.9y professional.course unknown"),
        "default": _words(dice, rows, "no unknown yes"),
        "housing": _words(dice, rows, "yes no unknown"),
        "loan": _words(dice, rows, "no yes unknown"),
        "contact": _words(dice, rows, "cellular telephone"),
        "month": _words(dice, rows, "may jul aug jun nov apr oct sep mar dec"),
        "day_of_week": _words(dice, rows, "thu mon wed tue fri"),
        "duration": duration,
        "campaign": dice.geometric(0.4, rows).clip(1, 56),
        "pdays": np.where(called, dice.poisson(6, rows).clip(0, 27), 999),
        "previous": np.where(called, dice.geometric(0.6, rows).clip(1, 7), 0),
        "poutcome": poutcome,
        "emp.var.rate": dice.choice([1.4, -1.8, 1.1, -0.1, -2.9], rows),
        "cons.price.idx": dice.choice([93.994, 92.893, 94.465, 93.444], rows),
        "cons.conf.idx": dice.choice([-36.4, -46.2, -42.7, -36.1], rows),
        "euribor3m": np.round(dice.uniform(0.634, 5.045, rows), 3),
        "nr.employed": dice.choice([5228.1, 5099.1, 5191, 5195.8], rows),
        "y": np.where(bought, "yes", "no"),
    }
    return _write(path, columns, delimiter=";", quoting=csv.QUOTE_NONNUMERIC)


def titanic(path: Path, rows: int = 891) -> Columns:
    """Titanic: names and tickets, blanks in three columns, ages of babies in fractions of a year."""
    dice = np.random.default_rng(2)
    sex = dice.choice(["male", "female"], rows, p=[0.65, 0.35])
    pclass = dice.choice([1, 2, 3], rows, p=[0.24, 0.21, 0.55])
    lived = dice.random(rows) < np.where(sex == "female", 0.95 - 0.15 * pclass, 0.42 - 0.09 * pclass)
    age = np.where(dice.random(rows) < 0.03, dice.choice([0.42, 0.75, 0.83], rows), np.rint(dice.gamma(5, 6, rows)))
    fare = np.round(dice.gamma(2, 40 / pclass**2, rows) + 4, 4)
    columns = {
        "PassengerId": np.arange(1, rows + 1),
        "Survived": lived.astype(int),
        "Pclass": pclass,
        "Name": [f'Doe, {"Mr" if one == "male" else "Miss"}. Person "Nr" {row}' for row, one in enumerate(sex)],
        "Sex": sex,
        "Age": _blank(dice, [f"{one:g}" for one in age.clip(0.42, 80)], 0.2),
        "SibSp": dice.poisson(0.5, rows).clip(0, 8),
        "Parch": dice.poisson(0.4, rows).clip(0, 6),
        "Ticket": [f"A/5 {one}" for one in dice.integers(2000, 9000, rows)],
        "Fare": fare.clip(0, 512.3292),
        "Cabin": _blank(dice, [f"C{one}" for one in dice.integers(1, 149, rows)], 0.77),
        "Embarked": _blank(dice, dice.choice(["S", "C", "Q"], rows, p=[0.72, 0.19, 0.09]), 0.002),
    }
    return _write(path, columns)


def tokyo(path: Path, rows: int = 12_000) -> Columns:
    """Patients in Tokyo: Japanese names of columns, dates, ages by the decade and 不明, columns nobody filled in."""
    dice = np.random.default_rng(3)
    days = np.arange(26 * 7)
    wave = np.exp(-(((days - 75) / 16) ** 2)) + 1.6 * np.exp(-(((days - 165) / 18) ** 2)) + 0.03
    told = np.datetime64("2020-01-27") + np.sort(dice.choice(days, rows, p=wave / wave.sum()))
    ages = ["10歳未満", *(f"{decade}代" for decade in range(10, 100, 10)), "100歳以上", "不明"]
    shares = np.array([2, 4, 27, 21, 15, 12, 7, 5, 4, 2, 0.1, 0.9])
    columns = {
        "No": np.arange(1, rows + 1),
        "全国地方公共団体コード": np.full(rows, 130001),
        "都道府県名": np.full(rows, "東京都"),
        "市区町村名": np.full(rows, ""),
        "公表_年月日": told,
        "発症_年月日": _blank(dice, told - dice.integers(1, 10, rows), 0.4),
        "確定_年月日": np.full(rows, ""),
        "患者_居住地": dice.choice(["都内", "都外", "調査中"], rows, p=[0.9, 0.05, 0.05]),
        "患者_年代": dice.choice(ages, rows, p=shares / shares.sum()),
        "患者_性別": dice.choice(["男性", "女性", "不明"], rows, p=[0.56, 0.43, 0.01]),
        "患者_職業": np.full(rows, ""),
        "患者_状態": np.full(rows, ""),
        "患者_症状": np.full(rows, ""),
        "患者_渡航歴の有無フラグ": np.full(rows, ""),
        "備考": np.full(rows, ""),
        "退院済フラグ": np.where(dice.random(rows) < 0.8, "1", ""),
    }
    return _write(path, columns)


def telco(path: Path, rows: int = 7_043) -> Columns:
    """Telco churn: an id, 0/1 beside yes/no, and a blank in place of the total of who has just come."""
    dice = np.random.default_rng(4)
    internet = dice.choice(["Fiber optic", "DSL", "No"], rows, p=[0.44, 0.34, 0.22])
    contract = dice.choice(["Month-to-month", "Two year", "One year"], rows, p=[0.55, 0.24, 0.21])
    tenure = np.rint(72 * dice.beta(0.6, 0.7, rows)).astype(int)
    monthly = np.round(np.where(internet == "No", 20, 45) + dice.uniform(0, 70, rows).round(2), 2).clip(18.25, 118.75)
    churn = dice.random(rows) < np.where(contract == "Month-to-month", 0.43, 0.07)

    def service() -> Any:
        return np.where(internet == "No", "No internet service", dice.choice(["Yes", "No"], rows))

    phone = dice.choice(["Yes", "No"], rows, p=[0.9, 0.1])
    columns = {
        "customerID": [f"{one:04d}-{''.join(dice.choice([*'ABCDEFGHIJ'], 5))}" for one in range(rows)],
        "gender": dice.choice(["Male", "Female"], rows),
        "SeniorCitizen": (dice.random(rows) < 0.16).astype(int),
        "Partner": dice.choice(["Yes", "No"], rows),
        "Dependents": dice.choice(["Yes", "No"], rows, p=[0.3, 0.7]),
        "tenure": tenure,
        "PhoneService": phone,
        "MultipleLines": np.where(phone == "No", "No phone service", dice.choice(["Yes", "No"], rows)),
        "InternetService": internet,
        "OnlineSecurity": service(),
        "OnlineBackup": service(),
        "DeviceProtection": service(),
        "TechSupport": service(),
        "StreamingTV": service(),
        "StreamingMovies": service(),
        "Contract": contract,
        "PaperlessBilling": dice.choice(["Yes", "No"], rows, p=[0.6, 0.4]),
        "PaymentMethod": dice.choice(
            ["Electronic check", "Mailed check", "Bank transfer (automatic)", "Credit card (automatic)"], rows
        ),
        "MonthlyCharges": monthly,
        "TotalCharges": np.where(tenure == 0, " ", np.round(monthly * tenure, 2).astype(str)),
        "Churn": np.where(churn, "Yes", "No"),
    }
    return _write(path, columns)


def adult(path: Path, rows: int = 32_561) -> Columns:
    """Adult, an income survey: no header at all, a space after every comma, `?`, and an empty line at the end."""
    dice = np.random.default_rng(5)
    sex = dice.choice(["Male", "Female"], rows, p=[0.67, 0.33])
    columns = {
        "age": np.rint(dice.gamma(8, 4.8, rows)).clip(17, 90).astype(int),
        "workclass": _words(dice, rows, "Private Self-emp-not-inc Local-gov ? State-gov Self-emp-inc Federal-gov"),
        "fnlwgt": np.rint(dice.gamma(3.2, 59_000, rows)).clip(12_285, 1_484_705).astype(int),
        "education": _words(dice, rows, "HS-grad Some-college Bachelors Masters Assoc-voc 11th Doctorate"),
        "education-num": dice.integers(1, 17, rows),
        "marital-status": _words(dice, rows, "Married-civ-spouse Never-married Divorced Separated Widowed"),
        "occupation": _words(dice, rows, "Prof-specialty Craft-repair Exec-managerial Adm-clerical Sales ?"),
        "relationship": _words(dice, rows, "Husband Not-in-family Own-child Unmarried Wife Other-relative"),
        "race": _words(dice, rows, "White Black Asian-Pac-Islander Amer-Indian-Eskimo Other"),
        "sex": sex,
        "capital-gain": np.where(dice.random(rows) < 0.08, dice.integers(100, 20_000, rows), 0),
        "capital-loss": np.where(dice.random(rows) < 0.05, dice.integers(100, 4_356, rows), 0),
        "hours-per-week": np.rint(dice.normal(40, 12, rows)).clip(1, 99).astype(int),
        "native-country": _words(dice, rows, "United-States Mexico ? Philippines Germany Canada"),
        "income": np.where(dice.random(rows) < np.where(sex == "Male", 0.31, 0.11), ">50K", "<=50K"),
    }
    lines = (", ".join(map(str, row)) for row in zip(*columns.values(), strict=True))
    path.write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    return columns


def retail(path: Path, rows: int = 120_000) -> Columns:
    """Online retail: several rows a customer and some of nobody's, goods sent back, prices such as `2,55` as text."""
    dice = np.random.default_rng(6)
    customers = 12_346 + np.arange(4_000)
    often = dice.gamma(0.8, 1, len(customers))
    customer = dice.choice(customers, rows, p=often / often.sum())
    country = np.where(customer % 10 == 0, np.array(["Germany", "France"])[customer % 20 // 10], "United Kingdom")
    sent_back = dice.random(rows) < 0.02
    when = np.datetime64("2010-12-01T08:00") + np.sort(dice.integers(0, 373 * 1440, rows))
    columns = {
        "InvoiceNo": [f"{'C' if back else ''}{536_365 + row // 20}" for row, back in enumerate(sent_back)],
        "StockCode": [f"{one}{'A' if one % 3 == 0 else ''}" for one in dice.integers(10_002, 12_000, rows)],
        "Description": [f"GOODS NR {one}" for one in dice.integers(1, 3_000, rows)],
        "Quantity": np.where(sent_back, -1, 1) * dice.geometric(0.12, rows).astype(np.int32),
        "InvoiceDate": [f"{one.day}.{one.month}.{one.year} {one:%H:%M}" for one in when.astype(object)],
        "UnitPrice": [f"{one:.2f}".replace(".", ",") for one in dice.gamma(1.5, 2.5, rows)],
        "CustomerID": np.where(dice.random(rows) < 0.25, 0, customer).astype(np.int32),
        "Country": country,
    }
    pq.write_table(pa.table(columns), path)
    return columns


FILES: dict[str, Callable[[Path], Columns]] = {
    "bank-additional-full.csv": bank,
    "train.csv": titanic,
    "130001_tokyo_covid19_patients.csv": tokyo,
    "WA_Fn-UseC_-Telco-Customer-Churn.csv": telco,
    "adult.data": adult,
    "online_retail.parquet": retail,
}
"""What each archive calls its file."""


def _words(dice: np.random.Generator, rows: int, words: str) -> Any:
    """Words of which the first is the most frequent, each about two thirds as frequent as the one before."""
    named = words.split()
    shares = 0.65 ** np.arange(len(named))
    return dice.choice(named, rows, p=shares / shares.sum())


def _blank(dice: np.random.Generator, values: Any, share: float) -> Any:
    return np.where(dice.random(len(values)) < share, "", np.asarray(values).astype(str))


def _write(path: Path, columns: Columns, delimiter: str = ",", quoting: Any = csv.QUOTE_MINIMAL) -> Columns:
    rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=quoting)
        writer.writerow(columns)
        writer.writerows(rows)
    return columns
