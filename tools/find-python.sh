#!/usr/bin/env bash
# Print a Python >= 3.11 that can make virtual environments; one line on stderr and exit 1 otherwise.
# Each candidate is run, not just looked up: a name on PATH may be a shim for a version not installed.
set -uo pipefail
usable='import sys, ensurepip, venv; sys.exit(0 if sys.version_info >= (3, 11) else 1)'
for candidate in "${@:-}" python3 python3.11 python3.12 python3.13 python3.14; do
  if [ -n "$candidate" ] && "$candidate" -c "$usable" >/dev/null 2>&1; then
    echo "$candidate"
    exit 0
  fi
  if [ -n "$candidate" ] && [ "$candidate" = "${1:-}" ]; then
    echo "error: PYTHON=$candidate is not a Python >= 3.11 with the venv and ensurepip modules" >&2
    exit 1
  fi
done
found="$(python3 --version 2>/dev/null || echo none)"
echo "error: no Python >= 3.11 with the venv module found (python3 is: $found); install one, or name it: make PYTHON=/path/to/python3" >&2
exit 1
