# Every target that people call has a `##` description; `make help` prints them.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory
export PYTHON
# Tests and commands start many processes; without bytecode each of them would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
# Two workers; tests of one xdist group share what they build.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadgroup
STAMP := .venv/.installed
# Where a caller wants pytest's own exit code, which make replaces by its own, it names a file for it.
STATUS := $(or $(SOTTOVOCE_STATUS_FILE),/dev/null)

.PHONY: help demo setup test test-quick test-long check format bench bench-year bench-peers coverage mutants fuzz examples screenshots lock-image web docs docs-serve test-spark test-oldest system-deps release release-notes publishable publish-web clean

help: ## List every target with its description
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | \
		while IFS='|' read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

demo: $(STAMP) ## See estimates beside the truth in seconds, then a survey with a dashboard to open
	@$(BIN)/sottovoce demo --no-page
	@printf '\nNow the same over HTTP: a survey with a collector and 3,000 simulated devices.\n'
	@$(BIN)/sottovoce demo --collector --participants 3000

setup: $(STAMP) ## Create .venv with all extras and the development tools

test: system-deps $(STAMP) ## Run everything: lint, types and all tests but the long sweeps
	@status=0; scripts/timed.sh test "about 15 minutes (test-quick: 2)" $(PYTEST) || status=$$?; \
		echo $$status > $(STATUS); exit $$status

test-quick: $(STAMP) ## Run the tests that are not marked slow: minutes, good to begin with
	@scripts/timed.sh test-quick "about 2 minutes" $(PYTEST) --dist worksteal -m "not slow and not long"

test-long: $(STAMP) ## Run the long sweeps, which no other target runs, and write build/test-long
	@mkdir -p build/test-long
	@status=0; $(PYTEST) -m long --durations 0 --durations-min 1 --junit-xml build/test-long/results.xml \
		> build/test-long/summary.txt || status=$$?; cat build/test-long/summary.txt; exit $$status

test-spark: $(STAMP) ## Run the Spark tests on a real two-worker cluster that loses an executor (SPARK="-m long")
	@scripts/test-spark.sh $(SPARK)

test-oldest: $(STAMP) ## Test the engines, and the wheel's first answer, with the oldest versions that are allowed
	@scripts/test-oldest.sh

check: $(STAMP) ## Lint, formatting and types, without the tests
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(STAMP) ## Apply the formatter and the safe lint fixes
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(STAMP) ## Measure speed on this machine
	@$(BIN)/python -m benchmarks

bench-year: $(STAMP) ## Play a year of daily waves with devices of the real client, DEVICES=100000: hours, or minutes with 2000
	@$(BIN)/python -m benchmarks.over_time --devices $(or $(DEVICES),100000) --check

bench-peers: $(STAMP) ## Measure the same work in other libraries
	@scripts/bench-peers.sh

coverage: $(STAMP) ## Compute how often intervals cover, into three pages of docs (STUDY=means: one study)
	@$(BIN)/sottovoce reproduce 'coverage-$(or $(STUDY),*)' --pages docs

mutants: $(STAMP) ## Change the source in small wrong ways and see whether the tests notice (MUTANTS="--help")
	@$(BIN)/python -m scripts.mutants $(MUTANTS)

fuzz: $(STAMP) ## Try random channels and specifications, then the collector's decoder and routes, MINUTES=10 minutes each
	@$(BIN)/python -m scripts.fuzz.channels --minutes $(or $(MINUTES),10)
	@mkdir -p build/fuzz && $(BIN)/python -m scripts.fuzz.decoder --minutes $(or $(MINUTES),10) --seeds build/fuzz
	@$(BIN)/python -m scripts.fuzz.routes --minutes $(or $(MINUTES),10)

examples: $(STAMP) ## Plan, simulate, export and document the example studies, into build/examples
	@$(BIN)/python -m scripts.examples

screenshots: system-deps $(STAMP) ## Take the pictures of the pages again, in a real browser
	@$(BIN)/python -m scripts.screenshots

lock-image: $(STAMP) ## Write the packages of the container with the hashes of their files, into deploy/requirements.txt
	@scripts/lock-image.sh

web: ## Rebuild the browser client from clients/web, with Node.js
	@scripts/web.sh

docs: $(STAMP) ## Write the generated reference pages and build the documentation site, strictly, into build/site
	@$(BIN)/python -m scripts.docs.site

docs-serve: docs ## Build the documentation site and show it on http://127.0.0.1:8321
	@$(BIN)/python -m http.server 8321 --bind 127.0.0.1 --directory build/site

release: system-deps $(STAMP) ## Build and check sdist, wheel, npm package, bill of materials and checksums, into dist
	@$(BIN)/python -m scripts.release

publishable: ## Copy what goes to the Python index from DIST into INTO
	@mkdir -p $(INTO) && cp $(DIST)/*.whl $(DIST)/*.tar.gz $(INTO)

publish-web: ## Publish the npm package of dist; only the release workflow may
	@npm publish dist/sottovoce-web-*.tgz --access public

release-notes: $(STAMP) ## Show the entries of changes; VERSION=0.2.0 writes them into CHANGELOG.md
	@$(BIN)/python -m scripts.release_notes $(if $(VERSION),--version $(VERSION)) $(if $(BASE),--against $(BASE))

system-deps: ## Install PostgreSQL, Chromium and Node.js where this user may
	@scripts/system-deps.sh

clean: ## Remove .venv, caches and build results
	@rm -rf .venv .venv-peers .venv-spark* .venv-oldest* dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

$(STAMP): pyproject.toml experiments/pyproject.toml constraints.txt scripts/setup-venv.sh
	@scripts/setup-venv.sh
	@touch $@
