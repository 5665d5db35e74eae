#!/usr/bin/env bash
# Provides Chromium, in which tests open the report's page, where this machine allows it: on Debian
# as root. Elsewhere it says what is absent and how to get it, and goes on.
set -euo pipefail

for program in chromium google-chrome; do
    command -v "$program" >/dev/null && exit 0
done
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "absent: Chromium, for tests of the report's page; install the package 'chromium'" \
        "(Debian's name)" >&2
    exit 0
fi
echo "installing chromium" >&2
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >&2
