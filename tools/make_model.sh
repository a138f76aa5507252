#!/bin/sh
# Remakes the shipped model end to end: train, export, convert to bf16, golden file, check. `make model` runs it.
#
#   tools/make_model.sh TRAIN.txt VALID.txt [WORK_FOLDER]
#
# An interrupted training continues where its last checkpoint was; a finished one is not repeated. PYTHON names
# the interpreter, see tools/training_python.sh.
set -eu

if [ $# -lt 2 ]; then
  echo "usage: tools/make_model.sh TRAIN.txt VALID.txt [WORK_FOLDER]   (lines <|endoftext|> end documents)" >&2
  exit 2
fi
train=$(realpath "$1") valid=$(realpath "$2")
root=$(dirname "$(dirname "$(realpath "$0")")")
work=$(realpath -m "${3:-$root/build/model}")
cd "$root"

if [ ! -x build/release/ordinal ]; then
  echo "make_model.sh: build/release/ordinal is missing; run \`make\` first" >&2
  exit 1
fi

. tools/training_python.sh

# The defaults of train.py are the shipped model's settings.
resume=
[ -f "$work/last.pt" ] && resume=--resume
[ -f "$work/result.json" ] || "$PYTHON" tools/train.py --train "$train" --valid "$valid" --out "$work" $resume

build/release/ordinal convert "$work/hf" models/tales.ordinal --dtype bf16 --force
"$PYTHON" tools/make_shipped_golden.py "$work/hf" tests/goldens/shipped_model.json
"$PYTHON" -m pip install --quiet --no-deps lm_eval==0.4.9 jinja2 pyyaml markupsafe  # one function of it, for a golden
"$PYTHON" tools/make_perplexity_golden.py "$work/hf" models/story.txt tests/goldens/perplexity.json
"$PYTHON" tools/train_check.py --hf "$work/hf" --model models/tales.ordinal --valid "$valid"
