#!/bin/sh
# Empties folders of the image, and only those. A build sees folders of the machine it runs on:
# /tmp, /var/tmp and often the home folder are bound into it, and a site may bind more. What is
# bound, or lies in or above what is, stays as it is.
#   empty.sh [--except NAME] FOLDER...
# With --except, files of that name stay, and so do the folders that they lie in.
set -eu

except=
if [ "$1" = --except ]; then
    except=$2
    shift 2
fi
for folder in "$@"; do
    [ -d "$folder" ] || continue
    if cut -d ' ' -f 5 /proc/self/mountinfo | grep -qE "^$folder(/|$)" ||
        [ "$(findmnt --noheadings --output TARGET --target "$folder")" != / ]; then
        echo "$folder is not the image's own folder: left as it is" >&2
        continue
    fi
    if [ -n "$except" ]; then
        # A package may share the folder of another by a link.
        find "$folder" -xdev -mindepth 1 ! -xtype d ! -name "$except" -delete
        find "$folder" -xdev -mindepth 1 -type d -empty -delete
        find "$folder" -xdev -mindepth 1 -xtype l -delete
    else
        find "$folder" -xdev -mindepth 1 -delete
    fi
done
