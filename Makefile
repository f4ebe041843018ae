# Two commands do everything, set-up included: `make tour` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SHARED_DATA := $(wildcard ../shared/data)

ifdef SHARED_DATA
export HIPPOZOO_DATA ?= $(abspath $(SHARED_DATA))
endif

# Tests that want the code as users have it, without shape checks at every call: what is refused, what is compiled,
# the batteries of other libraries, calls drawn at random, and whole programs, which the checks would make twice as slow;
# searches over many fits they would make ten times as slow.
PLAIN := tests/bad_input tests/compiled tests/estimators tests/trust tests/studies tests/apps tests/scale tests/browser
PLAIN += tests/zoo/volterra/test_system_fit.py tests/zoo/associative/test_experiment.py tests/zoo/forecasting/test_experiments.py

.PHONY: tour test setup check lint types trust docs bench wheels flink clean

tour: setup  ## run the zoo on embedded data and write tour/index.html
	$(BIN)/hippozoo tour --out tour

test: check  ## the checks, the doctests and every test
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 3 $(PLAIN)  # many of these wait for processes that they start
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 2 --jaxtyping-packages=hippozoo,hippozoo_studies,beartype.beartype $(addprefix --ignore ,$(PLAIN))

setup: $(STAMP)  ## create .venv with everything in it

$(STAMP): pyproject.toml studies/pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]' --editable ./studies
	touch $(STAMP)

check: setup  ## format, lint, types, layers
	$(MAKE) -j2 lint types

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: setup
	$(BIN)/basedpyright

docs: setup  ## build the documentation site, strictly and without a network, into site/
	$(BIN)/sphinx-build -q -W --keep-going -d site/.doctrees docs site
	@echo "open site/index.html"

trust: setup  ## kill and fail every job that writes, for an hour or more; results/trust
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m trust

wheels: setup  ## build both projects, install every extra into a fresh environment, try and weigh it
	$(BIN)/python -m benchmarks.wheels

# PyFlink wants an older NumPy than the rest, and Java: an environment of its own.
FLINK := .venv-flink

flink:  ## watch 100 sensors on Flink's local cluster, kill it, compare with one process; results/flink
	@if ! command -v java >/dev/null; then echo "make flink: skipped, since there is no Java; install a JDK 17 first."; \
	else $(MAKE) $(FLINK)/.installed && OMP_NUM_THREADS=1 $(FLINK)/bin/python -m benchmarks.flink; fi

$(FLINK)/.installed: pyproject.toml
	$(PYTHON) -m venv $(FLINK)
	$(FLINK)/bin/pip install --quiet 'apache-flink==2.3.0' --editable .
	touch $@

bench: setup  ## print the speed tables
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) $(FLINK) tour site dist docs/reference .pytest_cache .ruff_cache .hypothesis
