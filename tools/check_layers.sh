#!/usr/bin/env bash
# Checks that every folder of src/, and every public header, includes lower floors only. Silent when all is well.
set -euo pipefail
cd "$(dirname "$0")/.."

# Floor of each folder; equal floors do not see each other. report knows plain result structs only, so it borrows from
# format and text (writing files, UTF-8) and never sees a model. study fills its structs and uses nothing else of it.
declare -A floor=([base]=0 [position]=1 [format]=1 [kernels]=1 [model]=2 [text]=3 [convert]=3 [report]=4 [study]=5 [cli]=6)
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
      [ -n "$target" ] || { fault "$file:$line: \"$include\" has no floor; add it to tools/check_layers.sh"; continue; }
    else
      target=${include%%/*}
      [ "$target" != "$include" ] || { fault "$file:$line: \"$include\" is not written as folder/file.h"; continue; }
    fi
    [ "$target" != "$folder" ] || continue
    if [ -z "${floor[$target]:-}" ]; then
      fault "$file:$line: \"$include\" is in no folder of src/"
    elif [ "${floor[$target]}" -ge "${floor[$folder]}" ] || [[ $folder == report && $target =~ ^(position|kernels|model|convert)$ ]] ||
      [[ $folder == study && $target == report && ! $include =~ ^report/(results|compared)\.h$ ]]; then
      fault "$file:$line: $folder may not include \"$include\" ($target)"
    fi
  done < <(grep -nE '^ *#include "' "$file" || true)
}

for folder in src/*/; do
  folder=$(basename "$folder")
  [ -n "${floor[$folder]:-}" ] || { fault "src/$folder has no floor; add it to tools/check_layers.sh"; continue; }
  for file in "src/$folder"/*.{h,cpp,def}; do
    [ ! -e "$file" ] || check "$file" "$folder"
  done
done
for file in include/ordinal/*.h; do
  name=$(basename "$file" .h)
  [ -n "${owner[$name]:-}" ] || { fault "$file has no floor; add it to tools/check_layers.sh"; continue; }
  check "$file" "${owner[$name]}"
done
exit $status
