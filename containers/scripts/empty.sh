#!/bin/sh
# Empties folders of the image, and only those. A build sees folders of the machine it runs on:
# /tmp, /var/tmp and often the home folder are bound into it, and a site may bind more. What is
# bound, or lies in or above what is, stays as it is.
set -eu

for folder in "$@"; do
    [ -d "$folder" ] || continue
    if cut -d ' ' -f 5 /proc/self/mountinfo | grep -qE "^$folder(/|$)" ||
        [ "$(findmnt --noheadings --output TARGET --target "$folder")" != / ]; then
        echo "$folder is not the image's own folder: left as it is" >&2
        continue
    fi
    find "$folder" -xdev -mindepth 1 -delete
done
