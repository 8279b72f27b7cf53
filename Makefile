# migopt: every target does its own set-up; nothing has to be prepared but Python >= 3.11 and make.
# PYTHON=/path/to/python picks an interpreter, VENV=folder another place for the environment.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV ?= .venv
PYTHON ?=
DEMO_DIR ?= demo-results
JOBS ?= 2

BIN := $(VENV)/bin
RUN := $(VENV)/bin/python -m
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
INPUTS := pyproject.toml constraints-dev.txt
# The pins hold for the tools that build the package, too; newer pip reads the second name.
PINNED := PIP_CONSTRAINT="$(CURDIR)/constraints-dev.txt" PIP_BUILD_CONSTRAINT="$(CURDIR)/constraints-dev.txt"

# ---------------------------------------------------------------- set-up

$(VENV)/.created:
	@if ! $(BIN)/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	  python="$$(bash tools/find-python.sh $(PYTHON))"; \
	  echo "creating $(VENV) with $$("$$python" --version)"; \
	  rm -rf "$(VENV)"; \
	  "$$python" -m venv "$(VENV)"; \
	fi
	@touch $@

# The package alone: neither torch nor any test tool.
$(VENV)/.demo-ready: $(VENV)/.created $(INPUTS)
	@echo "installing migopt into $(VENV) (the first time takes a minute or two)"
	@$(PINNED) $(PIP) install -e .
	@touch $@

# Test, documentation, lint and build tools, torch and Gymnasium as well, and what the learner is compared with.
$(VENV)/.test-ready: $(VENV)/.created $(INPUTS)
	@echo "installing migopt and its development tools into $(VENV) (the first time takes some minutes)"
	@$(PINNED) $(PIP) install -e '.[dev,rl]' stable-baselines3
	@touch $@ $(VENV)/.demo-ready

# ---------------------------------------------------------------- for users

.PHONY: demo
demo: $(VENV)/.demo-ready ## run the quick benchmark suite, print its table, write a report
	@$(BIN)/migopt bench quick -o $(DEMO_DIR) --jobs $(JOBS) --no-report
	@$(BIN)/migopt report $(DEMO_DIR)

# ---------------------------------------------------------------- for contributors

.PHONY: test
test: $(VENV)/.test-ready ## all that continuous integration checks: lint, types, docs, fast tests
	@failed=""; \
	for step in lint types docs unit; do \
	  echo "== $$step"; \
	  $(MAKE) $$step || failed="$$failed $$step"; \
	done; \
	if [ -n "$$failed" ]; then echo "make test: failed:$$failed" >&2; exit 1; fi

.PHONY: lint
lint: $(VENV)/.test-ready ## ruff
	@$(RUN) ruff check .

.PHONY: types
types: $(VENV)/.test-ready ## mypy
	@$(RUN) mypy

.PHONY: unit
unit: $(VENV)/.test-ready ## the fast tests, two workers
	@$(RUN) pytest -n $(JOBS)

.PHONY: slow
slow: $(VENV)/.test-ready ## the tests marked slow
	@$(RUN) pytest -n $(JOBS) -m slow

.PHONY: coverage
coverage: $(VENV)/.test-ready ## the fast tests with branch coverage
	@$(RUN) coverage run -m pytest
	@$(RUN) coverage report --skip-covered --sort=cover

.PHONY: docs
docs: $(VENV)/.test-ready ## build the documentation site, a warning is an error
	@$(RUN) sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

.PHONY: wheel
wheel: $(VENV)/.test-ready ## build the wheel into dist/
	@rm -rf dist
	@$(PINNED) $(RUN) build --wheel --outdir dist . > /dev/null
	@ls dist/*.whl

.PHONY: wheel-test
wheel-test: wheel ## install the wheel into an empty environment and use it outside the repository
	@bash tools/wheel-test.sh dist/*.whl

.PHONY: clean
clean: ## remove everything that these targets made
	@rm -rf $(VENV) $(DEMO_DIR) build dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1 \t/' | expand -t 22

.PHONY: cross
cross: $(VENV)/.test-ready ## exact solvers against all orders of events, 300 cases per class
	@$(BIN)/python benchmarks/cross_reference.py --processes $(JOBS)
	@$(BIN)/python benchmarks/cross_cpsat.py --processes $(JOBS)

.PHONY: small-gaps
small-gaps: $(VENV)/.test-ready ## the interval MILP on instances/small: gaps and times, the whole tail
	@$(BIN)/python benchmarks/small_gaps.py --processes $(JOBS)

.PHONY: speed
speed: $(VENV)/.test-ready ## speed of the simulator, one JSON line per figure
	@$(BIN)/python benchmarks/speed/run.py

.PHONY: cross-sim
cross-sim: $(VENV)/.test-ready ## compiled against readable simulator, 20,000 random cases
	@$(RUN) pytest -m slow tests/cross/test_engines_agree.py tests/unit/test_compiled.py

.PHONY: day-gaps
day-gaps: $(VENV)/.test-ready ## certified gaps of whole days at 1 minute, ten seeds each, the SMART-MIG day, time of the day LP
	@$(BIN)/python benchmarks/day_gaps.py --limit 60 --out benchmarks/results/day_gaps_1min.json
	@$(BIN)/python benchmarks/day_gaps.py --limit 100 --seeds 1 --scenarios smartmig --out benchmarks/results/day_gaps_smartmig.json
	@$(BIN)/python benchmarks/lp_time.py --out benchmarks/results/lp_time.json

.PHONY: split-study
split-study: $(VENV)/.test-ready ## the splitting bound on 1,000 small cases: never above a proven optimum; goes on where it ended
	@$(BIN)/python benchmarks/split_study.py --processes $(JOBS) --out benchmarks/results/split_study.json

.PHONY: slot-agreement
slot-agreement: $(VENV)/.test-ready ## the slot model in HiGHS and in CP-SAT on 200 cases: one optimum
	@$(BIN)/python benchmarks/slot_agreement.py --processes $(JOBS)

.PHONY: exact-sizes
exact-sizes: $(VENV)/.test-ready ## size and time of the CP-SAT fleet model and of the slot models, by number of jobs
	@$(BIN)/python benchmarks/exact_sizes.py fleet
	@$(BIN)/python benchmarks/exact_sizes.py slot

.PHONY: tardiness
tardiness: $(VENV)/.test-ready ## the tardiness search beside PyJobShop, which is used where it is installed (OTHER_PYTHON=...)
	@$(BIN)/python benchmarks/tardiness_vs_pyjobshop.py --scenario s0-slack --other-python $(or $(OTHER_PYTHON),$(BIN)/python)
	@$(BIN)/python benchmarks/tardiness_vs_pyjobshop.py --scenario s0-tight --other-python $(or $(OTHER_PYTHON),$(BIN)/python)

.PHONY: policy-speed
policy-speed: $(VENV)/.test-ready ## time of a decision of the receding horizon at ten active jobs
	@$(BIN)/python benchmarks/policy_speed.py

.PHONY: order-study
order-study: $(VENV)/.test-ready ## bounds, exact values and policies in order on 2,000 cases; relations between optima on 200
	@$(BIN)/python benchmarks/order_study.py --processes $(JOBS) --out benchmarks/results/order_study.json
