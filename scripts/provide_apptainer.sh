#!/usr/bin/env bash
# Provides Apptainer on Debian as root, where no package of it exists for the release: unpacks the
# one of Debian's unstable suite, with the libc it needs in a folder of its own, so that nothing
# else on the machine changes. Elsewhere it says how to get Apptainer, and goes on.
set -euo pipefail

libraries=/opt/pyscale-apptainer

may_install() { [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; }

# What builds and runs call: program and Debian's package.
absent=()
while read -r program package; do
    command -v "$program" >/dev/null || absent+=("$package")
done <<'TOOLS'
mksquashfs squashfs-tools
squashfuse squashfuse
fuse2fs fuse2fs
fuse-overlayfs fuse-overlayfs
newuidmap uidmap
debootstrap debootstrap
TOOLS

engine() { command -v apptainer; }
engine >/dev/null || absent+=(patchelf)

if [ ${#absent[@]} -gt 0 ] && may_install; then
    echo "installing ${absent[*]}" >&2
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        "${absent[@]}" >&2
fi

if ! engine >/dev/null; then
    if ! may_install || [ "$(uname -m)" != x86_64 ]; then
        echo "absent: Apptainer, for images; ask the cluster's staff, or install the package" \
            "'apptainer' of your distribution" >&2
        exit 0
    fi
    echo "installing Apptainer" >&2
    # The unstable suite of the mirror that this machine's own apt uses, in lists of its own.
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    chmod 755 "$work"
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Label: Debian' 'Created-By: Packages' |
        sed -n 1p)
    if [ -z "$mirror" ]; then
        echo "absent: Apptainer, for images; the apt of this machine knows no mirror of Debian" >&2
        exit 0
    fi
    mkdir -p "$work/lists/partial" "$work/archives/partial" "$work/debs"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror unstable main" \
        >"$work/sources.list"
    own=(-o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work" -o APT::Sandbox::User=root)
    apt-get "${own[@]}" update -qq
    (cd "$work/debs" && apt-get "${own[@]}" download -qq apptainer libc6 libseccomp2 libsqlite3-0)

    mkdir -p "$libraries"
    for package in libc6 libseccomp2 libsqlite3-0; do
        dpkg -x "$work/debs/${package}"_*.deb "$libraries"
    done
    # Made ready aside, so that a broken one is never on PATH.
    dpkg -x "$work"/debs/apptainer_*.deb "$work/files"
    folder=$libraries/usr/lib/x86_64-linux-gnu
    for binary in usr/bin/apptainer usr/lib/x86_64-linux-gnu/apptainer/bin/starter; do
        patchelf --set-interpreter "$folder/ld-linux-x86-64.so.2" \
            --set-rpath "$folder" --force-rpath "$work/files/$binary"
    done
    "$work/files/usr/bin/apptainer" --version >&2
    dpkg -x "$work"/debs/apptainer_*.deb /
    for binary in usr/lib/x86_64-linux-gnu/apptainer/bin/starter usr/bin/apptainer; do
        install -m 755 "$work/files/$binary" "/$binary"
    done
fi

# Unprivileged builds map a range of user ids.
if [ "$(id -u)" -eq 0 ]; then
    for file in /etc/subuid /etc/subgid; do
        grep -qs '^root:' "$file" || echo root:200000:65536 >>"$file"
    done
    # What its own package sets where udev does not run: any user may mount by FUSE.
    [ ! -e /dev/fuse ] || chmod 666 /dev/fuse
fi
