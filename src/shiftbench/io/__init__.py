"""Files and what goes through them: output folders, tables, downloads, and jobs on other processors."""
