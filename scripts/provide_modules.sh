#!/usr/bin/env bash
# Provides environment modules, which steps of one's own may load on a cluster, where this machine
# allows it: on Debian or Ubuntu as root. Elsewhere it says how to get them, and goes on.
set -euo pipefail

[ -r /etc/profile.d/modules.sh ] && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "absent: environment modules, for tests of steps that load them; install the package" \
        "'environment-modules' (Debian's name)" >&2
    exit 0
fi
echo "installing environment-modules" >&2
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends environment-modules >&2
