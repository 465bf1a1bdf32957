# Each target sets up what it needs, in .venv, on a fresh machine with Python 3.11.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8501

.PHONY: setup app test check format bench bench-agent screenshots samples clean setup-dev setup-compiler browser

setup: $(VENV)/.app
setup-dev: $(VENV)/.dev
setup-compiler: $(VENV)/.compiler

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.app: requirements.txt | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.app
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

$(VENV)/.compiler: requirements-compiler.txt $(VENV)/.app
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-compiler.txt
	touch $@

app: $(VENV)/.app
	$(BIN)/python -m streamlit run ui/app.py --server.port $(PORT)

# The browser tests need the system's Chromium (Debian: apt-get install chromium).
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
	  (apt-get update -qq && apt-get install -y -qq chromium) || \
	  (echo "install Chromium for the browser tests" && exit 1)

test: $(VENV)/.dev $(VENV)/.compiler browser
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: $(VENV)/.dev $(VENV)/.compiler browser
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 --dist loadfile

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev browser
	$(BIN)/python -m benchmarks

# Hours: the agent and its rival on every contested program, and the ablations; resumable.
bench-agent: $(VENV)/.dev browser
	$(BIN)/python -m benchmarks solvers ablations curve search-speed games judge weights report

screenshots: $(VENV)/.dev browser
	$(BIN)/python -m ui.screenshots

# Compiles every sample again with the real compiler: hours on two cores, resumable.
samples: $(VENV)/.compiler
	$(BIN)/python -m engine capture --all

clean:
	rm -rf $(VENV) .capture .pytest_cache .mypy_cache .ruff_cache .hypothesis
