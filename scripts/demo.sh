#!/usr/bin/env bash
# The whole pipeline on this machine at N = 1 and 2: on a real movie where it can be had, else
# on a synthetic one. The last line is the report's folder.
set -euo pipefail
pyscale=$1
repeats=$2

if "$pyscale" data fetch drifting-nuclei >/dev/null; then
    movie=drifting-nuclei
    echo "measuring on drifting-nuclei, real nuclei under a known drift"
else
    movie=demo-synthetic
    echo "drifting-nuclei cannot be had here: measuring on a synthetic movie instead"
    "$pyscale" data synth "$movie" --frames 48 --size 192 --cells 50 >/dev/null
fi
"$pyscale" run pipeline --data "$movie" --workers 1,2 --repeats "$repeats"
latest=$("$pyscale" status --json | sed -n 's/^ "run_id": "\(.*\)",$/\1/p')
echo "figures and analysis: $PWD/runs/$latest/report"
