#!/bin/sh
# The last step of every layer: what no image needs goes, what depends on the moment of the build
# goes too, and the Debian packages are written down.
set -eu

packages=/opt/pyscale/debian-packages.txt
dpkg-query --show --showformat '${Package}\t${Version}\t${Architecture}\n' | sort >"$packages.new"
# With the Debian packages of the layer below, its Python is here as it was compiled there.
if [ -e "$packages" ] && cmp -s "$packages.new" "$packages"; then
    compiled=/opt/pyscale
else
    compiled="/usr/lib/python3.11 /opt/pyscale"
fi
mv "$packages.new" "$packages"

# Whoever gives an image to others gives the licences of its packages too.
sh /opt/pyscale/scripts/empty.sh --except copyright /usr/share/doc
sh /opt/pyscale/scripts/empty.sh /usr/share/man /usr/share/info /usr/share/locale \
    /usr/share/lintian /var/lib/apt/lists /var/cache /var/log
rm -f /var/lib/dpkg/*-old
# apt asks for these folders.
mkdir -p /var/lib/apt/lists/partial /var/cache/apt/archives/partial

# Bytecode names no time, so that two builds agree; a fixed seed keeps the order of sets.
for folder in /usr/lib/python3 $compiled; do
    [ ! -d "$folder" ] || find "$folder" -xdev -name __pycache__ -type d -prune -exec rm -rf {} +
done
for folder in $compiled; do
    PYTHONHASHSEED=0 python3 -m compileall -qq -j 1 --invalidation-mode unchecked-hash "$folder" ||
        echo "some files of $folder are not of this Python's language: left as source" >&2
done
