#!/bin/sh
# One small model per position scheme, alike in everything else, measured inside their length and up to eight times it.
#
#   tools/study.sh TRAIN.txt VALID.txt [WORK_FOLDER]
#
# Every run has the same first weights, the same batches in the same order and the same budget (tools/train.py); only
# the scheme differs. Writes WORK_FOLDER/study.md, the tables of models/study/README.md, and perplexity.svg beside that
# page, from `ordinal compare` on the held-out text. An interrupted run goes on where it was. PYTHON names the interpreter,
# see tools/training_python.sh.
set -eu

if [ $# -lt 2 ]; then
  echo "usage: tools/study.sh TRAIN.txt VALID.txt [WORK_FOLDER]   (lines <|endoftext|> end documents)" >&2
  exit 2
fi
train=$(realpath "$1") valid=$(realpath "$2")
root=$(dirname "$(dirname "$(realpath "$0")")")
work=$(realpath -m "${3:-$root/build/study}")
cd "$root"
. tools/training_python.sh

for scheme in sinusoidal learned rope alibi t5_bias shaw none; do
  out=$work/$scheme
  mkdir -p "$out"
  resume=
  [ ! -f "$out/last.pt" ] || resume=--resume
  [ -f "$out/result.json" ] || "$PYTHON" tools/train.py --train "$train" --valid "$valid" --out "$out" $resume \
    --position $scheme --vocab 2048 --ctx 128 --width 128 --heads 4 --layers 4 --hidden 512 --steps 1200 \
    --threads "${THREADS:-1}" --eval-every 400 --save-every 400
  [ -f "$out/compare.json" ] || {
    build/release/ordinal convert "$out/hf" "$out/model.ordinal" --dtype f32 --force -q
    build/release/ordinal compare -m "$out/model.ordinal" -f "$valid" --documents '<|endoftext|>' --positions native \
      --tokens 40000 --lengths 32,64,128,256,512,1024 --json "$out/compare.json" -q >/dev/null
  }
done
"$PYTHON" tools/study_table.py "$work" models/study/perplexity.svg >"$work/study.md"
