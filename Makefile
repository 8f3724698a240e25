# Everything works on a fresh machine with Python (3.11 or later) and make: each goal sets up what it needs in .venv/.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt
# two test workers leave no core idle and none fought over
WORKERS ?= 2
# Tests compile thousands of small programs and run each of them once or twice: a quick compiler is worth more to them
# than quick programs, and threads would only wait for the other worker. At night everything runs as users run it.
HURRIED := --xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false \
	--xla_cpu_parallel_codegen_split_count=1 --xla_cpu_multi_thread_eigen=false

# In two runs, of theorems and documents and of the rest: what a test process cannot give back is half as much.
PYTEST := $(BIN)/pytest -rs -n $(WORKERS) --dist worksteal -m "not nightly"
FIRST_HALF := tests/contract tests/theorems tests/docs

# Tests start hundreds of processes, each of which would compile JAX from its sources again.
test nightly: export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test lint docs kernels chromium bench trials index nightly lock clean

demo: $(VENV)/.installed
	mkdir -p demo
	$(BIN)/ftheta audit digits-mlp --data digits-test --out demo/report.html
	@echo "The report is in demo/report.html"

# Types and style are checked beside the tests, so that no core is idle; what they say comes last.
test: $(VENV)/.installed-dev
	@mkdir -p build
	@$(MAKE) --no-print-directory lint >build/lint.txt 2>&1 & lint=$$!; \
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target kernels chromium && \
	export OPENBLAS_NUM_THREADS=1 XLA_FLAGS="$(HURRIED)"; \
	$(PYTEST) $(FIRST_HALF); first=$$?; \
	$(PYTEST) tests $(addprefix --ignore=,$(FIRST_HALF)); second=$$?; \
	wait $$lint; linted=$$?; cat build/lint.txt; exit $$((first + second + linted))

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright

# The loops behind exact pieces, verification and transport are compiled once, before the tests: else every test process would wait for them.
kernels: $(VENV)/.installed-dev
	$(BIN)/python -m ftheta.pieces >/dev/null
	$(BIN)/python -m ftheta.certify >/dev/null
	$(BIN)/python -m ftheta.transport >/dev/null

# The lab's tests need Chromium. Debian's is installed where that is allowed; elsewhere they are skipped, and the summary
# says so. FTHETA_BROWSER_TESTS=required makes them fail instead.
chromium:
	@if ! command -v chromium >/dev/null && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq; \
		DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends chromium >/dev/null || true; \
	fi

# Every core beside its peers in one run: benchmarks/RESULTS.md and results.svg. QUICK=1 is a look, small sizes and few
# rounds. Each peer gets an environment of its own in build/peers, the first time. `python -m benchmarks NAME` measures
# one core in depth.
bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.comparison $(if $(QUICK),--quick)

# An hour of adversarial cases for every kind of answer; prints how many were tried and how many were wrong.
MINUTES ?= 60
trials: $(VENV)/.installed-dev
	$(BIN)/python -m trials --minutes $(MINUTES)

# Everything, slow studies included, compiled as for users and with many more examples of every property.
nightly: $(VENV)/.installed-dev $(VENV)/.installed-docs chromium
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright tests
	$(BIN)/pytest -n $(WORKERS) --dist worksteal --hypothesis-profile=night

# The documentation site, in build/site/html. Theorems whose default run is not stored yet are run first. With DOCS_LANG=fr its
# interface, titles and courses are in French, in build/site/html-fr.
DOCS_LANG ?= en
SUFFIX := $(if $(filter-out en,$(DOCS_LANG)),-$(DOCS_LANG))
docs: $(VENV)/.installed-docs
	$(BIN)/python -m website results --workers $(WORKERS)
	$(BIN)/python -m website pages --lang $(DOCS_LANG)
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --define language=$(DOCS_LANG) \
		--doctree-dir build/site/doctrees$(SUFFIX) build/site/source$(SUFFIX) build/site/html$(SUFFIX)
	$(BIN)/python -m website inspect --lang $(DOCS_LANG)

index: $(VENV)/.installed-dev
	$(BIN)/python -m ftheta.catalogue
	$(BIN)/python -m ftheta.report.document docs/result.schema.json

lock: $(VENV)/.installed-dev $(VENV)/.installed-docs
	$(BIN)/python -m pip freeze --exclude-editable > constraints.txt

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --editable .
	touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --editable '.[dev]'
	touch $(VENV)/.installed $@

$(VENV)/.installed-docs: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --editable '.[docs]'
	touch $(VENV)/.installed $@
