"""`boosting` beside scikit-learn on public tables: `python -m benchmarks.tables FOLDER`."""
