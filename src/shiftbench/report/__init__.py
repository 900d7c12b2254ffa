"""The report: what it holds (`content`) and how it looks (terminal, page, text)."""

from shiftbench.report.content import Report

__all__ = ["Report"]
