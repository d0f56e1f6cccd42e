# Everything a developer or CI does. Needs only make and Python 3.11 or later: each target
# creates .venv and installs what it needs into it, with uv where that is installed and with pip
# otherwise. Another interpreter: `make PYTHON=python3.12 test` (after `make clean` if .venv exists).

PYTHON ?= python3
# How many processes run the tests: one more than two cores, because tests also wait for servers.
WORKERS ?= 3
# Where tests write. Each commit of a test waits for the disk; in memory, where there is room, the
# tests take two thirds of the time.
SCRATCH := $(shell df -Pk /dev/shm 2>/dev/null | awk '$$4 > 4000000 && $$6 == "/dev/shm" { print $$6 }')
# More arguments for pytest, the benchmarks or mycel: `make test ARGS="-k merkle"`.
ARGS ?=
# Each worker loads all of the tests, and tests start hundreds of processes: without the compiled
# modules of the time before, a tenth of the work would be compiling them.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
PY := $(VENV)/bin/python
# Where `make run` keeps its graph. What was written to it stays, `make clean` included.
GRAPH := .mycel
# Stamps of what is installed: an extra of pyproject.toml each. They are renewed when that file
# changes; until then an install is not repeated.
RUNS := $(VENV)/.with-code
TESTS := $(VENV)/.with-test
CHECKS := $(VENV)/.with-check
# A stamp as well: the tests have been compiled here once.
COMPILED := $(VENV)/.compiled-tests

# What has to pass on PostgreSQL: constraints, search, merges, history, knowledge, upkeep, HTTP, MCP,
# many processes.
ON_POSTGRES := \
	tests/conformance/test_conformance.py \
	tests/conformance/schema/test_schema_conformance.py \
	tests/unit/search/test_search.py \
	tests/unit/search/test_search_filters.py \
	tests/unit/history/test_branches.py \
	tests/unit/history/test_commits.py \
	tests/unit/history/test_diff.py \
	tests/unit/history/test_merge.py \
	tests/unit/history/test_merge_constraints.py \
	tests/unit/history/test_merge_decisions.py \
	tests/unit/history/test_merge_identity.py \
	tests/unit/history/test_merge_rules.py \
	tests/unit/history/test_open_branches.py \
	tests/unit/history/test_rollback.py \
	tests/unit/history/test_submissions.py \
	tests/unit/knowledge/bootstrap/test_bootstrap.py \
	tests/unit/knowledge/test_nodes.py \
	tests/unit/knowledge/test_relations.py \
	tests/unit/upkeep/test_cycle.py \
	tests/unit/upkeep/test_forged.py \
	tests/unit/upkeep/test_tending.py \
	tests/unit/upkeep/test_upkeep_api.py \
	tests/unit/upkeep/test_validity.py \
	tests/adapters/http/test_routes.py \
	tests/adapters/http/test_branch_routes.py \
	tests/adapters/http/test_explorer.py \
	tests/adapters/http/test_explorer_live.py \
	tests/adapters/mcp/test_merges.py \
	tests/adapters/mcp/test_tools.py \
	tests/concurrency/test_processes.py \
	tests/properties/test_engine_against_reference.py \
	tests/properties/test_history.py \
	tests/unit/graph/test_edges.py \
	tests/unit/graph/test_records.py \
	tests/unit/knowledge/test_active_context.py \
	tests/unit/knowledge/test_moments.py \
	tests/unit/knowledge/test_references.py \
	tests/unit/knowledge/test_uris.py \
	tests/unit/search/test_notes_about.py \
	tests/unit/search/test_search_as_of.py \
	tests/properties/test_former_periods.py \
	tests/properties/test_search_filters.py \
	tests/properties/test_traversal.py \
	tests/adapters/test_former_doors.py \
	tests/adapters/test_kept_elements.py \
	tests/adapters/mcp/test_history_tool.py \
	tests/adapters/http/test_working.py
# Tests of PostgreSQL itself, which compare it with files: they run beside those, with both.
OF_POSTGRES := \
	tests/adapters/http/test_postgres_servers.py \
	tests/concurrency/test_postgres_writers.py \
	tests/faults/test_postgres_faults.py \
	tests/unit/store/test_postgres.py \
	tests/unit/store/test_postgres_branches.py \
	tests/unit/store/test_postgres_copies.py \
	tests/unit/store/test_postgres_patterns.py \
	tests/unit/store/test_postgres_replica.py

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install test run check lint types layers wheel smoke bench soak coverage format clean \
	web webcheck bundles bundlecheck

help: ## Show this list
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | \
		while IFS='|' read -r name text; do printf '  make %-10s %s\n' "$$name" "$$text"; done

install: $(RUNS) ## Create .venv with Mycel (editable) and all that it needs to run

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else \
		"Mycel needs Python 3.11 or later: make PYTHON=<interpreter>")'
	@if command -v uv >/dev/null; then \
		uv venv --quiet --seed --python $(PYTHON) $(VENV); \
	else \
		$(PYTHON) -m venv $(VENV); \
	fi

$(VENV)/.with-%: pyproject.toml | $(PY)
	@if command -v uv >/dev/null; then \
		uv pip install --quiet --python $(PY) --editable '.[$*]'; \
	else \
		$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[$*]'; \
	fi
	@touch $@

# Asserts are rewritten when tests are first loaded: a twentieth of all the work, and each worker would
# do it. So two processes load a half each, before there are workers. What changes later, workers
# compile.
$(COMPILED): $(TESTS)
	@$(PY) -m pytest --collect-only -qq -p no:cacheprovider tests/unit >/dev/null & \
	$(PY) -m pytest --collect-only -qq -p no:cacheprovider --ignore tests/unit >/dev/null; \
	wait; touch $@

test: $(TESTS) $(COMPILED) ## Run all tests but those of PostgreSQL
	$(if $(SCRATCH),TMPDIR=$(SCRATCH)) $(PY) -m pytest -n $(WORKERS) --dist worksteal --ignore-glob '*/test_postgres*' $(ARGS)

test-postgres: $(TESTS) $(COMPILED) ## Run the part of the tests that PostgreSQL has to pass, on servers of their own
	$(if $(SCRATCH),TMPDIR=$(SCRATCH)) $(PY) -m pytest -n $(WORKERS) --dist worksteal --backend postgres $(ON_POSTGRES) -k "not test_the_reference" $(ARGS)
	$(if $(SCRATCH),TMPDIR=$(SCRATCH)) $(PY) -m pytest -n $(WORKERS) --dist worksteal $(OF_POSTGRES) $(ARGS)

run: $(RUNS) ## Serve a graph of this project; it says how to connect, Ctrl-C stops it
	@mkdir -p $(GRAPH)
	@exec $(PY) -m mycel serve --db $(GRAPH)/graph.db --bootstrap . $(ARGS)

check: lint types layers wheel smoke ## Check style, types, layers, the built wheel and `make run`

lint: $(CHECKS) ## Check style and formatting
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: $(CHECKS) ## Check types
	$(PY) -m mypy

layers: $(CHECKS) ## Check that every layer imports only from those below it
	$(VENV)/bin/lint-imports --no-logo

wheel: $(CHECKS) ## Build the wheel, install it bare elsewhere and run it
	$(PY) tools/wheel_smoke.py

smoke: $(RUNS) ## Start what `make run` starts, ask it something, stop it
	$(PY) tools/run_smoke.py

bench: $(TESTS) ## Run the benchmarks (graphs of 10k and 100k concepts)
	$(PY) -m benchmarks $(ARGS)

soak: $(TESTS) $(COMPILED) ## Run the long and randomised tests; SEED=<n> replays a run
	@seed=$(or $(SEED),$$($(PY) -c 'import secrets; print(secrets.randbelow(2**32))')); \
	echo "seed $$seed (to replay: make soak SEED=$$seed)"; \
	$(PY) -m pytest -n $(WORKERS) --dist worksteal -m "soak or hypothesis" \
		-o faulthandler_timeout=0 \
		--hypothesis-profile=soak --hypothesis-seed=$$seed --seed=$$seed $(ARGS)

coverage: $(TESTS) $(CHECKS) ## Run all tests and show what they leave out
	$(PY) -m coverage erase
	$(PY) -m coverage run -m pytest $(ARGS)
	$(PY) -m coverage combine --quiet
	$(PY) -m coverage report

format: $(CHECKS) ## Format the code and fix what can be fixed safely
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

bundles: $(RUNS) ## Write the plugins and bundles for clients (plugins/, server.json, links)
	$(PY) tools/bundles.py

bundlecheck: $(RUNS) ## Check them with the clients' own tools, where those are installed
	$(PY) tools/bundles.py --check
	$(PY) tools/bundle_check.py

web/node_modules: web/package-lock.json
	cd web && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

web: web/node_modules ## Build the explorer's bundle from web/ (needs Node 20; the bundle is committed)
	cd web && node build.mjs

webcheck: web/node_modules ## Check style, imports, types and tests of web/, and that its bundle is the committed one
	cd web && npm run --silent check

clean: ## Remove .venv, caches and built files
	rm -rf $(VENV) web/node_modules build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache \
		.hypothesis .coverage .coverage.* htmlcov
	find src tests tools benchmarks examples -name __pycache__ -type d -prune \
		-exec rm -rf {} + 2>/dev/null || true
