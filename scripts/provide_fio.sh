#!/usr/bin/env bash
# Provides fio, the yardstick that reads of the stage storage are held against, where this machine
# allows it: on Debian or Ubuntu as root. Elsewhere it says how to get it, and goes on.
set -euo pipefail

command -v fio >/dev/null && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "absent: fio, the yardstick of the stage storage; install the package 'fio'" \
        "(Debian's name)" >&2
    exit 0
fi
echo "installing fio" >&2
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends fio >&2
