#!/bin/sh
# Print a Python of this system that can make our environment (3.11 to 3.13 with venv and pip).
# On Debian and Ubuntu as root, what is missing is installed; elsewhere it is named. Used by the Makefile.
set -eu

usable() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null
}

search() {
    for name in ${PYTHON:-python3.13 python3.12 python3.11 python3}; do
        if usable "$name"; then
            echo "$name"
            return 0
        fi
    done
    return 1
}

search && exit 0

echo "TPU Studio needs Python 3.11, 3.12 or 3.13 with its venv module, and found none${PYTHON:+ in PYTHON=$PYTHON}." >&2
if command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    line="apt-get install -y --no-install-recommends python3 python3-venv"
    if [ "$(id -u)" = 0 ] && [ -z "${PYTHON:-}" ]; then
        echo "Installing it: $line" >&2
        { apt-get update -q && $line; } >&2 && search && exit 0
        echo "That was not enough: this system's Python is too old. Install one of the three and try again." >&2
    else
        echo "As root:  $line" >&2
    fi
else
    echo "Install one with this system's package manager, or say where it is: make env PYTHON=/path/to/python3" >&2
fi
exit 1
