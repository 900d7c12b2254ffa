"""A paper's tables and figures with one's own runs beside what is printed: what all tracks share of them."""
