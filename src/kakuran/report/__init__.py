"""Reports: one standalone page, from a release alone or beside its originals."""

from kakuran.report.advised import advice_report
from kakuran.report.aggregated import aggregated_report
from kakuran.report.matrix import matrix_report
from kakuran.report.released import release_report

__all__ = ["advice_report", "aggregated_report", "matrix_report", "release_report"]
