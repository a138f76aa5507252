#!/usr/bin/env bash
# Checks that every folder of src/, and every public header, includes only what it may. Silent when all is well.
set -euo pipefail
cd "$(dirname "$0")/.."

# What each folder may include beside itself. results are plain structs: study fills them, draw and report read them, so
# neither of these sees a model, nor study how a result is written down. The rooms of study do not see each other.
engine="base format position kernels ranks model"
room="$engine results text study"
declare -A sees=([base]="" [results]="base" [format]="base" [position]="base" [kernels]="base" [ranks]=""
  [model]="base format position kernels ranks" [text]="$engine results"
  [draw]="base results" [report]="base results format draw" [study]="$engine results text"
  [study/bench]="$room" [study/check]="$room" [study/compare]="$room" [study/pictures]="$room"
  [study/sweep]="$room study/compare")
# Foreign formats: convert holds what all their readers share, and the small formats.
sees[convert]="$engine convert/hugging_face convert/tokenizers convert/torch"
sees[convert/families]="$engine convert convert/hugging_face"
sees[convert/gguf]="$engine convert convert/hugging_face convert/tokenizers"
sees[convert/hugging_face]="$engine convert convert/tokenizers convert/torch"
sees[convert/tensorflow]="$engine convert convert/hugging_face convert/tokenizers"
sees[convert/tokenizers]="$engine convert"
sees[convert/torch]="$engine convert convert/hugging_face"
sees[serve]="$engine results text"
sees[cli]="${!sees[*]}"
# The folder that a public header belongs to.
declare -A owner=([error]=base [tensor]=base [model_file]=format [position]=position [model]=model [session]=model
  [tokenizer]=text [sampler]=text)

status=0
fault() {
  echo "$1" >&2
  status=1
}

check() {  # FILE FOLDER: the includes of FILE, which stands in FOLDER
  local file=$1 folder=$2 line include target
  while IFS=: read -r line include; do
    include=${include#*\"}
    include=${include%%\"*}
    if [[ $include == ordinal/* ]]; then
      target=$(basename "$include" .h)
      target=${owner[$target]:-}
      [ -n "$target" ] || { fault "$file:$line: \"$include\" is not listed in tools/check_layers.sh"; continue; }
    else
      target=$(dirname "$include")
      [ "$target" != . ] || { fault "$file:$line: \"$include\" is not written as folder/file.h"; continue; }
    fi
    [ "$target" != "$folder" ] || continue
    [[ " ${sees[$folder]} " == *" $target "* ]] || fault "$file:$line: $folder may not include \"$include\""
  done < <(grep -nE '^ *#include "' "$file" || true)
}

for file in $(find src -name '*.h' -o -name '*.cpp' -o -name '*.def'); do
  folder=$(dirname "${file#src/}")
  [ -n "${sees[$folder]+x}" ] || { fault "src/$folder is not listed in tools/check_layers.sh"; continue; }
  check "$file" "$folder"
done
for file in include/ordinal/*.h; do
  name=$(basename "$file" .h)
  [ -n "${owner[$name]:-}" ] || { fault "$file is not listed in tools/check_layers.sh"; continue; }
  check "$file" "${owner[$name]}"
done
exit $status
