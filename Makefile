# `make book` and `make test` set up everything they need; `make help` lists the rest.
PROFILE ?= laptop
PYTHON ?= python3
VENV := .venv
# the address of an index of torch builds, such as PyTorch's own of builds for the CPU; empty: what pip is set up for
TORCH_INDEX ?=
INDEX = $(if $(TORCH_INDEX),--extra-index-url "$(TORCH_INDEX)")
# relative, as all names here: a space in the path of the checkout would split them
BIN := $(VENV)/bin
# one thread a process: the sweeps use the cores, and numbers do not depend on how many there are
export OMP_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# a run of the tests says how long it took of how long it may take, from here on
export TESTS_TIER TESTS_MINUTES WHICH
export TESTS_START := $(or $(TESTS_START),$(shell date +%s))
# a kernel's settings stay out of the reader's home
export IPYTHONDIR := $(CURDIR)/build/ipython
export PYDEVD_DISABLE_FILE_VALIDATION := 1
# and so does what is compiled
export REGIMES_CACHE := $(CURDIR)/build/compiled
# dozens of processes import the library: where it may not be stored compiled, each compiles it again
unexport PYTHONDONTWRITEBYTECODE
# the environment is the book's: packages, settings and kernels of the reader's other work stay out of it
unexport PYTHONPATH PYTHONHOME PYTHONSTARTUP JUPYTER_PATH MPLBACKEND MATPLOTLIBRC

READY := $(VENV)/.ready
# the pages of all chapters
CHAPTERS := $(patsubst chapters/%.py,%,$(sort $(wildcard chapters/[0-9][0-9]_*.py)))
number = $(firstword $(subst _, ,$(1)))
NOTEBOOKS = $(CHAPTERS:%=build/$(PROFILE)/%.ipynb)
# NAME counts on make's command line only: some systems set it for other ends
NAMED = $(if $(findstring command,$(origin NAME)),--name "$$NAME")
# all that any chapter's run reads, beside its source and the stored results of its studies
CODE := $(shell find lib -name '*.py' -o -name '*.[ch]' -o -name '*.toml' ! -name pyproject.toml -o -path '*/templates/*' 2>/dev/null) book/errata.yml book/papers.yml $(wildcard chapters/changes.toml)
# what pages are made of besides notebooks
# (book/_generated is made from them: younger than any build of a fresh checkout)
PROSE := $(filter-out book/_generated/%,$(wildcard README.md results/ledger.paper.json results/plan.md results/gpu/*.csv _config.yml _toc.yml book/*.md book/*/*.md book/yours/* book/*.yml book/*.bib _static/*))

.DEFAULT_GOAL := help
# pages: the part of html that only one may do at a time
.PHONY: $(CHAPTERS) help anew book chapters html pages smoke test test-all tested pytest lint lowest newest data lab bench bench-peers gpu references publish-ledger clean clean-cells
.DELETE_ON_ERROR:

help: ## list these targets
	@echo "Lazy and Feature Learning: a reproducible companion"; echo
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | awk -F'\t' '{printf "  make %-14s %s\n", $$1, $$2}'
	@echo "  make help-05                                              a chapter's parameters"
	@echo "  make chapter-05 NAME=mine PARAMS='-p tab2_n 200'          rerun it with changed ones: runs/mine/html/index.html"
	@echo "  make chapter-05 FIGURE=tab-c-tab2 PARAMS='-p tab2_n 200'  what one figure needs, and nothing else"
	@echo "  make 05_depth_details PROFILE=smoke                       one page alone, at small sizes"
	@echo; echo "PROFILE=smoke|laptop|paper picks the sizes (default: laptop)."

book: html ## run the chapters and build the HTML book

chapters: $(NOTEBOOKS) ## run the chapters only
	@$(if $(STALE),$(BIN)/python -m companion.runner $(sort $(STALE)) --profile $(PROFILE),:)

smoke: ## run all chapters at the smoke profile
	@$(MAKE) --no-print-directory chapters PROFILE=smoke

# modules are compiled as they are imported: most never are
# Debian ships venv without ensurepip: then the machine's pip fills the environment from outside.
$(READY): requirements.txt constraints.txt lib/pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if v >= (3, 11) else f"Python 3.11 or newer is needed, {sys.executable} is {v[0]}.{v[1]}: make PYTHON=python3.11 ...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) 2>/dev/null || { rm -rf $(VENV); $(PYTHON) -m venv --without-pip $(VENV); }
	@echo "installing the environment into $(VENV) (1.9 GB with a torch for the CPU)"
	@if test -x $(BIN)/pip; then $(BIN)/python -m pip install -q --no-compile $(INDEX) -r requirements.txt; \
	 else $(PYTHON) -m pip --python $(BIN)/python install -q --no-compile $(INDEX) -r requirements.txt; fi
	@touch $@

# one process runs all that are out of date: their cells are one queue
STALE :=
build/$(PROFILE)/%.ipynb: chapters/%.py $(CODE) | $(READY)
	@$(eval STALE += $(call number,$*))

# a chapter reads its designs, and the stored results of the studies' modules that say they are its own
modules = $(basename $(notdir $(shell grep -ls '^CHAPTER = "$(call number,$(1))"' lib/companion/papers/*/studies/*.py)))
$(foreach it,$(CHAPTERS),$(eval build/$(PROFILE)/$(it).ipynb: $(wildcard chapters/designs/$(call number,$(it)).toml) $(foreach one,$(call modules,$(it)),$(wildcard results/$(one).*))))

# a run leaves a notebook and its ledger, or neither; where somebody has removed the ledger, the chapter runs again
ledger = build/$(PROFILE)/$(call number,$(1)).ledger.json
$(foreach it,$(CHAPTERS),$(if $(wildcard $(call ledger,$(it))),,$(eval build/$(PROFILE)/$(it).ipynb: anew)))
PAGES := build/$(PROFILE)/.pages
$(if $(wildcard build/$(PROFILE)/html/index.html),,$(eval $(PAGES): anew))
anew:

# chapters/*.ipynb and book/_generated are the same files for every build: the second of two waits for the first
html: | $(READY)
	@$(BIN)/python -m companion.site.locks build/.book.lock "a book is being built here" $(MAKE) --no-print-directory pages

pages: chapters
	@$(MAKE) -s --no-print-directory $(PAGES)
	@echo "the book: build/$(PROFILE)/html/index.html"

$(PAGES): $(NOTEBOOKS) $(CODE) $(PROSE)
	@touch $@.begun
	@$(BIN)/python -m companion.site.sources $(PROFILE)
	@$(BIN)/python -m companion.site.pages $(PROFILE)
	@mv $@.begun $@

# IPython warns where the parent of its folder is not there
chapter-%: | $(READY)
	@mkdir -p build
	@$(BIN)/python -m companion.runner $* --profile $(PROFILE) $(NAMED) $(if $(FIGURE),--figure "$(FIGURE)") $(PARAMS)

$(CHAPTERS): | $(READY)
	@mkdir -p build
	@$(BIN)/python -m companion.runner $(call number,$@) --figure $@ --profile $(PROFILE) $(NAMED) $(PARAMS)

help-%: | $(READY)
	@$(BIN)/python -m companion.describe $*

test: TESTS_TIER = make test
test: TESTS_MINUTES = 8
test: tested ## before every commit: lint, the smoke book, all tests but the weekly ones

test-all: TESTS_TIER = make test-all
test-all: TESTS_MINUTES = 40
test-all: WHICH = -m "weekly or not weekly"
test-all: tested ## every week and before a release: the dear tests, too

tested: | $(READY)
	@$(MAKE) --no-print-directory -j2 lint smoke
	@$(MAKE) --no-print-directory pytest

# one more than there are cores: the worker that has the browser waits for it most of the time
WORKERS ?= $(shell cores=$$(getconf _NPROCESSORS_ONLN); echo $$((cores < 8 ? cores + 1 : 8)))
pytest: | $(READY) ## the tests alone (after make smoke; they build its pages)
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --no-loadscope-reorder $(WHICH)

lint: | $(READY) ## ruff: errors and format; mypy: the types of the engine
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

# uv chooses the lowest versions that lib/pyproject.toml allows; test files that need the library alone, and little time
LOWEST := build/lowest
LOWEST_TESTS ?= tests/test_validate.py tests/test_gaussian.py tests/test_estimates.py tests/data tests/models tests/kernels tests/lab/test_table.py tests/lab/test_store.py
lowest: ## the library's tests on the lowest versions it says it can use (an environment in build/lowest)
	@bash .ci/versions lowest $(PYTHON) $(LOWEST) "$(TORCH_INDEX)"
	@$(LOWEST)/bin/python -m pytest -q -p no:cacheprovider -m "not weekly" $(LOWEST_TESTS)

NEWEST := build/newest
newest: ## the same tests on the newest versions that there are, without constraints.txt (in build/newest)
	@bash .ci/versions newest $(PYTHON) $(NEWEST) "$(TORCH_INDEX)"
	@$(NEWEST)/bin/python -m pytest -q -p no:cacheprovider -m "not weekly" $(LOWEST_TESTS)

data: | $(READY) ## fetch full MNIST, Fashion-MNIST, CIFAR-10, ORL faces into $REGIMES_DATA or data/ (some 220 MB)
	@$(BIN)/python -m companion.fetch

# settings that open a chapter's source as the notebook that it is
lab: export JUPYTER_CONFIG_PATH := $(CURDIR)/.jupyter:$(JUPYTER_CONFIG_PATH)
lab: | $(READY) ## JupyterLab: a click on a chapter opens it as a notebook
	@$(BIN)/jupyter lab --LabApp.default_url=/lab/tree/chapters

bench: | $(READY) ## speed, each measured beside its baseline in one run; a table beside other packages in build/bench.md
	@failed=; for file in benchmarks/bench_*.py; do echo "== $$file"; $(BIN)/python $$file || failed="$$failed $$file"; done; \
	 test -z "$$failed" || { echo "failed:$$failed" >&2; exit 1; }

bench-peers: | $(READY) ## speed against other packages, in an environment of their own
	@PYTHON=$(PYTHON) BIN="$(CURDIR)/$(BIN)" bash benchmarks/peers/run.sh

# a machine without a network has torch and numpy of its own; WHEELS=folder holds what it lacks, from `pip download --no-deps -d folder mlxtend pooch`
WHEELS ?=
# options of benchmarks/gpu.py, such as --seconds 420 --first steps
GPU ?=
gpu: | $(if $(WHEELS),,$(READY)) ## solvers, kernels and studies on a GPU against the CPU, a table in results/ (says so where there is none)
	@$(if $(WHEELS),$(PYTHON) -m pip install -q --no-index --no-deps --upgrade --target build/wheels $(wildcard $(WHEELS)/*.whl))
	@$(if $(WHEELS),PYTHONPATH="$(CURDIR)/lib:$(CURDIR)/build/wheels" $(PYTHON),$(BIN)/python) benchmarks/gpu.py $(GPU)

references: ## renew the stored notebooks that the tests compare with (look at the diff!)
	@$(MAKE) --no-print-directory chapters PROFILE=smoke
	@$(BIN)/python -m tests.references

publish-ledger: ## make this profile's ledger (and picture) the README's and results/ledger.json, and record what cells took; PROFILE=paper: what its chapters measured
	@test -z "$$(git status --porcelain -uno)" || { echo "error: the kept ledger names its commit: commit all changes first" >&2; exit 2; }
	@$(if $(filter paper,$(PROFILE)),:,$(MAKE) --no-print-directory html)
	@$(BIN)/python -m companion.site.sources $(PROFILE) --publish-ledger $(NAMED)
	@$(if $(filter paper,$(PROFILE)),:,$(BIN)/python -m companion.runner $(sort $(foreach it,$(CHAPTERS),$(call number,$(it)))) --profile $(PROFILE) --times)
	@REGIMES_STORE=build/none $(BIN)/python -m companion.studies plan --profile paper >build/plan.md && mv build/plan.md results/plan.md

clean: ## remove everything built, also the stored cells
	rm -rf build runs _build book/_generated chapters/*.ipynb .pytest_cache .ruff_cache

clean-cells: ## remove the stored cells, so that every number is computed anew
	rm -rf build/cells
