#!/usr/bin/env bash
# Draws the pictures that src/position/README.md shows, small enough to be kept in the repository.
#
#   tools/make_pictures.sh ORDINAL FOLDER
set -euo pipefail
ordinal=$1
folder=$2
mkdir -p "$folder"
model=$(ls "$(dirname "$0")"/../models/*.ordinal | head -1)  # which has a learned table too

draw() {  # NAME SPEC OPTIONS...
  "$ordinal" positions plot -q -o "$folder/$1.svg" "${@:2}"
}
draw learned learned -m "$model" --dims 32 --positions 64
draw learned-pca learned -m "$model" --kind pca
draw hierarchical hierarchical --example --dims 12 --positions 192
draw sinusoidal sinusoidal --dims 32 --positions 96
draw sinusoidal-waveforms sinusoidal --kind waveforms
draw sinusoidal-similarity sinusoidal --kind similarity --positions 512
draw sinusoidal-counter sinusoidal --kind counter
draw sinusoidal-orthogonality sinusoidal --kind orthogonality
draw index index --dims 8 --positions 64
draw normalized normalized --dims 8 --positions 64 --ctx 64
draw rope rope
draw rope-circle rope --kind circle
draw alibi alibi
draw kerple kerple --example --heads 4
draw sandwich sandwich --heads 4
draw fire fire --example --heads 4
draw cope cope --example --heads 1
draw dca 'rope;with=dca' --example --positions 384
draw t5_bias t5_bias
draw relative_bias relative_bias --example --heads 4
draw shaw shaw --example
draw xl xl --example --heads 4
draw none none --positions 24
