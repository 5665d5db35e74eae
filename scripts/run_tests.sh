#!/usr/bin/env bash
# Tests of one tier: quick, rest or images (docs/testing.md). Every group of a tier is run, whatever
# another one finds.
set -uo pipefail
pytest=.venv/bin/pytest
# Threads that wait for each other's part of a small computation sleep, and leave the core to tests.
export OMP_WAIT_POLICY=PASSIVE

# What is slowest comes first, so that no process has much left when the other has nothing.
folders=(tests/integration tests/containers tests/browser tests/scripts tests/test_golden.py
    tests/stages tests/cli tests/fuzz)
# A process of tests that dies is not replaced: with this order xdist would wait for ever then.
side_by_side() {
    "$pytest" --durations=15 --numprocesses 2 --dist loadfile --no-loadscope-reorder \
        --max-worker-restart=0 "$@"
}

case $1 in
quick)
    # Nothing was installed for these, so nothing is demanded.
    PYSCALE_TEST_REQUIRE_ALL='' side_by_side -m 'smoke or not slow' \
        "${folders[@]}" tests/slurm tests/test_*.py
    ;;
rest)
    mkdir -p build
    cluster_log=build/tests-of-the-cluster.log
    alone=tests/integration/test_causes.py
    failed=0
    echo "== Tests of the clusters, which mostly wait, in the background: $cluster_log"
    # In place of its shell, which would keep signals from it.
    (exec "$pytest" --durations=15 -m 'not images' tests/slurm tests/gridengine) >"$cluster_log" 2>&1 &
    cluster=$!
    # A Ctrl-C reaches only what is in the foreground.
    trap 'kill -INT "$cluster" 2>/dev/null; wait "$cluster"; exit 130' INT TERM
    echo '== Slow tests, and those that need a part'
    side_by_side -m '(slow and not smoke and not images) or part' "--ignore=$alone" \
        "${folders[@]}" tests/test_*.py || failed=1
    wait "$cluster" || failed=1
    echo '== Tests of the clusters'
    cat "$cluster_log"
    echo '== Tests that provoke causes of lost time: nothing beside them'
    "$pytest" --durations=15 "$alone" || failed=1
    echo '== Damaged inputs, for a minute'
    # It repeats what commands say of what they can read.
    PYTHONPATH=tests .venv/bin/python -m fuzz.fuzzing --seconds 60 >build/fuzz.log 2>&1 ||
        { failed=1 && tail -n 40 build/fuzz.log; }
    exit $failed
    ;;
images)
    side_by_side -m images tests/containers tests/integration tests/slurm
    ;;
esac
