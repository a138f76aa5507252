#!/usr/bin/env bash
# Runs the fuzz harnesses in build/fuzz/, two at a time, each on its own corpus for a number of seconds.
#
#   tools/run_fuzzers.sh SECONDS HARNESS...
#
# Each begins from the seeds and from what earlier runs learned. An input that crashes, hangs (10 s) or takes over two
# gigabytes stays as build/fuzz/found/HARNESS-...; run build/fuzz/HARNESS on it to see it again.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=$1
shift
mkdir -p build/fuzz/found
build/fuzz/seeds build/fuzz/seed-inputs

run_one() {  # HARNESS SECONDS
  local log=build/fuzz/$1.log corpus=build/fuzz/corpus/$1 options=()
  local seeds=build/fuzz/seed-inputs/$1 words=tools/fuzz/${1#fuzz_}.dict
  mkdir -p "$corpus" "$seeds"
  [ ! -e "$words" ] || options=("-dict=$words")
  if build/fuzz/"$1" -max_total_time="$2" -timeout=10 -rss_limit_mb=2048 -max_len=200000 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/found/$1-" "${options[@]}" "$corpus" "$seeds" >"$log" 2>&1; then
    echo "$1: $(sed -nE 's/^stat::number_of_executed_units: *//p' "$log") inputs, nothing found"
  else
    tail -n 40 "$log"
    echo "$1: FAILED, see $log and build/fuzz/found/"
    return 1
  fi
}
export -f run_one
printf '%s\n' "$@" | xargs -P 2 -I{} bash -c "run_one {} $seconds"
rm -rf /dev/shm/ordinal-fuzz-*
