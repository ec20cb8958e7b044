"""The tables. Nothing in them says who answered or when; PostgreSQL's alone tell the order, in groups (`postgres`).

A record lies under the random id its client made, an invitation under its hash until it is used and then nowhere.
SQLite keeps both in the order of these keys (WITHOUT ROWID). Records that have been exported carry the number of their
cohort, as anybody can tell who has the exports.
"""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Integer, LargeBinary, MetaData, Table, Text

metadata = MetaData()

surveys = Table(
    "surveys",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("version", Text, unique=True, nullable=False),
    Column("definition", Text, nullable=False),
    Column("state", Text, nullable=False),
)

records = Table(
    "records",
    metadata,
    Column("id", LargeBinary, primary_key=True),
    Column("survey", Integer, ForeignKey("surveys.number"), nullable=False),
    Column("codes", LargeBinary, nullable=False),
    Column("cohort", Integer),
    sqlite_with_rowid=False,
)

cohorts = Table(
    "cohorts",
    metadata,
    Column("survey", Integer, ForeignKey("surveys.number"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("size", Integer, nullable=False),
)

invitations = Table(
    "invitations",
    metadata,
    Column("hash", LargeBinary, primary_key=True),
    sqlite_with_rowid=False,
)
