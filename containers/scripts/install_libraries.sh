#!/bin/sh
# Installs the Debian packages, jars and Python wheels that the build has laid into
# /opt/pyscale/parts: offline, and every wheel checked against the lock.
set -eu

parts=/opt/pyscale/parts
if [ -d "$parts/debian" ]; then
    # Java's package links pages of a manual. Fonts would be given to a group, but a build by root
    # without privileges knows no other than its own: folders that are there stay as they are.
    mkdir -p /usr/share/man/man1 /usr/local/share/fonts
    DEBIAN_FRONTEND=noninteractive dpkg --install --force-unsafe-io "$parts"/debian/*.deb
fi
if [ -d "$parts/jars" ]; then
    mv "$parts/jars" /opt/pyscale/jars
fi

# pip works from outside the environment, so that it is not in the image's.
python3 -m venv --without-pip /opt/pyscale/venv
PYTHONPATH=$(ls /usr/share/python-wheels/pip-*.whl) python3 -m pip \
    --python /opt/pyscale/venv/bin/python install \
    --no-index --find-links "$parts/wheels" --require-hashes --no-deps --no-compile \
    --no-cache-dir --disable-pip-version-check --root-user-action ignore --quiet \
    --requirement "$parts/lock.txt"
rm -rf "$parts"
sh /opt/pyscale/scripts/finish.sh
