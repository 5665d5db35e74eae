#!/usr/bin/env bash
# Cellpose and tracking on this machine, on as many workers as it has cores, for some minutes: on
# real nuclei where they are available, else on a synthetic movie. The last lines are the answer.
set -euo pipefail
pyscale=$1
at_most=$2
log=build/demo.log

mkdir -p build
# Libraries are compiled when they are first used, which no trial should measure.
echo 'trying every stage once'
"$pyscale" doctor --suite pipeline >"$log" 2>&1 || { cat "$log"; exit 1; }
if "$pyscale" data fetch drifting-nuclei >>"$log" 2>&1; then
    movie=drifting-nuclei
else
    movie=demo-synthetic
    echo "drifting-nuclei is not available (log: $log): measuring a synthetic movie instead"
    "$pyscale" data synth "$movie" --frames 8 --size 512 --cells 100 >>"$log" 2>&1
fi
exec "$pyscale" run pipeline --data "$movie" --only segment --only track --at-most "$at_most"
