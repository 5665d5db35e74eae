#!/bin/sh
# Installs what the recipe of an image names: Debian packages from the mirror of the base, jars, and
# Python wheels, which the build shows at /mnt: offline, and every wheel checked against the lock.
set -eu

recipe=/opt/pyscale/recipe
debian=$(cat "$recipe/debian.txt")
if [ -n "$debian" ]; then
    # Java's package links pages of a manual. Fonts would be given to a group, but a build by root
    # without privileges knows no other than its own: folders that are there stay as they are.
    mkdir -p /usr/share/man/man1 /usr/local/share/fonts
    export DEBIAN_FRONTEND=noninteractive
    apt='apt-get -qq -o APT::Sandbox::User=root'
    $apt update
    # shellcheck disable=SC2086 # a word for each package
    $apt install --yes --no-install-recommends $debian
fi
if [ -d "$recipe/jars" ]; then
    mv "$recipe/jars" /opt/pyscale/jars
fi

# pip works from outside the environment, so that it is not in the image's.
python=/opt/pyscale/venv/bin/python
python3 -m venv --without-pip /opt/pyscale/venv
PYTHONPATH=$(ls /usr/share/python-wheels/pip-*.whl) python3 -m pip --python "$python" install \
    --no-index --find-links /mnt --require-hashes --no-deps --no-compile \
    --no-cache-dir --disable-pip-version-check --root-user-action ignore --quiet \
    --requirement "$recipe/lock.txt"
sh -eu "$recipe/after_install.sh"
"$python" -B "$recipe/imports.py"
rm -rf "$recipe"
sh /opt/pyscale/scripts/finish.sh
