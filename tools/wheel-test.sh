#!/usr/bin/env bash
# Install a wheel into an empty environment and use it from a folder outside the repository.
set -euo pipefail
wheel="$(realpath "$1")"
root="$(cd "$(dirname "$0")/.." && pwd)"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python="$(bash "$root/tools/find-python.sh" ${PYTHON:-})"
"$python" -m venv "$folder/venv"
PIP_CONSTRAINT="$root/constraints-dev.txt" "$folder/venv/bin/python" -m pip --disable-pip-version-check -q install "$wheel"
cd "$folder"
export PATH="$folder/venv/bin:$PATH"
migopt --version
migopt solvers list
migopt generate s0-slack --seed 1 --jobs 6 --load 0.9 -o small.json
migopt solve small.json --solver closed_form
migopt bench quick -o results --jobs 2
migopt report results
echo "wheel-test: $(basename "$wheel") works outside the repository"
