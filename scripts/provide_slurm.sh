#!/usr/bin/env bash
# Provides what the tests on a real cluster need, on Debian or Ubuntu as root: Slurm with its
# accounting, munge, MariaDB, and a checker of batch scripts. The tests start a cluster of their
# own, so no service of the packages is started. Elsewhere it says how to get them, and goes on.
set -euo pipefail

packages=()
for program in slurmctld slurmd sbatch; do
    command -v "$program" >/dev/null || packages=(slurm-wlm)
done
command -v slurmdbd >/dev/null || packages+=(slurmdbd)
command -v mariadbd >/dev/null || packages+=(mariadb-server-core)
# Its my_print_defaults is what makes a new database.
command -v my_print_defaults >/dev/null || packages+=(mariadb-client-core)
command -v munged >/dev/null || packages+=(munge)
command -v shellcheck >/dev/null || packages+=(shellcheck)
[ ${#packages[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "absent: Slurm and shellcheck, for tests; install ${packages[*]} (Debian's names)" >&2
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
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >&2
