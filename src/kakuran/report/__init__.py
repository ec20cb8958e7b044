"""Reports: one standalone page, from a release alone or beside its originals."""

from kakuran.report.files import check_report, write_report
from kakuran.report.released import release_report

__all__ = ["check_report", "release_report", "write_report"]
