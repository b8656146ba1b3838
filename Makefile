# Every target sets up what it needs in .venv; the second call is quick.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
WORKERS ?= auto

# Tests run side by side, one thread each: threads that wait for each other on busy cores are slow.
test test-slow test-others promises: export OMP_NUM_THREADS = 1

.PHONY: demo test check test-slow test-others promises benchmark docs clean

demo: .venv/core
	$(BIN)/caveat demo

test: .venv/test
	$(BIN)/python -m pytest -n $(WORKERS) --doctest-modules --doctest-glob='*.md' \
		--ignore=tests/statistical --cov --cov-report=term --cov-fail-under=100

check: .venv/test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(MAKE) test

test-slow: .venv/test
	$(BIN)/python -m pytest -n $(WORKERS) tests/statistical

# What reads models of others and works inside of other tools, against the real ones.
test-others: .venv-others/ready
	.venv-others/bin/python -m pytest -n $(WORKERS) -rs tests/integrations tests/models tests/summaries \
		tests/nn/test_metrics.py tests/selection tests/first_mile

promises: .venv/test
	$(BIN)/python -m pytest -q -n $(WORKERS) -m promises --promises docs/promises.md tests/statistical

benchmark: .venv-benchmark/ready
	.venv-benchmark/bin/python -m pytest -q tests/oracles/test_probly.py
	for name in uncertainty measures metrics recalibration evaluate report training inference estimators fairness fairness_consistency disentanglement molecules; do .venv-benchmark/bin/python benchmarks/$$name.py; done
	.venv-benchmark/bin/python benchmarks/disentanglement.py --column

docs: .venv/docs
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/core: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable .
	@touch $@

.venv/test: .venv/core
	$(PIP) --editable '.[torch,test]'
	@touch $@

.venv/docs: .venv/core
	$(PIP) --editable '.[torch,docs]'
	@touch $@

# The peers live in an environment of their own: they are heavy, and some pin what we do not.
.venv-benchmark/ready: pyproject.toml constraints.txt benchmarks/requirements.txt benchmarks/requirements-no-deps.txt
	$(PYTHON) -m venv .venv-benchmark
	.venv-benchmark/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[torch,test]'
	.venv-benchmark/bin/python -m pip install --quiet --constraint constraints.txt --requirement benchmarks/requirements.txt
	.venv-benchmark/bin/python -m pip install --quiet --no-deps --requirement benchmarks/requirements-no-deps.txt
	@touch $@

# Other packages live in an environment of their own, since they are heavy.
.venv-others/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-others
	.venv-others/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[torch,test,others]'
	@touch $@

clean:
	rm -rf docs/_build docs/gallery docs/api/generated .venv .venv-benchmark .venv-others .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
