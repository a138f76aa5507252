#!/usr/bin/env bash
# Runs the commands of a README: its blocks fenced as ```sh ci, in order, as one script, each line echoed.
#
#   tools/run_readme.sh README.md
#
# They run in a scratch folder that holds what the text takes for granted: `ordinal` in the PATH, a GPT-2 folder gpt2/
# (one of the tests' small ones), a text story.txt, and the repository as ordinal/.
set -euo pipefail

readme=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
commands=$(awk '/^```/ { inside = ($0 == "```sh ci"); next } inside' "$readme")
[ -n "$commands" ] || { echo "run_readme.sh: $1 has no block fenced as \`\`\`sh ci" >&2; exit 1; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
ln -s "$root" ordinal
gpt2=$root/tests/goldens/convert/tied-f32
cp -r "$gpt2" gpt2
cp "$root/models/story.txt" .
PATH=$root/build/release:$PATH bash -euo pipefail -v -c "$commands" </dev/null
