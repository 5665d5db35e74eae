#!/usr/bin/env bash
# Provides docker-registry on Debian as root: the registry that tests push images to and pull them
# from. Only its program is unpacked, because the package would start a service of its own.
set -euo pipefail

command -v docker-registry >/dev/null && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "absent: docker-registry, for tests of push and pull; install the package" \
        "'docker-registry' (Debian's name)" >&2
    exit 0
fi
echo "installing docker-registry" >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
apt-get update -qq
(cd "$work" && apt-get -o APT::Sandbox::User=root download -qq docker-registry)
dpkg -x "$work"/docker-registry_*.deb "$work/files"
install -D "$work/files/usr/bin/docker-registry" /usr/local/bin/docker-registry
