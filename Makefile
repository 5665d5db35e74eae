# Commands of a checkout. `make demo` and `make test` are the two that a newcomer needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SETUP_DONE := $(VENV)/.complete
CELLPOSE4 := build/cellpose4
DEMO_ARGS ?=

.PHONY: setup demo test check bench model locks system clean

setup: $(SETUP_DONE)

# torch comes first and pinned: the CPU build is enough here, and a range would pull CUDA.
$(SETUP_DONE): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[all,dev]'
	touch $@

demo: setup
	@$(BIN)/python -m tools.demo $(DEMO_ARGS)

test: check
	$(BIN)/pytest

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

model: setup
	$(BIN)/python -m pyscale_stages.segment.train --output config/models

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
