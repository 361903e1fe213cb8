# TPU Studio, one command each. `make env` and `make engine` are made by whatever needs them.
#
#   make demo    train a small model from photographs, in the window; exits 0 when the run is finished
#   make app     the window
#   make practice  the practice cloud, in the foreground (ARGS="--fault stockout-at-submit --speed 10")
#   make help    this list
#   make format  what CI's formatter wants (ruff format)
#   make test    what CI runs: ruff, mypy, lint-imports, pytest   (one part: make pytest ARGS=tests/unit/wire)
#   make thorough  the variants that make test leaves out, each of a slow test that it has another of
#   make quick   within a minute: the checks, and the tests nearest to what has changed; no engine
#   make compiled  the tests that ask the TPU compiler, which it installs: Google's terms of libtpu are accepted by it
#   make bench   the figures of the README, measured on this machine
#   make chaos   faults × phases of a run on the practice cloud: nothing left, nothing twice, the bill right
#                (ARGS="--sample 20 --seed 1", ARGS=--real for training in earnest, ARGS=--all for both); what failed
#                is played again alone; out/chaos.json, and in out/chaos/ what the failures left
#   make doubts  what is assumed of Google, answered otherwise: each alone and in random pairs, judged as by make chaos
#                (ARGS="--sample 20 --seed 1"; all of it without); out/doubts.json, .md, and in out/doubts/ what failures left
#   make fuzz    damaged files, zips, databases, bucket objects and requests for all that reads them, from a seed
#                (ARGS="--seconds 600 --seed 1", an hour without); exit 1 on a crash, a hang or 1 GB, the input in out/fuzz/
#   make pictures  docs/pictures, from the real window
#   make golden  what the TPU compiler says of our catalogue's memory, for the tests (needs engine --with tpu-compiler)
#   make package   dist/tpu-studio_*.deb, the program for Debian and Ubuntu, with its bill of materials (CycloneDX)
#                and SHA256SUMS (packaging/README.md)
#
# PYTHON=/path/to/python3 chooses the Python that .venv is made with (3.11 to 3.13).

SHELL := /bin/sh
BIN := .venv/bin
TYPED := $(wildcard tpu_studio tools benchmarks tests/fakes)
JOBS ?= 4
PIP := --quiet --disable-pip-version-check --root-user-action=ignore

.PHONY: env help engine demo app practice test thorough quick format lint pytest compiled bench golden chaos doubts fuzz pictures package clean

env: .venv/.made

help:
	@sed -n -e '/^#/!q' -e 's/^# \{0,1\}//p' Makefile

.venv/.made: pyproject.toml constraints/dev.txt
	@echo "1 of 4: a Python environment of its own, .venv (seconds)"
	@python=$$(sh tools/find_python.sh) && { [ -x $(BIN)/python ] || "$$python" -m venv .venv; }
	@echo "2 of 4: what the window needs of the system (seconds; a minute where some of it is installed)"
	@$(BIN)/python tools/system_libraries.py --install
	@echo "3 of 4: $$(grep == constraints/dev.txt | wc -l) packages into .venv, each checked by its hash (a minute)"
	@sh tools/install_packages.sh
	@echo "4 of 4: TPU Studio itself into .venv (seconds)"
	@$(BIN)/python -m pip install $(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

# Does nothing, in a second, when a healthy engine is there (TPU_STUDIO_ENGINE says where).
engine: env
	@echo "The training engine: TensorFlow, JAX and Keras (0.5 GB; some minutes the first time, else a second)"
	@$(BIN)/tpu-studio engine --install

demo: env engine
	@echo "The demo: a TPU of the practice cloud learns hand signs in the window (minutes; longer where other programs work)"
	$(BIN)/python tools/demo.py

app: env
	$(BIN)/tpu-studio

practice: env
	$(BIN)/tpu-studio practice $(ARGS)

# The checks run beside the making of the engine; each one's failure is seen at the end.
test: env
	@$(MAKE) --no-print-directory --jobs 3 --keep-going lint pytest
	@echo "Further variants of slow tests: make thorough"

thorough: env engine
	$(BIN)/pytest -q -n $(JOBS) --dist worksteal --durations 25 -m thorough $(ARGS)

quick: env
	@$(BIN)/python tools/quick.py

format: env
	$(BIN)/ruff format --quiet .

lint: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy --strict $(TYPED)
	$(BIN)/lint-imports

# In a clean clone the tests are compiled once, and not by each worker (25 s of a processor each).
tests/unit/__pycache__: | env
	@PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -q --collect-only tests >/dev/null

pytest: env engine tests/unit/__pycache__
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -q -n $(JOBS) --dist worksteal --durations 25 $(ARGS)

# 1.4 GB beside the engine, once; elsewhere these tests are skipped by name.
compiled: env engine
	$(BIN)/tpu-studio engine --install --with tpu-compiler --accept-licence
	$(BIN)/pytest -q -m compiler $(ARGS)

bench: env engine
	$(BIN)/python benchmarks/run.py $(ARGS)

golden: env
	$(BIN)/python tools/make_golden.py $(ARGS)

# Needs the engine for --real only.
chaos: env
	$(BIN)/python tools/chaos.py $(ARGS)

doubts: env
	$(BIN)/python tools/doubts.py $(ARGS)

fuzz: env
	$(BIN)/python tools/fuzz.py $(ARGS)

pictures: env engine
	$(BIN)/python tools/pictures.py
	$(BIN)/python tools/pictures_account.py

# Needs no .venv: it builds in an environment of its own, each file of which is locked by its hash.
package:
	@python=$$(sh tools/find_python.sh) && "$$python" packaging/linux/build.py $(ARGS)

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
