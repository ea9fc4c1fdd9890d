# Every target does its own set-up; a second run starts in seconds.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
NATIVE := $(shell find src/core src/bindings -type f) CMakeLists.txt pyproject.toml
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile
# Python compiles a module when it is first imported and keeps the result, even if the environment says otherwise: without
# it every start of the command compiles the whole package again. Packages are not compiled as they are installed.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help tour test suite test-long test-adapters test-page test-cluster test-ray test-label-studio test-doccano lint sanitize oom docs bench wheel lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-17s %s\n", $$1, $$2}'

$(VENV)/.made:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Chaffinch needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

# The compilation starts first: the other packages are installed meanwhile.
$(VENV)/.compiler: $(VENV)/.made locks/tour.txt
	$(PIP) --constraint locks/tour.txt cmake ninja nanobind scikit-build-core
	@touch $@

$(VENV)/.tour: locks/tour.txt | $(VENV)/.compiler
	$(PIP) -r locks/tour.txt
	@touch $@

# The large packages are imported once, which compiles their modules; otherwise every worker of the tests would.
$(VENV)/.test: locks/test.txt | $(VENV)/.compiler
	$(PIP) -r locks/test.txt
	$(BIN)/python -c 'import altair, hypothesis.strategies, pandas, polars, pyarrow.parquet, scipy.stats, \
	  sklearn.utils.estimator_checks, xdist'
	@touch $@ $(VENV)/.tour

$(VENV)/.bench: $(VENV)/.made locks/bench.txt
	$(PIP) -r locks/bench.txt
	@touch $@ $(VENV)/.test $(VENV)/.tour

# Warnings are errors wherever we build ourselves; a user's compiler may know warnings that ours does not. Hot loops are
# compiled for this machine alone, which would not use the versions for other processors. The wheel has them all.
$(VENV)/.built: $(NATIVE) | $(VENV)/.compiler
	PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) --no-build-isolation --no-deps \
	  --config-settings=cmake.define.CHAFFINCH_WERROR=ON --config-settings=cmake.define.CHAFFINCH_THIS_MACHINE=ON -e .
	@touch $@

tour: $(VENV)/.tour $(VENV)/.built ## set up, build, and walk through the toolkit on the embedded samples
	$(BIN)/chaffinch tour --yes

# One core installs packages while the other compiles; then the linters run beside the tests.
test: $(VENV)/.compiler ## lint, types, import contract, tests, doctests, README examples
	@$(MAKE) --no-print-directory --jobs=2 lint suite

# Files keep their order, in which short doctests are last: sorted by their number of tests, as xdist does by default, the
# last ones are single tests of up to half a minute, and one core waits for the other.
# Asserts are not rewritten, which each worker would do for every file; failed tests run again with the values shown.
suite: $(VENV)/.test $(VENV)/.built
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --assert=plain -m "not long" \
	  || { $(BIN)/python -m pytest --last-failed --last-failed-no-failures=none; exit 1; }

$(VENV)/.adapters $(VENV)/.page $(VENV)/.cluster: $(VENV)/.%: locks/%.txt | $(VENV)/.test
	$(PIP) -r $<
	@touch $@

test-long: $(VENV)/.test $(VENV)/.built ## tests that take seconds or train every recipe: memory, killed runs, damaged files
	$(BIN)/python -m pytest -n auto -m long tests

test-adapters: $(VENV)/.adapters $(VENV)/.built ## the interfaces to other tools, together with those tools
	$(BIN)/python -m pytest -n auto --dist loadfile tests/adapters

# Packages of npm check the page; without npm the tests that need them are skipped.
tests/page/node_modules/.made: tests/page/package-lock.json
	if command -v npm > /dev/null; then cd tests/page && npm ci --no-audit --no-fund --silent && touch node_modules/.made; fi

# Status 75: the browser no longer answers. Another one is tried, once.
test-page: $(VENV)/.page $(VENV)/.built tests/page/node_modules/.made ## the server and its page, in a real browser
	$(BIN)/python -m pytest tests/page || { [ $$? = 75 ] && $(BIN)/python -m pytest tests/page; }

test-cluster: $(VENV)/.cluster $(VENV)/.built ## the engines, on a local cluster
	$(BIN)/python -m pytest tests/cluster

test-ray: test-cluster ## another name of test-cluster

# Annotation tools have an environment each, since their requirements exclude ours.
build/label-studio/.made build/doccano/.made: build/%/.made: locks/%.txt
	$(PYTHON) -m venv --clear build/$*/venv
	build/$*/venv/bin/python -m pip --disable-pip-version-check install --quiet -r $<
	rm -f build/$*/empty.sqlite3
	@touch $@

test-label-studio: $(VENV)/.page $(VENV)/.built build/label-studio/.made ## the server as a backend of the real Label Studio
	$(BIN)/python -m pytest tests/label_studio

test-doccano: $(VENV)/.page $(VENV)/.built build/doccano/.made ## the server as the auto-labelling of the real doccano
	$(BIN)/python -m pytest tests/doccano

lint: $(VENV)/.test $(VENV)/.built ## ruff, mypy (strict), import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# A second environment sees the packages of the first and has a module of its own, built with the sanitizers.
SANITIZED := build/sanitize
$(SANITIZED)/.built: $(NATIVE) | $(VENV)/.test
	test -x $(SANITIZED)/venv/bin/python || $(BIN)/python -m venv $(SANITIZED)/venv
	cd $(SANITIZED)/venv/lib/python3*/site-packages && (cd "$(CURDIR)/$(VENV)/lib/"python3*/site-packages && pwd) > first.pth
	PATH="$(CURDIR)/$(BIN):$$PATH" $(SANITIZED)/venv/bin/python -m pip --disable-pip-version-check install --quiet \
	  --no-build-isolation --no-deps --config-settings=build-dir=$(SANITIZED)/objects \
	  --config-settings=cmake.define.CHAFFINCH_SANITIZE=ON -e .
	@touch $@

sanitize: $(SANITIZED)/.built ## the tests with every C++ access and every arithmetic step checked (ONLY=tests/test_chain.py)
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
	  $(SANITIZED)/venv/bin/python -m pytest -q --capture=no -p no:cacheprovider $(or $(ONLY),tests)

# All places of all recipes take hours; a few hundred of each are minutes.
oom: $(VENV)/.test $(VENV)/.built ## let allocations of the core fail one by one, in every recipe (ONLY="tagger crf" PLACES=100000)
	$(BIN)/python tests/allocation_failures.py --places $(or $(PLACES),200) --only "$(ONLY)"

docs: $(VENV)/.test $(VENV)/.built ## write docs/settings.md from the code, run the docs' examples, render to docs/_build
	$(BIN)/python docs/build.py
	$(BIN)/python -m pytest -q docs README.md

# The wheel is made from the source distribution, which a compiler alone must be able to build; a wheel of Python 3.12 or
# newer has the stable ABI and serves all later ones (make wheel PYTHON=python3.12). Its compiler gives way to tests.
$(VENV)/.wheel: $(VENV)/.made locks/wheel.txt
	$(PIP) -r locks/wheel.txt
	@touch $@

wheel: $(VENV)/.wheel ## a source distribution and a wheel in dist/, installed and tried in an empty environment
	rm -rf dist
	nice $(BIN)/python -m build --outdir dist/built .
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tests/try_wheel.py dist

bench: $(VENV)/.bench $(VENV)/.built ## benchmarks against the rivals; results go to benchmarks/results
	$(BIN)/python -m benchmarks $(ONLY)

lock: $(VENV)/.made ## resolve the dependency locks again
	$(PIP) uv
	cd locks && for group in tour test bench adapters page cluster; do \
	  ../$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-emit-index-url \
	    --no-emit-find-links --no-annotate $$([ $$group = tour ] && echo --group ../pyproject.toml:build || echo --group ../pyproject.toml:$$group) \
	    $$(case $$group in tour|test) ;; *) echo --constraints test.txt;; esac) ../pyproject.toml -o $$group.txt || exit 1; done
	cd locks && for group in wheel label-studio doccano; do \
	  ../$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-emit-index-url \
	    --no-emit-find-links --no-annotate --group ../pyproject.toml:$$group -o $$group.txt || exit 1; done

clean: ## remove everything that was built
	rm -rf $(VENV) build dist docs/_build tests/page/node_modules src/chaffinch/_core.pyi .mypy_cache .ruff_cache .pytest_cache .hypothesis
