#!/usr/bin/env bash
# Checks the house rules that a shell can hold. Silent when all is well.
#
#   tools/check_rules.sh [OBJECT...]      objects of single instruction sets, which may define no weak symbols
set -euo pipefail
shopt -s lastpipe  # `... | rule` sets `status` in this shell
cd "$(dirname "$0")/.."

status=0
rule() {  # TEXT: standard input lists what breaks the rule
  local found
  found=$(cat)
  [ -z "$found" ] && return
  printf 'rule: %s\n%s\n' "$1" "$found" >&2
  status=1
}
# grep that may find nothing. The rules read code: comments are left out where words in them mean no harm.
search() { grep "$@" || [ $? = 1 ]; }
without_comments() { search -vE '^[^:]*:[0-9]*:? *//'; }

search -rnE '\b(rope|alibi|sinusoidal|learned|t5|shaw)' src/model src/kernels src/text |
  rule 'model, kernels and text know no scheme by name'
hooks=$(search -rhoE '(->|\.)(add_to_(embedding|scores|values)|transform_query_key|transform_view|key_runs)\(' src/model | sed -E 's/^(->|\.)//' |
  sort | uniq -c | awk '{print $1 $2}' | tr '\n' ' ')
[ "$hooks" = '1add_to_embedding( 1add_to_scores( 1add_to_values( 1key_runs( 1transform_query_key( 1transform_view( ' ] || echo "$hooks" |
  rule 'the model calls each position hook at one place'

search -rnE '\b(f?printf|puts|exit|abort|assert)\(|std::(cout|cerr)' include src --include='*.h' --include='*.cpp' \
  --exclude-dir=cli | without_comments | rule 'the library never prints, exits or asserts'
search -rnE 'nlohmann|CLI/|pcre2|utf8proc|immintrin|omp\.h' include --include='*.h' |
  rule 'public headers need the standard library only'
search -rl '#include <nlohmann' src | search -vxE 'src/base/json\.cpp' |
  rule 'JSON is read and written in base/json.cpp'
search -rlE '<mpi\.h>|\bMPI_' src --include='*.h' --include='*.cpp' | search -vxE 'src/ranks/(mpi_ranks\.cpp)' |
  rule 'only src/ranks/mpi_ranks.cpp knows MPI'
search -rlE 'httplib' src | search -v '^src/serve/' | rule 'only src/serve knows the HTTP library'
search -rlE 'CLI/' src | search -v '^src/cli/' | rule 'only src/cli knows the command line library'
search -rlE '#include <pcre2' src | search -v '^src/text/' | rule 'only src/text knows PCRE2'
[ "$(search -rlE '#include <pcre2' src | wc -l)" -le 1 ] || search -rlE '#include <pcre2' src |
  rule 'one file includes PCRE2'
search -rl 'utf8proc' src --include='*.cpp' | search -vx 'src/text/unicode\.cpp' | rule 'only src/text/unicode.cpp knows utf8proc'
search -rlE 'immintrin|arm_neon' src --include='*.h' --include='*.cpp' | search -v '^src/kernels/' |
  rule 'intrinsics stay in src/kernels'
search -rlE 'std::thread|pragma omp' src --include='*.h' --include='*.cpp' --exclude-dir=serve |
  search -v '^src/kernels/threads.cpp' | rule 'threads that compute are made in threads.cpp only'
search -rl 'pragma omp' src/serve | rule 'the server computes nothing itself'
search -rn 'getenv' src --include='*.h' --include='*.cpp' --exclude-dir=cli | search -v '^src/kernels/dispatch.cpp:' |
  rule 'the library reads no environment but ORDINAL_ISA'
search -rnE 'case (Dtype|SchemeKind)::' src --include='*.h' --include='*.cpp' |
  rule 'tables, not switches, for kinds and schemes'
search -nE '^[^#]*(fast-math|Ofast|march=native)' Makefile | rule 'no flag that changes results or ties a build to one machine'

for scheme in $(sed -nE 's/^SCHEME\((\w+),.*/\1/p' src/position/schemes.def); do
  [ -e "tests/position/${scheme}_test.cpp" ] || echo "tests/position/${scheme}_test.cpp"
done | rule 'every scheme has a test of its own'
for modifier in $(sed -nE 's/^MODIFIER\((\w+),.*/\1/p' src/position/modifiers.def); do
  [ -e "tests/position/${modifier}_test.cpp" ] || echo "tests/position/${modifier}_test.cpp"
done | rule 'every modifier has a test of its own'

# First lines and lengths, over what is committed and what is about to be.
code=$(find include src tests tools -name '*.h' -o -name '*.cpp' -o -name '*.def' | sort)
for file in $code; do
  [ "$(head -c 3 "$file")" = '// ' ] || echo "$file"
done | rule 'the first line says what the file is for'
for file in $(find tools -name '*.py' -o -name '*.sh' | sort) .ci/run; do
  case $(sed -n 2p "$file") in '# '* | '"""'*) ;; *) echo "$file" ;; esac
done | rule 'the line after the shebang says what the script is for'

# Links and pictures of the pages: [text](path), ![text](path), <img src="path">; not those into the web or the page.
for page in $(git ls-files '*.md'); do
  { search -oE '\]\([^()# ]+' "$page"; search -oE 'src="[^"]+' "$page"; } | sed -E 's/^(\]\(|src=")//' | search -vE '^[a-z]+:' |
    while read -r target; do [ -e "$(dirname "$page")/$target" ] || echo "$page: $target"; done
done | rule 'what a page links to exists'

limit() {  # FILE LINES
  local lines
  lines=$(wc -l <"$1")
  [ "$lines" -le "$2" ] || echo "$1: $lines lines, at most $2"
}
{
  for file in $code; do limit "$file" 500; done
  limit src/model/forward.cpp 200
  limit include/ordinal/model.h 150
  for scheme in $(sed -nE 's/^SCHEME\((\w+),.*/\1/p' src/position/schemes.def); do
    limit "src/position/$scheme.cpp" 150
  done
  for modifier in $(sed -nE 's/^MODIFIER\((\w+),.*/\1/p' src/position/modifiers.def); do
    limit "src/position/$modifier.cpp" 150
  done
} | rule 'files stay short: split by idea'

for object in "$@"; do
  [ -e "$object" ] || { echo "$object: not built" | rule 'objects to look into exist'; continue; }
  nm -C "$object" | search -E ' [VWu] ' | sed "s|^|$object: |"
done | rule 'objects with instruction-set flags define no weak symbols'
exit $status
