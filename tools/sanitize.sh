#!/bin/sh
# Runs mutated inputs of every parser (tests/hostile), then the parity suite, on C kernels that are built with
# AddressSanitizer and UndefinedBehaviorSanitizer.
#
# Called by `make sanitize` from the top of the tree; wants gcc and a `dev` environment. Works on a copy below .cache/,
# as an instrumented extension does not load into an ordinary Python. KCLI_INPUTS is how many inputs it tries,
# from KCLI_SEED, KCLI_MUTATIONS how many damaged payloads; further arguments go to pytest.
set -eu

python=$(pwd -P)/.cache/venv/bin/python
copy=.cache/sanitize
cc=${CC:-gcc}

rm -rf $copy
mkdir -p $copy
cp -R kcli tests setup.py pyproject.toml README.md LICENSE $copy/
cd $copy
rm -f kcli/core/kernels/_native*.so
CC=$cc KCLI_SANITIZE=1 "$python" setup.py --quiet build_ext --inplace

# The runtimes have to be there before anything else is loaded. Leaks are not looked for: Python itself never gives all
# back. Without PYTHONMALLOC, objects would lie in Python's own pools, in which nothing sees an access out of bounds.
careful() {
    LD_PRELOAD="$($cc -print-file-name=libasan.so) $($cc -print-file-name=libubsan.so)" \
        ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
        PYTHONMALLOC=malloc PYTHONPATH=. PYTHONDONTWRITEBYTECODE=1 KCLI_MUTATIONS="${KCLI_MUTATIONS:-250000}" \
        "$python" "$@"
}

# What was freed is kept for a while, so memory grows: only crashes, errors and hangs count.
careful -m tests.hostile --impl native --growth 8192 --seed "${KCLI_SEED:-1}" --inputs "${KCLI_INPUTS:-200000}"
careful -m pytest -q --timeout 3600 tests/parity "$@"
