#!/usr/bin/env bash
# Provides OpenCL for CPUs, which the contact stage computes with, where this machine allows it: on
# Debian or Ubuntu as root. Elsewhere it says what is absent and how to get it, and goes on.
set -euo pipefail

packages=()
ls /etc/OpenCL/vendors/*.icd >/dev/null 2>&1 || packages+=(pocl-opencl-icd)
ldconfig -p | grep -q 'libOpenCL\.so\.1' || packages+=(ocl-icd-libopencl1)
[ ${#packages[@]} -gt 0 ] || exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "absent: OpenCL for the contact stage; install ${packages[*]} (Debian's names)" >&2
    exit 0
fi
echo "installing ${packages[*]}" >&2
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >&2
