#!/bin/sh
# The packages of constraints/dev.txt into .venv, each checked by its hash: by uv, which takes a tenth of pip's time; where
# uv does not reach the package index that pip is set up with, by pip.
set -eu
pip="--quiet --disable-pip-version-check --root-user-action=ignore --require-hashes --only-binary=:all:"
python=.venv/bin/python
sed -n '/^uv==/,/[^\\]$/p' constraints/dev.txt > .venv/uv.txt
# shellcheck disable=SC2086
$python -m pip install $pip -r .venv/uv.txt
if ! .venv/bin/uv pip install --quiet --python $python --require-hashes --only-binary :all: -r constraints/dev.txt; then
    echo "uv does not reach the package index as pip does here: pip goes on, about 2 minutes in which it says nothing"
    # shellcheck disable=SC2086
    $python -m pip install $pip -r constraints/dev.txt
fi
