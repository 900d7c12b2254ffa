# Every target sets up what it needs in .venv; nothing has to be installed by hand but Python 3.11 or later.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test check bench docs clean

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
