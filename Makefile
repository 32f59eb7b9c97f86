# Two commands on a fresh machine that has Python 3.11 and make: `make app` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
BROWSERS := chromium chromium-browser google-chrome
# Without questions, which nobody would see: about a file of settings that is there already, or the time zone.
APT := DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o Dpkg::Options::=--force-confold

.PHONY: app test test-processors test-versions dist lint docs bench bench-peers browser postgres nginx crash fuzz unfolding load watched quickstart clean

app: .venv/installed
	$(BIN)/spnmkl app

quickstart: .venv/installed
	$(BIN)/python -m spnmkl.quickstart

# Two processes, one file each at a time; those that drive a browser after the others.
# What failed there is tried once more, alone: a click may fall into the moment in which a page is drawn anew.
test: .venv/installed browser postgres nginx lint
	$(BIN)/python -m pytest -n 2 --dist loadfile --ignore=tests/browser
	$(BIN)/python -m pytest -n 2 --dist loadfile tests/browser || $(BIN)/python -m pytest tests/browser --last-failed
	$(BIN)/python scripts/processors.py --quick

# The numeric tests once more for every processor that this one can stand in for.
test-processors: .venv/installed
	$(BIN)/python scripts/processors.py

# The library's tests with the lowest versions that pyproject.toml promises, and with the newest that there are.
test-versions: test-lowest test-newest

test-%: .venv-%/installed
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-$*/numba .venv-$*/bin/python scripts/versions.py test

# The wheel and the source distribution, into dist/, checked and tried in empty environments of another folder.
dist: .venv-dist/installed
	rm -rf dist
	.venv-dist/bin/python -m build --no-isolation
	.venv-dist/bin/python -m twine check --strict dist/*
	.venv-dist/bin/python scripts/try_dist.py dist

# What saves the app's work is killed at 200 random moments; nothing that was acknowledged may be lost.
crash: .venv/installed
	$(BIN)/python scripts/crash.py --kills 200 --page
	$(BIN)/python scripts/crash.py --kills 40 --servers 2 --seed 1000 --page

# Whatever takes foreign input is given what nobody should give it; atheris is used where it can be installed.
fuzz: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r scripts/fuzz_requirements.txt \
		|| echo "atheris cannot be installed for this Python: the readers are tried without it."
	$(BIN)/python scripts/fuzz.py --page

# What reading files that unfold takes, each in a process of its own: a minute.
unfolding: .venv/installed
	$(BIN)/python scripts/unfolding.py --page

# Waves of visitors on one server and on two, and edits beside the work of others: about an hour and a half.
load: .venv/installed browser
	$(BIN)/python scripts/load.py --page

# How much longer a training takes in the app than alone: some minutes, and a processor of its own for each side.
watched: .venv/installed
	$(BIN)/python scripts/watched.py --page

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The documentation, with all examples run, into docs/_build/html; warnings are errors, and no page may load from outside.
docs: .venv-docs/installed
	.venv-docs/bin/python -m sphinx -W --keep-going -b html docs docs/_build/html
	.venv-docs/bin/python scripts/offline.py docs/_build/html

bench: .venv/installed
	$(BIN)/python benchmarks/solver.py

# In an environment of its own, because MKLpy needs PyTorch (several GB).
bench-peers: .venv-peers/installed
	.venv-peers/bin/python benchmarks/peers.py

# The tests of the app drive a real Chromium: Debian's own is installed where that is allowed.
browser:
	@command -v $(BROWSERS) >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
		&& apt-get update -qq && $(APT) chromium >/dev/null; } \
		|| { echo "make test needs Chromium to test the app: install the package chromium, then run it again."; exit 1; }

# The workspace is tested on PostgreSQL too: Debian's own is installed where that is allowed, without a cluster of its own.
postgres:
	@command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { [ "$$(id -u)" = 0 ] \
		&& command -v apt-get >/dev/null && mkdir -p /etc/postgresql-common \
		&& { [ -e /etc/postgresql-common/createcluster.conf ] || echo "create_main_cluster = false" > /etc/postgresql-common/createcluster.conf; } \
		&& apt-get update -qq && $(APT) postgresql >/dev/null; } \
		|| echo "PostgreSQL is not installed (package postgresql): the workspace is tested on SQLite alone."

# deploy/nginx.conf is run by a real nginx: Debian's own is installed where that is allowed, and kept from being started.
nginx:
	@PATH=$$PATH:/usr/sbin command -v nginx >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
		&& { [ -e /usr/sbin/policy-rc.d ] || { own=yes; printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d; chmod +x /usr/sbin/policy-rc.d; }; } \
		&& apt-get update -qq && $(APT) --no-install-recommends nginx >/dev/null; done=$$?; [ -z "$$own" ] || rm -f /usr/sbin/policy-rc.d; [ $$done = 0 ]; } \
		|| echo "nginx is not installed (package nginx): deploy/nginx.conf is not run."

.venv/installed: requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "spnmkl needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	$(BIN)/python -m spnmkl.precompile
	touch $@

.venv-docs/installed: docs/requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check -r docs/requirements.txt
	.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	.venv-docs/bin/python -m spnmkl.precompile
	touch $@

# Loops are compiled anew for every numba, and kept apart; newest is what is newest on the day that this is made.
.venv-lowest/installed .venv-newest/installed: .venv-%/installed: scripts/versions.py pyproject.toml
	rm -rf .venv-$*
	$(PYTHON) -m venv .venv-$*
	$(PYTHON) scripts/versions.py $* > .venv-$*/requirements.txt
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check -r .venv-$*/requirements.txt
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-$*/numba .venv-$*/bin/python -m spnmkl.precompile
	touch $@

.venv-dist/installed: scripts/dist_requirements.txt
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/python -m pip install --quiet --disable-pip-version-check -r scripts/dist_requirements.txt
	touch $@

.venv-peers/installed: benchmarks/peers_requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/peers_requirements.txt
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	touch $@

clean:
	rm -rf .venv .venv-peers .venv-docs .venv-dist .venv-lowest .venv-newest docs/_build docs/api docs/gallery dist .pytest_cache .mypy_cache .ruff_cache
