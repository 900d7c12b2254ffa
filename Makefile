# Every target sets up what it needs in .venv; nothing has to be installed by hand but Python 3.11 or later.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test quick check bench docs clean

.venv/base: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) -e '.[boosting,neural]'
	touch $@

.venv/dev: .venv/base
	$(PIP) -e '.[all,dev]'
	touch $@

demo: .venv/base  ## example weather data made here -> partitions -> models -> reports and tables of both tasks
	$(BIN)/shiftbench example weather --rows 6000 --out demo/weather.parquet --overwrite
	$(BIN)/shiftbench run weather --data demo/weather.parquet --out demo/weather --overwrite \
		--method likelihood_boosting,ft_transformer,combination --members 2

test: .venv/dev  ## the whole test suite
	$(BIN)/python -m pytest -n 2 --dist loadfile

QUICK := tests/contracts tests/metrics tests/partition tests/report tests/test_assessment.py tests/test_check.py \
	tests/test_comparison.py tests/test_detection.py tests/test_ensembles.py tests/test_errors.py \
	tests/test_expression.py tests/test_features.py tests/test_fingerprints.py tests/test_keys.py \
	tests/test_layers.py tests/test_measures.py tests/test_multiplicity.py tests/test_predictions.py \
	tests/test_ranking.py tests/test_registry.py tests/test_retention.py tests/test_slicing.py tests/test_tables.py

quick: .venv/dev  ## the tests for the work between, in less than 90 seconds on two quiet cores
	$(BIN)/python -m pytest -n 2 --dist loadfile -q $(QUICK)

check: .venv/dev  ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: .venv/dev  ## ratios measured side by side; prints a table
	$(BIN)/python -m benchmarks

docs: .venv/dev  ## the documentation site in site/
	$(BIN)/mkdocs build --strict

clean:
	rm -rf .venv site demo
