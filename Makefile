# Everything runs in .venv, which the first call makes; a later call only looks whether it is still good.
SHELL := /bin/sh
BIN := .venv/bin
PY := $(BIN)/python

.DEFAULT_GOAL := help
.PHONY: help demo test check bench bench-gpu reproduce house docs clean setup

help: ## what can be made
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

demo: setup ## translate a few sentences with the shipped bundle; heat maps here and as PNG in demo/
	@$(PY) examples/demo.py demo

test: setup ## all tests
	OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(PY) -m pytest -n $${WORKERS:-2} --dist worksteal $(ARGS)  # small models: two threads of one process would only wait for each other

check: setup ## style, types, and who may import whom
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(BIN)/lint-imports

bench: setup ## every measurement of benchmarks/, each printing its table
	@set -e; for script in benchmarks/[a-z]*.py; do \
	  [ -f "$$script" ] || { echo "make bench: there are no measurements in benchmarks/" >&2; exit 1; }; \
	  echo "# $$script"; $(PY) "$$script" $(ARGS); done

bench-gpu: setup ## the same on a GPU: kernels against steps, speed, and with MULTI30K=folder the time to quality
	$(PY) benchmarks/gpu/train.py $(ARGS)
	$(PY) benchmarks/gpu/real.py --data "$(or $(TABLE),examples/pairs.tsv)"
	$(if $(MULTI30K),$(PY) benchmarks/gpu/quality.py --data "$(MULTI30K)" --seeds 1 2 3)

# Five teachers, two students that learn from what those write, and the one that learns from what these write. Each step
# leaves a file that says it is done, so that a call that was cut short goes on; -j5 trains side by side on one GPU.
T := benchmarks/en-mr
R := runs/reproduce
DATA ?= DATA
FORWARD := rnn wide transformer
BACKWARD := rnn-back transformer-back
STUDENTS := student student-rnn
TRAIN = $(BIN)/regard train --resume --dev
done = $(patsubst %,$(R)/%.done,$(1))
models = $(addprefix $(R)/,$(1))
distil = $(PY) tools/distil.py $(DATA)/train.tsv --backward $(call models,$(BACKWARD))

reproduce: setup $(R)/bundle.done ## train the shipped bundle anew, on a GPU best; DATA=folder with train.tsv and dev.tsv
	$(BIN)/regard evaluate --model $(R)/bundle "$(DATA)/dev.tsv" --json

$(DATA)/%.tsv:
	@echo "make reproduce: $@ is not there; say where the data is: make reproduce DATA=folder" >&2; exit 2

$(R)/%.back.tsv: $(DATA)/%.tsv
	@mkdir -p $(R)
	awk -F '\t' '{ print $$2 "\t" $$1 }' $< > $@

$(call done,rnn-back): seed = 4
$(call done,transformer): seed = 3
$(call done,transformer-back): seed = 5
$(call done,$(FORWARD)): $(R)/%.done: $(DATA)/train.tsv $(DATA)/dev.tsv
	@mkdir -p $(R)
	$(TRAIN) $(DATA)/dev.tsv $< --recipe $(T)/$*.toml --out $(R)/$* --set train.seed=$(or $(seed),1) $(SET)
	@touch $@

$(call done,$(BACKWARD)): $(R)/%-back.done: $(R)/train.back.tsv $(R)/dev.back.tsv
	$(TRAIN) $(R)/dev.back.tsv $< --recipe $(T)/$*.toml --out $(R)/$*-back --set train.seed=$(seed) $(SET)
	@touch $@

$(R)/more.tsv: $(call done,$(FORWARD) $(BACKWARD))
	$(distil) --forward $(call models,$(FORWARD)) --out $@

$(call done,$(STUDENTS)): $(R)/%.done: $(R)/more.tsv $(DATA)/dev.tsv
	$(TRAIN) $(DATA)/dev.tsv $< --recipe $(T)/$*.toml --out $(R)/$* $(SET)
	@touch $@

$(R)/most.tsv: $(call done,$(STUDENTS))
	$(distil) --forward $(call models,$(STUDENTS)) --draws 2 --beside $(R)/more.tsv --names Tom=टॉम Mary=मेरी John=जॉन --own 3 --out $@

$(R)/bundle.done: $(R)/most.tsv $(DATA)/dev.tsv
	$(TRAIN) $(DATA)/dev.tsv $< --recipe en-mr --out $(R)/en-mr $(SET)
	rm -rf $(R)/bundle
	$(BIN)/regard export $(R)/bundle --model $(R)/en-mr --weights int8 --to onnx
	-$(PY) -m regard.serve.confidence $(R)/bundle $(DATA)/dev.tsv
	@touch $@

house: setup ## the tree with its sizes, who imports whom, what has grown too large
	@$(PY) tools/house.py

docs: setup ## write the pages that are made from the code
	$(PY) tools/mechanisms.py

clean: ## remove all that was made here: the environment, caches, demo/
	rm -rf .venv build dist demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache src/*.egg-info
	find src tests tools examples -name __pycache__ -type d -prune -exec rm -rf {} +

setup:
	@sh tools/setup.sh
