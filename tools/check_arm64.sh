#!/usr/bin/env bash
# Runs the arm64 build under qemu: its tests, and its logits, which must equal this machine's bit for bit.
#
#   tools/check_arm64.sh      (after building build/release/ordinal, build/arm64/ordinal and build/arm64/tests/run)
set -euo pipefail
cd "$(dirname "$0")/.."

qemu=qemu-aarch64-static
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Left out, because they measure this machine or start programs built for it, or take minutes when emulated.
left_out='cli*,*seconds*,*million*,*every combination*,*however they are computed*,*keep the promise*,*takes no time*,*is quick*'
echo "arm64: tests under $qemu, without $left_out"
timeout 900 "$qemu" build/arm64/tests/run -tce="$left_out"

model=$(ls models/*.ordinal 2>/dev/null | head -n 1)
[ -n "$model" ] || { echo "check_arm64.sh: models/ has no .ordinal file to compare logits with" >&2; exit 1; }

# Under every scheme: 48 ids over the vocabulary, all logits, written as .npy.
ids=$(seq -s, 3 83 3940)
schemes=$(build/release/ordinal positions list --json 2>/dev/null | sed -nE 's/.*"name": *"([a-z0-9_]+)".*/\1/p')
for position in native ${schemes:-none sinusoidal rope}; do
  build/release/ordinal logits -q -m "$model" --ids "$ids" --position "$position" --all -o "$work/here.npy" \
    2>"$work/why" || { echo "arm64: $position skipped: $(head -n 1 "$work/why")"; continue; }
  "$qemu" build/arm64/ordinal logits -q -m "$model" --ids "$ids" --position "$position" --all -o "$work/there.npy"
  cmp "$work/here.npy" "$work/there.npy"
  echo "arm64: $position: $(stat -c %s "$work/here.npy") bytes of logits equal"
done
