# Each target sets up what it needs, in .venv, on a fresh machine with Python 3.11.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
NODE_TOOLS := node_modules/.package-lock.json
PORT ?= 8501
# Three workers on two cores took as long as two.
PYTEST_FLAGS := -n 2 --dist loadfile --no-loadscope-reorder
# Hundreds of processes of the tests read the same modules; each would compile them anew.
unexport PYTHONDONTWRITEBYTECODE
# The names that a browser goes by, as in ui/screenshots.py.
BROWSERS := chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable

.PHONY: setup app test nightly ranges fuzz mutants check format bench bench-agent screenshots films games samples observe clean setup-dev setup-compiler browser

setup: $(VENV)/.app
setup-dev: $(VENV)/.dev
setup-compiler: $(VENV)/.compiler

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.app: requirements.txt | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@

$(VENV)/.dev: requirements-dev.txt requirements-ray.txt $(VENV)/.app
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

$(VENV)/.compiler: requirements-compiler.txt $(VENV)/.app
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-compiler.txt
	touch $@

# The linter and formatter of the explorer's JavaScript.
$(NODE_TOOLS): package.json package-lock.json
	@command -v npm >/dev/null || (echo "make check and make format need Node 20 or later" && exit 1)
	npm ci --silent --no-audit --no-fund
	touch $@

app: $(VENV)/.app
	$(BIN)/python -m engine app --port $(PORT)

# The browser tests drive the machine's own browser. Only where there is none, and we may, one is
# installed, without what Debian recommends beside it: the headless shell where the distribution has
# it, which is smaller.
browser:
	@for name in $(BROWSERS); do command -v $$name >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "no browser is installed: installing Chromium for the browser tests (apt-get, about 100 MB)"; \
	  apt-get update -qq && shell=chromium-headless-shell && \
	  { apt-cache show $$shell >/dev/null 2>&1 || shell=chromium; } && \
	  apt-get install -y -qq --no-install-recommends $$shell fonts-liberation; \
	else \
	  echo "the browser tests need Chromium or Chrome: install it, for instance by" \
	    "sudo apt-get install --no-install-recommends chromium fonts-liberation"; \
	  exit 1; \
	fi

test: $(VENV)/.dev $(VENV)/.compiler browser
	$(BIN)/python -m pytest $(PYTEST_FLAGS)

# Breaks the judges of plans, the rules and the losses in one place after another: hours, resumable.
# A part of it: make mutants MUTANTS='engine.plan.check*'
MUTANTS ?=
mutants: $(VENV)/.dev
	HYPOTHESIS_PROFILE=mutants $(BIN)/python -m mutmut run $(MUTANTS)
	$(BIN)/python -m benchmarks mutants

# What takes too long for each push (CONTRIBUTING.md, Tests), and the property tests with more
# examples and ten other seeds.
nightly: $(VENV)/.dev $(VENV)/.compiler browser
	HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest $(PYTEST_FLAGS) -m nightly
	for seed in 1 2 3 4 5 6 7 8 9 10; do \
	  HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest $(PYTEST_FLAGS) -m hypothesis --hypothesis-seed=$$seed || exit 1; \
	done

# The newest packages that pyproject.toml allows, in an environment of their own.
RANGED := tests/plan tests/program tests/game tests/solvers tests/test_cli.py tests/test_docstrings.py tests/ui/compare
ranges:
	$(PYTHON) -m venv --clear .ranges
	.ranges/bin/pip install --quiet '.[app]' pytest pytest-timeout pytest-xdist hypothesis
	.ranges/bin/python -m pytest $(PYTEST_FLAGS) $(RANGED)

# Links and files that visitors may send: each of the readers ten thousand times.
fuzz: $(VENV)/.dev
	HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest tests/fuzz

check: $(VENV)/.dev $(VENV)/.compiler $(NODE_TOOLS) browser
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/hadolint Dockerfile
	npm run --silent check
	npm test --silent
	$(BIN)/python -m pytest $(PYTEST_FLAGS)

format: $(VENV)/.dev $(NODE_TOOLS)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	npm run --silent format

bench: $(VENV)/.dev browser
	$(BIN)/python -m benchmarks

# Hours: the agent and its rival on every contested program, and the ablations; resumable.
bench-agent: $(VENV)/.dev browser
	$(BIN)/python -m benchmarks solvers ablations curve search-speed games weights report

# Without kept results, so that each picture shows work from its beginning.
screenshots: $(VENV)/.dev $(VENV)/.compiler browser
	MALLOCMUZERO_RESULTS= $(BIN)/python -m ui.screenshots

# How the game follows the plans of the larger programs, for the explorer: half an hour.
films: $(VENV)/.dev
	$(BIN)/python -m ui.session.record_films

# Games of the shipped weights with their searches and costs, for Search and Debug: an hour, resumable.
games: $(VENV)/.dev
	$(BIN)/python -m ui.session.record_games

# Compiles every sample again with the real compiler: hours on two cores, resumable.
samples: $(VENV)/.compiler
	$(BIN)/python -m engine capture --all

# Compiles the samples where their costs are not known yet, the quick ones first: hours, resumable.
observe: $(VENV)/.compiler
	$(BIN)/python -m engine observe

clean:
	rm -rf $(VENV) .ranges node_modules mutants .pytest_cache .mypy_cache .ruff_cache .hypothesis
