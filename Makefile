# Every target sets up what it needs in .venv; nothing has to be installed by hand but Python 3.11 or later.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo demo-networks test quick check bench docs viewer clean

.venv/base: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) -e '.[boosting,neural]'
	touch $@

.venv/dev: .venv/base
	$(PIP) -e '.[all,dev]'
	touch $@

demo: .venv/base  ## an example table -> partitions -> an ensemble -> a report, in about a minute
	$(BIN)/shiftbench example table --out demo/table.parquet --overwrite
	$(BIN)/shiftbench run demo/table.parquet --config demo/table.toml --out demo/run --overwrite

demo-networks: .venv/base  ## example weather -> partitions -> networks and trees -> reports and tables of both tasks
	$(BIN)/shiftbench example weather --rows 6000 --out demo/weather.parquet --overwrite
	$(BIN)/shiftbench run weather --data demo/weather.parquet --out demo/weather --overwrite \
		--method likelihood_boosting,ft_transformer,combination --members 2

test: .venv/dev  ## the whole test suite
	$(BIN)/python -m pytest -n 2 --dist loadfile

QUICK := tests/contracts tests/intake tests/metrics tests/output tests/paper tests/partition tests/report \
	tests/executor/test_executor.py tests/executor/test_memory.py \
	$(patsubst %,tests/cli/test_%.py,fetch importing refused_settings starting terminal tracks) \
	$(patsubst %,tests/methods/test_%.py,baselines batched fitted_folder method_settings method_targets mlp training) \
	$(patsubst %,tests/test_%.py,assessment check comparison detection ensembles errors example expression features \
	fetch files fingerprints gaps keys layers measures multiplicity predictions public_tables published \
	ragged_ensembles ranking registry report_content resampling retention slicing tables tabular trajectory_ensembles) \
	$(patsubst %,tests/tracks/motion/%,baselines maps scenes submissions test_definition.py test_partitions.py) \
	$(patsubst %,tests/tracks/power/%,physics test_checks.py test_partitions.py test_ranges.py test_symbolic.py) \
	$(patsubst %,tests/tracks/weather/test_%.py,partitions schema sources)

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

viewer: .venv/base  ## the viewer of scans that the package brings, again from npm: make viewer NIIVUE=0.69.0
	$(BIN)/python tools/niivue.py $(NIIVUE)

clean:
	rm -rf .venv site demo
