#!/bin/sh
# Make .venv: the pinned torch first, then all else at the versions of constraints.txt.
#
# .venv/ready is written last and says for which folder and which pins the environment was made; without it, or where
# the folder has moved (an editable install names its folder), the environment is begun anew. PYTHON=... chooses
# the interpreter.
set -eu

pins=$(cat pyproject.toml constraints.txt | cksum)
folder=$(pwd -P)
ready=.venv/ready
if [ -f $ready ] && [ "$(sed -n 1p $ready)" = "$folder" ] && [ "$(sed -n 2p $ready)" = "$pins" ]; then
    exit 0
fi

if [ ! -f $ready ] || [ "$(sed -n 1p $ready)" != "$folder" ]; then
    found=
    for python in ${PYTHON:-python3.11 python3 python3.12 python3.13 python3.14 python}; do
        if "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            found=$python
            break
        fi
    done
    if [ -z "$found" ]; then
        echo "regard needs Python 3.11 or newer with pip and venv; none was found: name one with PYTHON=/path/to/python3" >&2
        exit 1
    fi
    echo "making .venv with $("$found" --version); this takes a few minutes, once" >&2
    "$found" -m venv --clear .venv
fi

rm -f $ready
install() { .venv/bin/python -m pip install --quiet --no-input --disable-pip-version-check -c constraints.txt "$@"; }
# In this order: torch asked for by its exact version is the small build where there is one, and the rest then
# finds it in place.
install "$(grep '^torch==' constraints.txt)"
install -e '.[dev]'
printf '%s\n%s\n' "$folder" "$pins" > $ready
