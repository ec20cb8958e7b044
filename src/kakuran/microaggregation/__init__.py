"""Groups of at least k alike records, each replaced by what stands for it."""

from kakuran.microaggregation.groups import Method, check_groups, check_k, group_records
from kakuran.microaggregation.representatives import Centre
from kakuran.microaggregation.table import Microaggregated, microaggregate

__all__ = ["Centre", "Method", "Microaggregated", "check_groups", "check_k", "group_records", "microaggregate"]
