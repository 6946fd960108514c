# Everything runs in .venv, which the first call makes; a later call only looks whether it is still good.
SHELL := /bin/sh
BIN := .venv/bin
PY := $(BIN)/python

.DEFAULT_GOAL := help
.PHONY: help demo test check bench reproduce house docs clean setup

help: ## what can be made
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

demo: setup ## translate a few sentences with the shipped bundle; heat maps here and as PNG in demo/
	@$(PY) examples/demo.py demo

test: setup ## all tests
	OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(PY) -m pytest $(ARGS)  # small models: two threads would only wait for each other

check: setup ## style, types, and who may import whom
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(BIN)/lint-imports

bench: setup ## every measurement of benchmarks/, each printing its table
	@set -e; for script in benchmarks/[a-z]*.py; do \
	  [ -f "$$script" ] || { echo "make bench: there are no measurements in benchmarks/" >&2; exit 1; }; \
	  echo "# $$script"; $(PY) "$$script" $(ARGS); done

T := benchmarks/en-mr
R := runs/reproduce
reproduce: setup ## train the shipped bundle anew, on a GPU best; DATA=folder with train.tsv and dev.tsv
	@[ -f "$(DATA)/train.tsv" ] && [ -f "$(DATA)/dev.tsv" ] || { \
	  echo "make reproduce: say where the data is: make reproduce DATA=folder, with train.tsv and dev.tsv in it" >&2; exit 2; }
	@mkdir -p $(R)
	@for part in train dev; do awk -F '\t' '{ print $$2 "\t" $$1 }' "$(DATA)/$$part.tsv" > $(R)/$$part.back.tsv; done
	$(BIN)/regard train "$(DATA)/train.tsv" --dev "$(DATA)/dev.tsv" --recipe $(T)/rnn.toml --out $(R)/rnn
	$(BIN)/regard train "$(DATA)/train.tsv" --dev "$(DATA)/dev.tsv" --recipe $(T)/wide.toml --out $(R)/wide
	$(BIN)/regard train "$(DATA)/train.tsv" --dev "$(DATA)/dev.tsv" --recipe $(T)/transformer.toml --out $(R)/transformer --set train.seed=3
	$(BIN)/regard train $(R)/train.back.tsv --dev $(R)/dev.back.tsv --recipe $(T)/rnn.toml --out $(R)/rnn-back --set train.seed=4
	$(BIN)/regard train $(R)/train.back.tsv --dev $(R)/dev.back.tsv --recipe $(T)/transformer.toml --out $(R)/transformer-back --set train.seed=5
	$(PY) tools/distil.py "$(DATA)/train.tsv" --forward $(R)/rnn $(R)/wide $(R)/transformer \
	  --backward $(R)/rnn-back $(R)/transformer-back --out $(R)/more.tsv
	$(BIN)/regard train $(R)/more.tsv --dev "$(DATA)/dev.tsv" --recipe en-mr --out $(R)/en-mr
	$(BIN)/regard export $(R)/bundle --model $(R)/en-mr --weights int8
	$(BIN)/regard evaluate --model $(R)/bundle "$(DATA)/dev.tsv" --json

house: setup ## the tree with its sizes, who imports whom, what has grown too large
	@$(PY) tools/house.py

docs: setup ## write the pages that are made from the code
	$(PY) tools/mechanisms.py

clean: ## remove all that was made here: the environment, caches, demo/
	rm -rf .venv build dist demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache src/*.egg-info
	find src tests tools examples -name __pycache__ -type d -prune -exec rm -rf {} +

setup:
	@sh tools/setup.sh
