"""How a CSV file is written, as far as somebody says so."""

from __future__ import annotations

from dataclasses import dataclass

from kakuran.schema.written_numbers import NumberFormat


@dataclass(frozen=True)
class CsvFormat:
    """What is told of a CSV file; what is not, its first line tells, or it is as programs write it.

    Attributes
    ----------
    delimiter : what separates columns
    encoding : how characters are written
    decimal : what stands before decimals
    thousands : what stands between groups of three digits
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None

    @property
    def is_told(self) -> bool:
        """Whether anything is."""
        return self != AS_FOUND

    @property
    def numbers(self) -> NumberFormat:
        """The signs in numbers."""
        return NumberFormat("." if self.decimal is None else self.decimal, self.thousands)


AS_FOUND = CsvFormat()
"""Nothing is told."""
