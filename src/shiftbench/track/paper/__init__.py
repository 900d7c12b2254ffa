"""A paper's tables and figures with runs beside the printed values: the parts shared by all tracks."""
