#!/usr/bin/env bash
# Provides Grid Engine for the tests of a scheduler that is not Slurm, on Debian or Ubuntu as root.
# The tests start it themselves. Elsewhere it says how to get it, and goes on.
set -euo pipefail

command -v qsub >/dev/null && [ -x /usr/sbin/sge_qmaster ] && exit 0
packages=(gridengine-master gridengine-exec gridengine-client)
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "absent: Grid Engine, for tests; install ${packages[*]} (Debian's names)" >&2
    exit 0
fi
echo "installing ${packages[*]}" >&2

# Debian asks this program before it starts a service of a package: 101 forbids it.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi
debconf-set-selections <<ANSWERS
gridengine-master shared/gridenginemaster string $(hostname)
gridengine-master shared/gridenginecell string default
gridengine-master shared/gridengineconfig boolean true
ANSWERS
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >&2
