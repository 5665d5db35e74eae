#!/usr/bin/env bash
# Provides what stages, images and tests need beside Python, where this machine allows it; each part
# says by itself what is absent and how to get it.
set -euo pipefail

scripts=$(dirname "$0")
for part in opencl modules apptainer registry slurm gridengine browser; do
    "$scripts/provide_$part.sh"
done
