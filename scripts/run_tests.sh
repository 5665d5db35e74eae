#!/usr/bin/env bash
# Every test, in the order in which two cores are kept busy: tests of the cluster mostly wait, so
# they are run beside the others, and what provokes causes of lost time is run alone at the end.
# Usage: run_tests.sh PYTEST; every group is run, whatever another one finds.
set -uo pipefail
pytest=$1
cluster_log=build/tests-of-the-cluster.log
mkdir -p build
# Hundreds of processes import pyscale, and each would compile it where nothing is kept.
export PYTHONDONTWRITEBYTECODE=
# Threads that wait for each other's part of a small computation sleep, and leave the core to tests.
export OMP_WAIT_POLICY=PASSIVE

alone=tests/integration/test_causes.py
run() { "$pytest" --durations=15 "$@"; }

failed=0
echo "== Tests of the cluster, in the background: $cluster_log"
# In place of its shell, which would keep signals from it.
(exec "$pytest" --durations=15 tests/slurm) >"$cluster_log" 2>&1 &
cluster=$!
# A Ctrl-C reaches only what is in the foreground.
trap 'kill -INT "$cluster" 2>/dev/null; wait "$cluster"; exit 130' INT TERM

echo '== Tests that may run beside each other'
# One more process than cores, as many tests wait. Files of long tests come first, so that no
# process has much left at the end when the others have nothing.
# A process of tests that dies is not replaced: with this order xdist would wait for ever then.
run --numprocesses 3 --dist loadfile --no-loadscope-reorder --max-worker-restart=0 "--ignore=$alone" \
	tests/integration tests/containers tests/browser tests/scripts tests/test_golden.py \
	tests/stages tests/cli tests/fuzz tests/test_*.py || failed=1
wait "$cluster" || failed=1
echo '== Tests of the cluster'
cat "$cluster_log"
echo '== Tests that provoke causes of lost time'
run "$alone" || failed=1
exit $failed
