# Two commands on a fresh machine that has Python 3.11 and make: `make app` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: app test lint bench clean

app: .venv/installed
	$(BIN)/python -m spnmkl.quickstart

test: .venv/installed lint
	$(BIN)/python -m pytest

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/installed
	$(BIN)/python benchmarks/solver.py

.venv/installed: requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "spnmkl needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	touch $@

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
