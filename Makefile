# The two commands a newcomer needs are `make demo` and `make test`; both set everything up first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Two processes, a file at a time, in the order of tests/conftest.py.
AT_ONCE := -n 2 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast explore fuzz check docs screenshots bench scoreboard experiments constraints clean

help: ## show this page
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("oneoff needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade -c constraints.txt -e '.[dev]'
	touch $(READY)

setup: $(READY) ## create .venv and install everything (skipped when up to date)
	@echo "once per clone, to run make check before every commit: $(BIN)/pre-commit install"

demo: $(READY) ## publish a generated sample, print verdict and utility, leave demo-release/
	$(BIN)/oneoff demo --out demo-release --overwrite

test: $(READY) ## the whole test suite
	$(BIN)/python -m pytest $(AT_ONCE)

test-fast: $(READY) ## the suite without what is slow, and a third of the examples of each law
	$(BIN)/python -m pytest $(AT_ONCE) -m 'not slow'

explore: $(READY) ## the laws on fresh random tables, to find what the suite has not; ARGS=--hypothesis-seed=1 repeats
	$(BIN)/python -m pytest $(AT_ONCE) --hypothesis-profile=explore $(ARGS)

fuzz: $(READY) ## ten minutes of damaged releases, jobs, questions and text files; FUZZ_SEED=1 repeats
	$(BIN)/python -m tests.fuzz $(ARGS)

check: $(READY) ## ruff, mypy (strict), import-linter
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(READY) ## the documentation as a site in site/; a broken link fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open site/index.html"

screenshots: $(READY) ## pictures of every step of `oneoff studio`, to build/screenshots; ARGS=--docs writes those of the docs
	$(BIN)/python -m tests.studio.screenshots $(ARGS)

bench: $(READY) ## measure speed, memory and loss; writes benchmarks/results.md
	$(BIN)/python benchmarks/run.py $(ARGS)

scoreboard: $(READY) ## every method against every attack on OCC and ADULT; writes docs/explanation/scoreboard.md
	$(BIN)/python benchmarks/scoreboard.py $(ARGS)

experiments: $(READY) ## the figures of the five papers at full size; ONEOFF_DATA names the real tables; writes experiments/
	$(BIN)/oneoff reproduce all --full --out experiments $(ARGS)

constraints: $(READY) ## write the installed versions to constraints.txt
	$(BIN)/python -m pip list --format freeze --exclude-editable | grep -viE '^(pip|setuptools|wheel)==' > constraints.txt

clean: ## remove .venv, caches and the demo release
	rm -rf $(VENV) demo-release site .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
