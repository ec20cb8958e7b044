"""Reports: one standalone page, from a release alone or beside its originals."""

from kakuran.report.advised import advice_report, outlook_rows
from kakuran.report.aggregated import aggregated_report, loss_report
from kakuran.report.answers import cluster_rows, estimate_answer, mixture_answer, quantile_row, tree_answer
from kakuran.report.matrix import loss_table, matrix_report
from kakuran.report.page import Html, facts, folded, page, paragraph, picture, points, section, table
from kakuran.report.released import release_report
from kakuran.report.rows import plan_rows, risk_after, risk_before

__all__ = [
    "Html",
    "advice_report",
    "aggregated_report",
    "cluster_rows",
    "estimate_answer",
    "facts",
    "folded",
    "loss_report",
    "loss_table",
    "matrix_report",
    "mixture_answer",
    "outlook_rows",
    "page",
    "paragraph",
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
