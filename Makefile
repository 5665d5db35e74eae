# Commands of a checkout. `make demo` and `make test` are the two that a newcomer needs.
PYTHON ?= python3
BIN := .venv/bin
SETUP_DONE := .venv/.complete
# What is kept once for all checkouts of a user.
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/pyscale
# A new clone takes from it what mypy found in an earlier one, by the hash of each file.
export MYPY_CACHE_DIR ?= $(CACHE)/mypy
# What tests find in environments of its own.
TOOLS := $(CACHE)/tools
CELLPOSE4 := $(TOOLS)/cellpose-4.2.1.1
SNAKEMAKE := $(TOOLS)/snakemake-9.27.1
# A folder of datasets beside the checkout, as a lab shares it, serves as the mirror.
export PYSCALE_MIRROR ?= $(wildcard $(abspath ../shared/data))
DEMO_REPEATS ?= 6

.PHONY: setup parts demo test golden unit check docs fuzz cluster bench model locks debian-locks clean

setup: $(SETUP_DONE)

$(SETUP_DONE): pyproject.toml constraints.txt scripts/set_up.py
	$(PYTHON) scripts/set_up.py
	@touch $@

# What stages need beside Python, where this machine allows it.
parts:
	scripts/provide_parts.sh

# Every image that can be built on this machine; what is current is left as it is.
images: setup parts
	$(BIN)/pyscale image build

# The demo needs no images and no cluster, so it installs neither.
demo: setup
	@scripts/demo.sh $(BIN)/pyscale $(DEMO_REPEATS)

# Cellpose 4 replaces Cellpose 3 in an environment, so its tests find it in a folder of its own.
$(CELLPOSE4)/.complete: | setup
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --upgrade \
		--target $(CELLPOSE4) cellpose==4.2.1.1 segment_anything==1.0 torchvision==0.28.0 \
		fill_voids==2.1.2
	touch $@

# Snakemake needs other versions of some packages, so its tests find it in an environment of its own.
$(SNAKEMAKE)/.complete: | setup
	$(PYTHON) -m venv $(SNAKEMAKE)
	$(SNAKEMAKE)/bin/pip install --quiet --disable-pip-version-check snakemake==9.27.1
	touch $@

# The first build of the images takes minutes, so its progress is shown before the tests.
test: $(CELLPOSE4)/.complete $(SNAKEMAKE)/.complete
	$(MAKE) --jobs=2 --output-sync check docs
	$(MAKE) parts
	if command -v apptainer || command -v singularity; then $(BIN)/pyscale image build; fi
	PYSCALE_TEST_CELLPOSE4=$(CELLPOSE4) PYSCALE_TEST_SNAKEMAKE=$(SNAKEMAKE) \
		scripts/run_tests.sh $(BIN)/pytest

# After a change that is meant to change results; commit what it writes.
golden: setup
	PYSCALE_TEST_RENEW_GOLDEN=1 $(BIN)/pytest --quiet tests/test_golden.py

# The tests to run after a change: what needs no part and no network, and ends within a second.
unit: setup
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest --quiet --numprocesses 2 --dist loadfile \
		--no-loadscope-reorder -m 'not slow' \
		tests/test_golden.py tests/stages tests/cli tests/fuzz tests/scripts tests/test_*.py

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

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

# Whether tests notice each mistake of a fixed list, within 40 minutes on two cores.
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

# From the images that were built on this machine.
debian-locks: setup
	$(BIN)/python scripts/lock_debian.py

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
