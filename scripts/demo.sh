#!/usr/bin/env bash
# The whole pipeline on this machine at N = 1 and 2: on real nuclei where they are available, else
# on a synthetic movie. The run ends with its verdict and the path of its report.
set -euo pipefail
pyscale=$1
repeats=$2
log=build/demo.log

mkdir -p build
# Libraries are compiled when they are first used, which no trial should measure.
echo 'trying every stage once'
"$pyscale" doctor --suite pipeline >"$log" 2>&1 || { cat "$log"; exit 1; }
if "$pyscale" data fetch demo-nuclei >>"$log" 2>&1; then
    movie=demo-nuclei
else
    movie=demo-synthetic
    echo "demo-nuclei is not available (log: $log): measuring a synthetic movie instead"
    "$pyscale" data synth "$movie" --frames 4 --size 512 --cells 100 >>"$log" 2>&1
fi
exec "$pyscale" run pipeline --data "$movie" --workers 1,2 --repeats "$repeats"
