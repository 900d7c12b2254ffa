# Every target sets up what it needs in .venv; nothing has to be installed by hand but Python 3.11 or later.
PYTHON ?= python3
BIN := .venv/bin
# Modules are compiled when they are first imported: most never are, and pip would take a minute for all of them.
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt

PORT ?= 8000
HOSTILE_CASES ?= 5000

.PHONY: demo demo-networks board browser test quick hostile check bench docs viewer htmx clean

.venv/base: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) -e '.[boosting,neural]'
	touch $@

.venv/server: .venv/base
	$(PIP) -e '.[boosting,neural,server]'
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

board: .venv/server demo/board/challenge.toml  ## an example challenge, its baselines scored, at one link; Ctrl-C ends it
	@exec $(BIN)/shiftbench serve demo/board --port $(PORT)

demo/board/challenge.toml: | .venv/server
	$(BIN)/shiftbench example table --rows 6000 --out demo/board.parquet --overwrite
	$(BIN)/shiftbench challenge new --config demo/board.toml --members 3 --out demo/board \
		--title "Electricity demand" --about "Predict the daily demand of stations, also in a colder region and later years, and tell how sure you are."

browser:  ## a Chromium for the tests of pages: Debian's, where there is none and this may install it
	@for name in chromium chromium-browser google-chrome; do ! command -v $$name >/dev/null || exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; \
	else false; fi || echo "no Chromium could be installed: tests of pages in a browser will say so"

test: .venv/dev browser  ## the whole test suite
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

QUICK := tests/contracts tests/intake tests/metrics tests/output tests/paper tests/partition tests/report \
	tests/executor/test_executor.py tests/executor/test_memory.py \
	$(patsubst %,tests/cli/test_%.py,fetch importing refused_settings starting tracks) \
	$(patsubst %,tests/methods/test_%.py,baselines batched fitted_folder method_settings method_targets mlp) \
	$(patsubst %,tests/test_%.py,check comparison detection ensembles errors example expression features \
	fetch files fingerprints gaps keys layers measures predictions public_tables published \
	ragged_ensembles ranking registry report_content resampling retention slicing tables tabular trajectory_ensembles) \
	$(patsubst %,tests/tracks/motion/%,baselines maps scenes submissions test_definition.py test_partitions.py) \
	$(patsubst %,tests/tracks/power/%,physics test_checks.py test_partitions.py test_ranges.py test_symbolic.py) \
	$(patsubst %,tests/tracks/weather/test_%.py,partitions schema sources)

# Of these folders, the files that take longest.
SLOW := $(patsubst %,tests/%.py,contracts/test_score_ranges contracts/test_tracks contracts/test_metrics output/test_killed \
	metrics/segmentation/test_real_masks partition/test_near_duplicates report/test_page report/test_terminal tracks/motion/maps/test_feature_map \
	tracks/power/physics/test_recalibration tracks/weather/test_partitions)

quick: .venv/dev  ## the tests for the work between, in less than 90 seconds on two quiet cores
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -q $(QUICK) $(addprefix --ignore=,$(SLOW))

hostile: .venv/dev  ## 5,000 generated hostile files, where the suite meets 2,000: make hostile HOSTILE_CASES=20000
	HOSTILE_CASES=$(HOSTILE_CASES) $(BIN)/python -m pytest -q tests/hostile

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

htmx: .venv/base  ## the script of a challenge's pages that the package brings, again from npm: make htmx HTMX=2.0.11
	$(BIN)/python tools/htmx.py $(HTMX)

clean:
	rm -rf .venv site demo
