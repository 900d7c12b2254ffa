"""The first screen of a report: sentences that answer, and one table."""
