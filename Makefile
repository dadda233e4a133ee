# Every target sets up .venv by itself.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
ENVIRONMENT = $(PYTHON) -m venv .venv && $(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'  # knows dependency groups

.PHONY: run play test test-all test-oldest wheel lint docs bench clean

run: .venv/run
	$(BIN)/o2nc reproduce --out results

play: .venv/run
	$(BIN)/o2nc play

PYTEST := $(BIN)/python -m pytest --numprocesses 2 --dist worksteal

test: lint wheel .venv/dev
	$(PYTEST) --doctest-modules -m "not slow"

# what is slow besides: several processes, trainers, examples, benchmarks, long runs
test-all: .venv/dev build/timm
	$(PYTEST) -m slow

# by itself: the torchvision that it asks for is built for CUDA, and cannot be imported beside the CPU build of torch
build/timm: | .venv/dev
	$(PIP) --no-deps --target $@ timm

# the fast suite, without what needs the trainers and rivals of the benchmarks, under the oldest versions that are allowed;
# JAX 0.5 may crash on what it has stored, and old packages warn of the new ones below them; joblib 1.4 forks to start
# another program, of which JAX warns, and says when a worker ended for want of work
OLDEST := build/oldest/bin/python
test-oldest:
	$(PYTHON) -m venv build/oldest
	$(OLDEST) -m pip install --quiet --disable-pip-version-check --constraint constraints-oldest.txt torch
	$(OLDEST) -m pip install --quiet --disable-pip-version-check --constraint constraints-oldest.txt --editable '.[torch,jax,lab,dask]' pytest pytest-xdist hypothesis array-api-strict flax tensorboard
	JAX_ENABLE_COMPILATION_CACHE=false $(OLDEST) -m pytest --numprocesses 2 --dist worksteal -m "not slow" -W ignore::DeprecationWarning -W "ignore:numpy.ndarray size changed" -W "ignore:os.fork() was called" -W "ignore:A worker stopped while some jobs" --ignore tests/benchmarks --ignore tests/examples

# the built wheel, without extras, in an empty environment; isolated, since folders of tests are called torch and optax
wheel: .venv/dev
	rm -rf build/wheel build/empty
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/wheel .
	$(PYTHON) -m venv build/empty
	build/empty/bin/python -m pip install --quiet --disable-pip-version-check build/wheel/*.whl
	build/empty/bin/python -I -W error tests/imports_without_extras.py

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv/docs
	$(BIN)/mkdocs build --strict

bench: .venv/dev
	for benchmark in benchmarks/*.py; do $(BIN)/python $$benchmark; done

# torch goes first: whatever depends on it then finds the pinned CPU build
.venv/run: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) --editable '.[lab]'
	touch $@

.venv/dev: pyproject.toml constraints.txt
	$(ENVIRONMENT)
	$(PIP) torch
	$(PIP) --editable '.[torch,jax,lab,dask,ray,trainers]' --group bench --group benchopt --group docs --group dev
	touch $@

.venv/docs: pyproject.toml constraints.txt
	$(ENVIRONMENT)
	$(PIP) --editable '.[lab]' --group docs
	touch $@

clean:
	rm -rf .venv site results build dist
