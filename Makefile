# Every target sets everything up by itself; nothing else is needed but Python 3.11+, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-slow interop check docs bench reliability clean

demo: $(READY)
	$(BIN)/trilabel demo

test: $(READY)
	$(BIN)/python -m pytest -n 2

test-slow: $(READY)
	$(BIN)/python -m pytest -m slow

# Round trips with datumaro, FiftyOne, datasets, label-studio-sdk and others, which judge what is written and read; and
# the examples in Lightning and transformers.
interop:
	$(PYTHON) -m venv $(VENV)-interop
	$(VENV)-interop/bin/python -m pip install --quiet -c constraints-interop.txt -e '.[dev,interop,parquet,remote]'
	$(VENV)-interop/bin/python -m pytest -m interop -rs

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Warnings are errors. The pages need no network to be read.
docs: $(READY)
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build/html
	@echo "open docs/_build/html/index.html"

bench: $(READY)
	missed=0; for script in benchmarks/bench_*.py; do $(BIN)/python $$script || missed=1; done; exit $$missed

# Kills, mutated inputs, long runs and large sets; see docs/reliability.md.
MINUTES ?= 60
reliability: $(READY)
	$(BIN)/python -m reliability --minutes $(MINUTES)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,docs,web,onnx,parquet,logs,remote]'
	touch $(READY)

clean:
	rm -rf $(VENV) $(VENV)-interop .pytest_cache .mypy_cache .ruff_cache .hypothesis docs/_build
