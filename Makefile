# `make` lists the targets. Everything they install or cache lies below .cache/.
#
# Paths are relative, so that a checkout may lie in a folder whose name has blanks. POSIX sh and
# GNU make 4 do.

CACHE := .cache
BIN   := $(CACHE)/venv/bin
PY    := $(BIN)/python
PYTEST := $(PY) -m pytest -p tests.checks.skips
PACKAGING := $(CACHE)/packaging

export PIP_CACHE_DIR := $(CURDIR)/$(CACHE)/pip
export HYPOTHESIS_STORAGE_DIRECTORY := $(CURDIR)/$(CACHE)/hypothesis
# Without bytecode every kcli that a test starts would compile its sources anew.
unexport PYTHONDONTWRITEBYTECODE
# Most users do not set it, and it hides what is written late, or never.
unexport PYTHONUNBUFFERED
export KCLI_CACHE ?= $(CURDIR)/$(CACHE)/kcli

# Cheap suites first. What the list does not name runs last: no suite can be forgotten.
ORDER  := $(addprefix tests/,checks unit protocol parity cli fault integration chaos)
SUITES := $(wildcard $(ORDER)) \
          $(filter-out $(ORDER) tests/__pycache__,$(patsubst %/,%,$(wildcard tests/*/))) \
          $(wildcard tests/test_*.py)

# pytest compiles the tests in a way of its own. Done before there are processes that would all do the same; one half per
# core. What is wrong with a test is reported by the run.
HALF := tests/unit tests/protocol
COMPILE_TESTS = ls tests/checks/__pycache__/*-pytest-*.pyc >/dev/null 2>&1 || { \
    $(BIN)/pytest -qq --collect-only $(filter $(HALF),$(SUITES)) >/dev/null 2>&1 & \
    $(BIN)/pytest -qq --collect-only $(filter-out $(HALF),$(SUITES)) >/dev/null 2>&1; wait; }

.NOTPARALLEL:
.PHONY: help demo test test-long test-lowest test-latest one test-brokers test-kerberos test-spark-cluster chaos lost-lines rewind-ledger mirror-service pipeline-drill fuzz fuzz-guided bombs sanitize check promtool docs lock audit bench bench-readme bench-produce-consume bench-perf bench-pipeline clean distclean venv venv-dev

help:
	@echo 'make demo       a throw-away Apache Kafka: records there and back, lag, rewind, mirror, verify'
	@echo 'make test       the static checks, then every suite but what the next five run'
	@echo 'make test-long    kills at every step, the pages of the documentation, sandboxes of three nodes, wheels: quarter of an hour'
	@echo 'make test-brokers    the tests for older versions of Kafka, and every command on each version (KAFKA=3.0.2: on this one alone)'
	@echo 'make test-kerberos   GSSAPI with a KDC (Debian: krb5-kdc krb5-user libkrb5-dev), which make test leaves out'
	@echo 'make test-spark-cluster   jobs on a cluster of Spark: a master and two workers, whose processes are killed'
	@echo 'make chaos      the long fault runs: brokers die, restart and stop under load, groups are rewound'
	@echo 'make test-lowest   what depends on libraries, with the oldest version that pyproject.toml allows of each: minutes'
	@echo 'make test-latest   the same with the newest versions that are published'
	@echo 'make one T=tests/unit/core/test_errors.py::test_name    one test, or one file'
	@echo 'make lost-lines  300 random runs of produce on brokers that die: is a line lost? About half an hour'
	@echo 'make mirror-service  long runs of a mirror: WHAT=kills, outages or drills (SEED ARGS)'
	@echo 'make pipeline-drill   exports to an object store, chains of nights and streams whose processes are killed (KILLS SEED)'
	@echo 'make rewind-ledger   200 random live rewinds, judged by what the members read: about half an hour (SEED CELLS JOBS)'
	@echo 'make fuzz       10,000,000 mutated inputs over every parser of foreign bytes, 100,000 over sockets, 1,000 examples of each property: hours, in pieces (SEED FUZZ FUZZ_JOBS FUZZ_MINUTES)'
	@echo 'make fuzz-guided   inputs that follow the coverage of the parsers, each family for SECONDS=60, by atheris'
	@echo 'make bombs      batches that decompress to 1 GiB, or declare 64: memory and time of consume and mirror'
	@echo 'make sanitize   the C kernels under AddressSanitizer, on 200,000 mutated inputs and 250,000 damaged payloads'
	@echo 'make check      static only: ruff, mypy, import contracts, generated files'
	@echo 'make promtool   fetches Prometheus and promtool (Debian: prometheus), by which tests judge the rules and dashboards of kcli exporter and of a mirror'
	@echo 'make docs       writes the generated files again: man pages, completions, README blocks'
	@echo "make protocol   writes the tables of messages and records again, by Kafka's definitions (KAFKA=4.5.0: of that version)"
	@echo 'make traceability   writes .cache/traceability.md: what kcli has to do, where it is done, and the tests that hold it'
	@echo 'make pictures   draws the pictures of the documentation again: screens of kcli top, plots of perf and profile'
	@echo 'make gallery    draws every screen of kcli top at every size and in every look, in .cache/gallery (NAMES=...)'
	@echo 'make site       builds the documentation site, strictly, in .cache/site/html; its first run needs PyPI (SITE_URL=https://HOST/PATH/)'
	@echo 'make site-serve   shows it, and what changes in docs/, on 127.0.0.1:8000'
	@echo 'make site-test  looks at each of its pages in a headless Chromium (Debian: chromium-driver): minutes'
	@echo 'make lock       writes requirements.lock and tools/site/site.lock again, with hashes (needs a registry)'
	@echo 'make audit      compares requirements.lock with the published advisories (needs a registry that has them)'
	@echo 'make dist       builds in dist/ what a release has: sdist, wheels for Linux and macOS, .pex, .deb, checksums (needs PyPI)'
	@echo 'make dist-test  installs each of these as a user would, also in fresh Debians, and runs every command (CHECKS=...)'
	@echo 'make licenses   writes docs/licenses.md again: the license of each package of requirements.lock (needs PyPI)'
	@echo 'make image      builds the container image from what make dist has built (needs docker, podman or buildah)'
	@echo 'make bench      runs the benchmarks'
	@echo "make bench-readme   one run more for README's table, in ten minutes; refuses on a busy machine"
	@echo 'make bench-produce-consume    produce and consume beside their rivals'
	@echo "make bench-perf   kcli perf beside Kafka's own perf tools, and pairs of runs compared"
	@echo "make bench-pipeline    kcli pipeline beside Spark's Kafka connector: half an hour (KCLI_BENCH_MEGABYTES=100: minutes)"
	@echo 'make clean      removes what was built, and the caches of the tools'
	@echo 'make distclean  also .cache/: the environment and all downloads'
	@echo
	@echo "PYTHON=python3.12 chooses the interpreter; PYTEST_ARGS='-k lag' narrows make test."

demo: venv
	@$(PY) -m kcli demo

# These targets share out all tests by their markers (pyproject.toml); tests/checks/test_targets.py reads these
# command lines. pytest's 5, "no tests", is what PYTEST_ARGS may leave of one of them.
#
# What needs no Kafka runs several at a time because most of it waits; then what runs on real brokers, a node for each
# process and one cluster of three. Tests that only compute run beside both, in the time that these leave; their output
# comes last.
#
# A phase in which at most three tests failed goes on, and these tests run once more at the end, alone
# (tests/checks/once_more.py). Anything else that is red stays red.
QUICK := not long and not brokers and not soak and not kerberos and not spark_cluster
BESIDE := $(CACHE)/computing.log
FAILED := $(CACHE)/failed
NONE_IS_FINE = || [ $$? -eq 5 ]
# A long run that was stopped goes on where it ended: what passed under the same code is not run again
# (tests/checks/remembered.py). Once all is done nothing is remembered.
PASSED := $(CACHE)/passed
REMEMBER = -p tests.checks.remembered --remember
PHASE = $(PYTEST) -p tests.checks.once_more --phase $(1)
GOES_ON = $(NONE_IS_FINE) || [ -e $(FAILED)/$(1) ]
test: check
	@$(COMPILE_TESTS)
	@rm -rf $(FAILED)
	@{ nice $(call PHASE,computing) -n 2 --dist worksteal -m 'computing and not integration and $(QUICK)' $(SUITES) $(PYTEST_ARGS) $(call GOES_ON,computing); } >$(BESIDE) 2>&1 & beside=$$!; \
	{ $(call PHASE,waiting) -n 8 --dist worksteal -m 'not integration and not computing and $(QUICK)' $(SUITES) $(PYTEST_ARGS) $(call GOES_ON,waiting); } && \
	{ $(call PHASE,integration) -n 4 --dist loadfile -m 'integration and $(QUICK)' $(SUITES) $(PYTEST_ARGS) $(call GOES_ON,integration); }; waited=$$?; \
	wait $$beside; computed=$$?; cat $(BESIDE); [ $$waited -eq 0 ] && [ $$computed -eq 0 ] && $(PY) -m tests.checks.once_more $(PYTEST_ARGS)

# What takes long and seldom breaks alone: processes killed at every step, pages of documentation typed from beginning to
# end, sandboxes of three nodes, wheels of every kind. Before each release, and after changes to what they hold.
test-long: venv-dev
	@$(PYTEST) $(REMEMBER) long -n 3 --dist loadfile --durations=20 -m 'long and not brokers and not soak and not kerberos and not spark_cluster' $(SUITES) $(PYTEST_ARGS)
	@rm -f $(PASSED)/long

# Some minutes each; PYTHON=python3.14 chooses the interpreter. pyproject.toml says which versions are allowed, and why.
test-lowest: venv-dev $(PACKAGING)/ready
	@PYTHON='$(PYTHON)' sh tools/versions.sh lowest $(PACKAGING)/bin $(PYTEST_ARGS)

test-latest: venv-dev $(PACKAGING)/ready
	@PYTHON='$(PYTHON)' sh tools/versions.sh latest $(PACKAGING)/bin $(PYTEST_ARGS)

# One test, or one file: no static checks, and nothing else is collected.
one: venv-dev
	@$(PYTEST) -n 0 $(T) $(PYTEST_ARGS)

# The tests for older versions; then, on each version of the matrix, every command, and on the newest Kafka before 4.0 and
# the oldest that is supported the tests of the second phase again. KAFKA=3.0.2: all of it on this version alone. Pages
# show the default version.
MATRIX := 2.8.2 3.0.2 3.3.2 3.9.2 4.0.2 4.3.1 4.4.0
REPEATED := 2.8.2 3.9.2
ALONE = $(if $(filter command,$(origin KAFKA)),$(KAFKA))
EVERY_COMMAND := tests/integration/test_every_command.py
ON_ANY_VERSION := tests/integration tests/proxy --ignore-glob='*/test_sandbox*' --ignore-glob='*/test_stories*'
test-brokers: venv-dev
ifneq ($(origin KAFKA),command line)
	@$(PYTEST) $(REMEMBER) brokers -n 2 --dist loadfile -m 'brokers and not soak and not kerberos and not spark_cluster' $(SUITES) $(PYTEST_ARGS) $(NONE_IS_FINE)
endif
	@failed=; \
	for version in $(or $(ALONE),$(MATRIX)); do \
	    echo "Kafka $$version"; \
	    { $(PYTEST) $(REMEMBER) brokers-$$version -n 0 --kafka-version $$version $(EVERY_COMMAND) $(PYTEST_ARGS) $(NONE_IS_FINE); } || failed="$$failed $$version"; \
	    case ' $(or $(ALONE),$(REPEATED)) ' in *" $$version "*) \
	        { $(PYTEST) $(REMEMBER) brokers-$$version -n 2 --dist loadfile --kafka-version $$version -m 'integration and not brokers and not long and not soak and not spark_cluster' $(ON_ANY_VERSION) $(PYTEST_ARGS) $(NONE_IS_FINE); } || failed="$$failed $$version";; \
	    esac; \
	done; \
	[ -z "$$failed" ] || { echo "failed on Kafka$$failed" >&2; exit 1; }; rm -f $(PASSED)/brokers*

# Only the two programs of the package, below .cache/.
promtool:
	@rm -rf $(CACHE)/promtool && mkdir -p $(CACHE)/promtool
	@cd $(CACHE)/promtool && apt-get download prometheus && dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool ./usr/bin/prometheus && rm prometheus_*.deb
	@$(PYTEST) -n 0 tests/checks/test_contrib.py tests/fault/test_prometheus.py

# A key distribution center and a broker with GSSAPI; the library is compiled against the system's Kerberos.
test-kerberos: venv-dev
	@$(PY) -c 'import gssapi' 2>/dev/null || $(PY) -m pip install --quiet 'gssapi>=1.8' || :
	@$(PYTEST) -m 'kerberos and not spark_cluster' $(SUITES) $(PYTEST_ARGS)

# A master and two workers, from the installed pyspark. One at a time: they take all processors.
test-spark-cluster: venv-dev
	@$(PYTEST) --durations=0 -m spark_cluster $(SUITES) $(PYTEST_ARGS)

# One at a time: what they measure is disturbed by each other.
chaos: venv-dev
	@$(PYTEST) $(REMEMBER) chaos -rP --durations=0 -m 'soak and not kerberos and not spark_cluster' $(SUITES) $(PYTEST_ARGS)
	@rm -f $(PASSED)/chaos

# RUNS (CELLS for the ledger), SEED and JOBS choose how many, which, and how many at once.
RUNS ?= 300
CELLS ?= 200
SEED ?= 1
JOBS ?= 6
lost-lines: venv-dev
	@$(PY) -m tests.chaos.lost_lines --runs $(RUNS) --seed $(SEED) --jobs $(JOBS)

# WHAT: kills, outages or drills; more by ARGS, such as --exactly-once.
WHAT ?= kills
mirror-service: venv-dev
	@$(PY) -m tests.chaos.mirror_service $(WHAT) --seed $(SEED) $(ARGS)

# Exports, then the drills that are tests: add the file of another writer here.
DRILLS := tests/pipeline/test_stream_kafka.py
KILLS ?= 12
pipeline-drill: venv-dev
	@$(PY) -m tests.chaos.pipeline_drill --kills $(KILLS) --seed $(SEED)
	@KCLI_KILL_SEED=$(SEED) $(PYTEST) -rP -n 0 -m long -k kill $(DRILLS)

rewind-ledger: venv-dev
	@$(PY) -m tests.chaos.rewind_ledger --seed $(SEED) --cells $(CELLS) --jobs $(JOBS)

# FUZZ is how many inputs, in as many processes as there are processors (FUZZ_JOBS), and a hundredth as many over real
# sockets. What is found is kept below .cache/fuzz, beside a ledger of what was judged: the same command goes on where a
# run ended, that of FUZZ_MINUTES with the first piece after them. In the end the properties of hypothesis that only
# compute, with twenty times the examples of make test (tests/conftest.py). It is green once all is done and nothing found.
FUZZ ?= 10000000
FUZZ_JOBS ?= $(shell nproc)
FUZZ_MINUTES ?= inf
fuzz: venv-dev
	@$(PY) -m tests.hostile --inputs $(FUZZ) --seed $(SEED) --jobs $(FUZZ_JOBS) --clients --remember --minutes $(FUZZ_MINUTES) -- \
	    $(PYTEST) $(REMEMBER) properties-$(SEED) -n $(FUZZ_JOBS) --dist worksteal --timeout 3600 --hypothesis-profile thorough --hypothesis-seed $(SEED) -m 'hypothesis and computing' $(SUITES) $(PYTEST_ARGS)

# Coverage-guided, each family of parsers for SECONDS; atheris has wheels for Python 3.11 to 3.13 on Linux.
SECONDS ?= 60
fuzz-guided: venv-dev
	@$(PY) -m pip install --quiet --upgrade --no-deps --target $(CACHE)/atheris 'atheris>=3,<4'
	@PYTHONPATH=$(CACHE)/atheris $(PY) -m tests.hostile.guided --seconds $(SECONDS)

bombs: venv-dev
	@$(PY) -m tests.hostile.bombs

sanitize: venv-dev
	@sh tools/sanitize.sh $(PYTEST_ARGS)

check: venv-dev
	@$(PY) -m ruff check .
	@{ $(BIN)/lint-imports --no-logo --cache-dir $(CACHE)/import-linter && \
	    $(PY) -m kcli.docgen --check; } & others=$$!; $(PY) -m mypy; typed=$$?; wait $$others && exit $$typed

docs: venv
	@$(PY) -m kcli.docgen

# The tables of Kafka's messages, by the definitions in its jars (tools/protocol/jars.sha256). What is special is in
# tools/protocol/notes.py.
KAFKA ?=
.PHONY: protocol
protocol: venv-dev
	@$(PY) -m tools.protocol $(if $(KAFKA),--kafka $(KAFKA))

# What kcli has to do, where it is done, and the tests that hold it: docs/cases.toml joined with the marks of the tests.
.PHONY: traceability
traceability: venv-dev
	@$(PY) -m tests.checks.traceability >$(CACHE)/traceability.md
	@echo "the table is in $(CACHE)/traceability.md"

# Not a part of docs: a release of Textual may draw the same screen by other bytes.
.PHONY: pictures
pictures: venv-dev
	@$(PY) -m tests.tui.incident docs/pictures/incident.ndjson
	@$(PY) -m kcli.docgen.pictures

# Every screen of kcli top at 80x24 to 300x80, in each look, to be looked at: NAMES='groups partitions.80x24' for some.
.PHONY: gallery
gallery: venv-dev
	@$(PY) -m tests.tui.gallery $(CACHE)/gallery $(NAMES)

# The documentation site: the reference by kcli itself, then all of it by MkDocs, in an environment of its own, with the
# versions of tools/site/site.lock. --strict: a dead link, or a page to which none leads, is an error. SITE_URL is where the
# site will be, with a slash at its end; only 404.html and the sitemap depend on it.
SITE := $(CACHE)/site
SITE_URL ?=
$(SITE)/ready: tools/site/site.lock | venv
	@rm -rf $(SITE)/venv && mkdir -p $(SITE) && $(PY) -m venv $(SITE)/venv
	@$(SITE)/venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r tools/site/site.lock
	@touch $@

.PHONY: site site-pages site-serve site-test
site-pages: $(SITE)/ready
	@rm -rf $(SITE)/pages && $(PY) -m kcli.docgen --site $(SITE)/pages

site: site-pages
	@SITE_URL='$(SITE_URL)' NO_MKDOCS_2_WARNING=1 $(SITE)/venv/bin/mkdocs build --strict --clean
	@echo "the site is in $(SITE)/html: open index.html"

site-serve: site-pages
	@NO_MKDOCS_2_WARNING=1 $(SITE)/venv/bin/mkdocs serve --strict

# Each page in a browser, on two widths of screen (Debian: chromium-driver); minutes.
site-test: site
	@$(PY) -m tests.site $(SITE)/html

# Tools of their own, because no other target needs them.
SUPPLY := $(CACHE)/supply
$(SUPPLY)/ready: | venv
	@$(PY) -m venv $(SUPPLY)
	@$(SUPPLY)/bin/python -m pip install --quiet --disable-pip-version-check uv pip-audit
	@touch $@

.PHONY: lock audit
lock: $(SUPPLY)/ready
	@sh tools/lock.sh $(SUPPLY)/bin

# --strict: a package whose advisories cannot be read is a failure.
audit: $(SUPPLY)/ready
	@$(SUPPLY)/bin/pip-audit --strict --progress-spinner off --disable-pip --require-hashes -r requirements.lock || \
	    { echo 'make audit: a package has an advisory, or the registry in use serves none: see above' >&2; exit 1; }

# Versions of their own, fixed in tools/packaging/requirements.txt.
$(PACKAGING)/ready: tools/packaging/requirements.txt | venv
	@$(PY) -m venv --clear $(PACKAGING)
	@$(PACKAGING)/bin/python -m pip install --quiet --disable-pip-version-check -r tools/packaging/requirements.txt
	@touch $@

.PHONY: dist dist-test image
dist: $(PACKAGING)/ready
	@sh tools/packaging/build.sh $(PACKAGING)/bin

# Reads what is installed, and fetches what is not; pyspark and gssapi are published as source.
.PHONY: licenses
licenses: venv-dev $(PACKAGING)/ready
	@grep -vE '^(pyspark|gssapi)==|^    --hash' requirements.lock | sed 's/ \\$$//' >$(PACKAGING)/wheels.txt
	@$(PACKAGING)/bin/uv pip install --quiet --target $(PACKAGING)/libraries --no-deps -r $(PACKAGING)/wheels.txt
	@$(PY) tools/packaging/licenses.py $(PACKAGING)/libraries

# CHECKS names some of them (tests/packages/installations.py); a fresh Debian needs root and debootstrap.
CHECKS ?=
dist-test: venv-dev $(PACKAGING)/ready
	@$(PY) -m tests.packages $(CHECKS)

image:
	@sh tools/packaging/image.sh

# On a machine that does nothing else: records the run in benchmarks/runs.json, and writes README's table of all runs.
bench-readme: venv-dev
	@$(PY) -m benchmarks readme

bench-produce-consume: venv-dev
	@$(PY) -m benchmarks produce_consume

# Beside Kafka's own tools, then what perf compare says of real runs: 20 minutes (KCLI_BENCH_ROUNDS, KCLI_BENCH_PAIRS).
bench-perf: venv-dev
	@$(PY) -m benchmarks perf perf_pairs

bench-pipeline: venv-dev
	@$(PY) -m benchmarks pipeline

bench: venv-dev
	@$(PY) -m benchmarks

# The script finds out by itself, in a few milliseconds, that there is nothing to do.
venv:
	@PYTHON='$(PYTHON)' sh tools/make-venv.sh run

venv-dev:
	@PYTHON='$(PYTHON)' sh tools/make-venv.sh dev

clean:
	@rm -rf build dist *.egg-info kcli/core/kernels/_native*.so
	@cd $(CACHE) 2>/dev/null && rm -rf ruff mypy pytest hypothesis import-linter kernels sanitize || :

distclean: clean
	@rm -rf $(CACHE)
