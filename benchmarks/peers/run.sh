#!/usr/bin/env bash
# Benchmarks against other packages. Their environment (build/peers) is apart from the book's: their pins exclude it.
set -euo pipefail
cd "$(dirname "$0")/../.."
python="${PYTHON:-python3}"
bin="${BIN:-$PWD/.venv/bin}"
environment=build/peers
wanted=benchmarks/peers/requirements.txt
if ! cmp -s "$wanted" "$environment/requirements.txt"; then
  rm -rf "$environment"
  # Debian ships venv without ensurepip: then the machine's pip fills the environment from outside
  "$python" -m venv "$environment" 2>/dev/null || { rm -rf "$environment"; "$python" -m venv --without-pip "$environment"; }
  if test -x "$environment/bin/pip"; then "$environment/bin/python" -m pip install -q -r "$wanted";
  else "$python" -m pip --python "$environment/bin/python" install -q -r "$wanted"; fi
  cp "$wanted" "$environment/requirements.txt"
fi
for file in benchmarks/peers/bench_*.py; do
  echo "== $file"
  PEER="$environment/bin/python" "$bin/python" "$file"
done
