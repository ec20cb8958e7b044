PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LIGHT := $(VENV)/.light
READY := $(VENV)/.ready
SINCE ?= HEAD
# One thread a worker, one worker for Spark's session; in the order of folders, of which the last ones have small files.
# How many workers, tests/conftest.py says. What is compiled is kept, whatever the environment says: hundreds of processes
# import the same.
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 POLARS_MAX_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadgroup --no-loadscope-reorder --hypothesis-profile ci

LOWEST := .venv-lowest
EXTRAS := plot,sklearn,pandas,polars,regress,duckdb,postgres,files,collect,studio,spark

.PHONY: demo test suite check system lint types lowest bench docs clean

demo: $(LIGHT)  ## release a made-up census and reconstruct a cross-tab from it
	$(BIN)/kakuran demo --folder demo --plot demo/crosstab.png --force

test:  ## everything CI runs
	$(MAKE) --no-print-directory -j 2 system $(READY)
	$(MAKE) --no-print-directory -j 4 suite lint types docs

suite: $(READY)  ## all tests; lint, types and documentation fill the time that they wait for browsers and servers
	$(PYTEST)

check:  ## after every few lines: lint, types, and the tests that what changed since a commit touches
	$(MAKE) --no-print-directory -j 2 lint types
	$(BIN)/python -m tools.touched $(SINCE) | xargs -r env $(PYTEST)

system:  ## what the tests drive besides Python: a browser, a database, a Java for Spark, R, a Japanese font
	tests/system-packages

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(READY)
	$(BIN)/mypy

lowest:  ## the library's tests with the lowest versions that pyproject.toml allows; not part of `make test`
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST) --resolution lowest-direct --editable '.[$(EXTRAS)]'
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST) pytest pytest-xdist hypothesis httpx openpyxl statsmodels
	OMP_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest -n auto --dist loadgroup --hypothesis-profile ci -o filterwarnings=default \
		tests/schema tests/counts tests/mechanism tests/design tests/model tests/perturbation tests/answers tests/release \
		tests/audit tests/wide tests/laws tests/estimators --ignore tests/schema/sources/test_postgres.py

docs: $(READY)  ## the documentation, in site/
	$(BIN)/mkdocs build --strict

bench: benchmarks/.venv/.ready  ## every performance claim against its peers, in one run
	benchmarks/.venv/bin/python -m benchmarks

$(LIGHT): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[plot]'
	touch $@

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

benchmarks/.venv/.ready: pyproject.toml constraints.txt benchmarks/peers.txt
	$(PYTHON) -m venv benchmarks/.venv
	grep -vE '^(scikit-learn|protobuf)=' constraints.txt > benchmarks/.venv/constraints.txt  # peers need older ones
	benchmarks/.venv/bin/python -m pip install --quiet --constraint benchmarks/.venv/constraints.txt --editable '.[collect,duckdb,files,pandas,plot,regress,spark]'
	grep -v '^#' benchmarks/peers.txt | while read -r peer; do \
		benchmarks/.venv/bin/python -m pip install --quiet --constraint benchmarks/.venv/constraints.txt $$peer \
			|| echo "did not install: $$peer"; \
	done
	touch $@

clean:
	rm -rf $(VENV) $(LOWEST) benchmarks/.venv site demo
