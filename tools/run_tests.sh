#!/usr/bin/env bash
# Runs a test program in as many processes as there are processors, and adds up what they say.
#
#   [run_under=COMMAND] tools/run_tests.sh PROGRAM [doctest's options]
#
# Cases of the suite "alone" measure time; they come last, one after the other. Prints the output of what failed and
# every message, then doctest's summary over all processes, then "N passed, N failed".
set -euo pipefail

program=$1
shift
export program work
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run() { ${run_under:-} "$program" "$@"; }
export -f run

run_part() {  # FIRST LAST [OPTION...]
  run "${@:3}" -f="$1" -l="$2" >"$work/$1.log" 2>&1 || touch "$work/failed"
}
export -f run_part

# Parts of a few cases each, handed to whoever is free.
size=${part_size:-3}
count() { run "$@" --count | sed -nE 's/.*filters: *([0-9]+).*/\1/p'; }
cases=$(count -tse=alone "$@")
for ((first = 1; first <= cases; first += size)); do
  printf '%s\0' "$first" "$((first + size - 1))" -tse=alone "$@"
done | xargs -0 -r -P "${processes:-$(nproc)}" -n $((3 + $#)) bash -c 'run_part "$@"' _
run -ts=alone "$@" >"$work/alone.log" 2>&1 || touch "$work/failed"

# What doctest frames each run with says nothing here. A part that ended without its last line has crashed.
for log in $(ls -v "$work"/*.log); do
  grep -vE '^\[doctest\]|^[0-9]+ passed, [0-9]+ failed$|^=+$|^$' "$log" || true
  tail -n 1 "$log" | grep -qE '^[0-9]+ passed, [0-9]+ failed$' || { echo "ended early: $program, $(basename "$log")"; touch "$work/failed"; }
done
cat "$work"/*.log | awk -v failed="$([ ! -e "$work/failed" ]; echo $?)" '
  /^[0-9]+ passed, [0-9]+ failed$/ { passed += $1; lost += $3 }  # doctest itself counts all ranges each time
  /^\[doctest\] assertions:/ { asserted += $3; held += $5; broken += $8 }
  END {
    printf "[doctest] test cases: %d | %d passed | %d failed\n", passed + lost, passed, lost
    printf "[doctest] assertions: %d | %d passed | %d failed\n", asserted, held, broken
    printf "[doctest] Status: %s!\n", failed ? "FAILURE" : "SUCCESS"
    if (failed && lost == 0) lost = 1  # a crash counts
    printf "%d passed, %d failed\n", passed, lost
    exit failed
  }'
