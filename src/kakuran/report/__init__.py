"""Reports: one standalone page, from a release alone or beside its originals."""

from kakuran.report.answers import advice_report, estimate_answer, mixture_answer, tree_answer
from kakuran.report.page import Html, folded, page, picture, points, section, table
from kakuran.report.released import release_report
from kakuran.report.rows import (
    cluster_rows,
    loss_table,
    outlook_rows,
    plan_rows,
    quantile_row,
    risk_after,
    risk_before,
)
from kakuran.report.wide import aggregated_report, loss_report, matrix_report

__all__ = [
    "Html",
    "advice_report",
    "aggregated_report",
    "cluster_rows",
    "estimate_answer",
    "folded",
    "loss_report",
    "loss_table",
    "matrix_report",
    "mixture_answer",
    "outlook_rows",
    "page",
    "picture",
    "plan_rows",
    "points",
    "quantile_row",
    "release_report",
    "risk_after",
    "risk_before",
    "section",
    "table",
    "tree_answer",
]
