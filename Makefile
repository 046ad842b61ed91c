# `make` alone lists the commands. Written for GNU make 3.81 (macOS) and newer.
# PYTHON: the Python 3.11 or newer to start from. LAB_ARGS: more arguments for JupyterLab.
# VERSIONS: oldest or newest, in place of the tested versions of all packages.

# Text is UTF-8 on Windows too.
export PYTHONUTF8 := 1

PYTHON ?= python3
LAB_ARGS ?=
NAMES ?=

VENV := .venv$(if $(VERSIONS),-$(VERSIONS))
ifeq ($(OS),Windows_NT)
BIN := Scripts
else
BIN := bin
endif
RUN := $(VENV)/$(BIN)/python
COLAB_RUN := .venv-colab/$(BIN)/python
# Tests and notebooks run two at a time; the browser tests share one browser, a notebook's cells one kernel.
TESTS := -n 2 --dist loadgroup
NBVAL := --nbval --nbval-current-env --nbval-cell-timeout 300 --nbval-kernel-startup-timeout 120
NBVAL += -p tests.notebooks.stills notebooks/[0-9]*.ipynb
QUICK := tests/kernels tests/worked tests/questions tests/test_numbers.py

# Empty files whose dates say what has been installed, and when.
LAB_READY := $(VENV)/.lab-ready
TEST_READY := $(VENV)/.test-ready
COLAB_READY := .venv-colab/.ready
INPUTS := pyproject.toml constraints.txt tools/install.py

# JupyterLab refuses to run as root, the usual user in a container, unless it is told to.
ALLOW_ROOT = $(if $(filter 0,$(shell id -u)),--allow-root)

INSTALL = $(PYTHON) -m tools.install $(if $(VERSIONS),--versions $(VERSIONS)) $(VENV)
define CHECK_PYTHON
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	echo "This needs Python 3.11 or newer, and '$(PYTHON)' is not (or is missing)."; \
	echo "Install one, or name it: make $(MAKECMDGOALS) PYTHON=python3.12"; \
	exit 1; }
endef

# torch's sums depend on the number of threads.
check lint test test-colab notebooks figures watch bench: export OMP_NUM_THREADS := 1

.DEFAULT_GOAL := help
.PHONY: help lab reset minilm check lint test test-colab notebooks figures html watch bench bench-live clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' Makefile

lab: $(LAB_READY) ## set up .venv and open JupyterLab (on a server: LAB_ARGS=--no-browser)
	@echo "Opening JupyterLab on the first notebook. Stop it with Ctrl+C."
	@$(RUN) -m jupyterlab --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb $(ALLOW_ROOT) $(LAB_ARGS)

reset: ## bring a notebook back as it was, and keep a dated copy of yours (NAMES=03, NAMES=all)
	@$(PYTHON) -m tools.reset $(NAMES)

minilm: ## add a trained model (83 MB), for the last part of notebook 13
	$(CHECK_PYTHON)
	@$(INSTALL) lab torch minilm
	@touch $(LAB_READY)

check: lint ## for every save: lint and the quick tests, in less than a minute
	@$(RUN) -m pytest -n 2 -m "not slow" $(QUICK)
	@echo "Passed: lint, quick tests."

lint: $(TEST_READY) ## style, imports, types, and no notebook edited by hand
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@$(VENV)/$(BIN)/lint-imports --no-logo --no-cache
	@$(RUN) -m validate_pyproject pyproject.toml
	@$(RUN) -m tools.build --check
	@$(RUN) -m mypy

# Other versions of the tools find other faults, so `make lint` is for the tested versions alone.
test: $(if $(VERSIONS),$(TEST_READY),lint) ## set up .venv and run every check (VERSIONS=oldest: with the oldest versions allowed)
	@$(RUN) -m pytest $(TESTS)
	@$(RUN) -m pytest -p tests.notebooks.after_run_all $(NBVAL)
	@echo "Passed: $(if $(VERSIONS),,lint, )tests, notebooks$(if $(VERSIONS), (lint is for the tested versions))."

test-colab: $(COLAB_READY) ## run the notebooks and the live views with the versions that Colab has
	@$(COLAB_RUN) -m pytest tests/colab # installs the package, so it comes first
	@$(COLAB_RUN) -m pytest tests/live tests/notebooks/test_lesson.py
	@PYTHONPATH="$(CURDIR)" $(COLAB_RUN) -m pytest $(NBVAL)

notebooks: $(TEST_READY) ## execute the notebook sources and draw the figures (some: NAMES="01 03")
	@$(RUN) -m tools.build $(NAMES)

figures: $(TEST_READY) ## draw the figures alone
	@$(RUN) -m tools.build --figures

html: $(TEST_READY) ## write the notebooks as pages for a browser, into html/ (some: NAMES="01 03")
	@$(RUN) -m tools.html $(NAMES)

watch: $(TEST_READY) ## execute notebooks again whenever their sources are saved (NAMES=07)
	@$(RUN) -m tools.build --watch $(NAMES)

bench: $(TEST_READY) ## measure the package's speed; writes tests/benchmarks/RESULTS.md (10 minutes)
	@$(RUN) -m pytest tests/benchmarks --benchmark-enable --benchmark-only
	@$(RUN) -m tests.benchmarks.long_sequences

bench-live: $(TEST_READY) ## measure in a browser how fast the live views follow a slider
	@$(RUN) -m tests.benchmarks.bench_live

clean: ## remove .venv and the caches
	@$(PYTHON) -m tools.clean

$(LAB_READY): $(INPUTS)
	$(CHECK_PYTHON)
	@$(INSTALL) lab torch
	@touch $@

$(TEST_READY): $(INPUTS)
	$(CHECK_PYTHON)
	@$(INSTALL) lab torch minilm test
	@touch $(LAB_READY) $@

$(COLAB_READY): tests/colab/pins.txt tools/install.py
	$(CHECK_PYTHON)
	@$(PYTHON) -m tools.install --versions colab .venv-colab torch minilm
	@touch $@
