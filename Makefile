# Commands of a checkout. `make demo` and `make test` are the two that a newcomer needs.
PYTHON ?= python3
BIN := .venv/bin
# What is kept once for all checkouts of a user.
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/pyscale
# A new clone takes from it what mypy found in an earlier one, by the hash of each file.
export MYPY_CACHE_DIR ?= $(CACHE)/mypy
CELLPOSE4 := $(CACHE)/tools/cellpose-4.2.1.1
# A folder of datasets beside the checkout, as a lab shares it, serves as the mirror.
export PYSCALE_MIRROR ?= $(wildcard $(abspath ../shared/data))
# Libraries are compiled once, when they are first imported, and not by each of a thousand processes.
export PYTHONDONTWRITEBYTECODE :=
DEMO_TIME ?= 5min

.PHONY: setup parts images demo test test-all test-images unit golden refusals lint types check docs fuzz \
	cluster mutants bench model locks clean

# Everything; the demo needs less.
setup: .venv/.all

.venv/.%: pyproject.toml constraints.txt scripts/set_up.py
	$(PYTHON) scripts/set_up.py $*
	@touch $@

# What stages and tests need beside Python: as root this installs packages on the machine.
parts:
	scripts/provide_parts.sh

# The images for CPUs but TrackMate's, which needs Maven; what is current is left as it is.
images: setup parts
	$(BIN)/pyscale image build

# The demo needs no images and no cluster, so it installs neither.
demo: .venv/.demo
	@scripts/demo.sh $(BIN)/pyscale $(DEMO_TIME)

# Minutes; changes nothing outside the checkout and the user's cache. docs/testing.md has the tiers.
test: setup
	$(MAKE) --jobs=2 --output-sync lint docs
	scripts/run_tests.sh quick

# Cellpose 4 replaces Cellpose 3 in an environment, so its tests find it in a folder of its own.
$(CELLPOSE4)/.complete: | setup
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --upgrade \
		--target $(CELLPOSE4) cellpose==4.2.1.1 segment_anything==1.0 torchvision==0.28.0 \
		fill_voids==2.1.2
	touch $@

test-all: test
	$(MAKE) parts types $(CELLPOSE4)/.complete
	PYSCALE_TEST_CELLPOSE4=$(CELLPOSE4) scripts/run_tests.sh rest

# Leaves what they were made from, so that CI tests them again where that has changed.
test-images: setup parts
	scripts/run_tests.sh images
	$(BIN)/python scripts/images_made_from.py >$(CACHE)/images-tested

# The tests to run after a change: what needs no part and no network, and ends within a second.
unit: setup
	$(BIN)/pytest --quiet --numprocesses 2 --dist loadfile --no-loadscope-reorder -m 'not slow'

# After a change that is meant to change results; commit what it writes.
golden: setup
	PYSCALE_TEST_RENEW_GOLDEN=1 $(BIN)/pytest --quiet tests/test_golden.py

# The same for the words of refusals and reports, which tests in many files hear.
refusals: setup
	PYSCALE_TEST_RENEW_GOLDEN=1 $(BIN)/pytest --quiet --numprocesses 2 --dist loadfile \
		tests/stages tests/cli tests/scripts

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: setup
	$(BIN)/mypy

# What each commit passes.
check: lint types

# The site of docs/ in build/site; a link that leads nowhere fails.
docs: setup
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs build/site
	@echo "the site: build/site/index.html"

# Damaged inputs of every kind, other ones each time: make fuzz [SECONDS=300] [SEED=n] [TARGET=name].
SECONDS ?= 300
fuzz: setup
	PYTHONPATH=tests $(BIN)/python -m fuzz.fuzzing --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) \
		$(if $(TARGET),--target $(TARGET)) $(if $(INPUT),--input '$(INPUT)')

# In the foreground, until Ctrl-C: the cluster that the tests run on.
cluster: setup
	scripts/provide_slurm.sh
	PYTHONPATH=tests $(BIN)/python scripts/run_cluster.py

# Whether tests notice each mistake of a fixed list: ten minutes on two cores.
mutants: setup
	$(BIN)/python scripts/mutants.py --jobs 2

bench: setup parts
	set -e; for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script; done

# The record of the training holds the score on real nuclei, where they are beside the checkout.
NUCLEI := $(wildcard ../shared/data/stardist-nuclei)
model: setup
	PYTHONPATH=scripts $(BIN)/python -m training.train --output config/models \
		$(if $(NUCLEI),--nuclei $(NUCLEI))

# Reaches the package index; CPU builds of torch come from what PIP_FIND_LINKS names.
locks: setup
	$(BIN)/python scripts/make_locks.py

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
