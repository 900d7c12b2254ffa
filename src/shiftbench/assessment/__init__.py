"""From errors and uncertainty of systems to a report: scored records, comparisons, curves, predictions files."""
