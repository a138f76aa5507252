# Sourced by the scripts that train, at the root of the tree: sets PYTHON to an interpreter that has the packages of
# tools/train-requirements.txt, unless the caller names one, in a virtual environment in build/venv.
if [ -z "${PYTHON:-}" ]; then
  PYTHON=build/venv/bin/python
  if ! "$PYTHON" -c 'import torch, tokenizers, safetensors, transformers' 2>/dev/null; then
    python3 -m venv build/venv
    "$PYTHON" -m pip install --quiet -r tools/train-requirements.txt
  fi
fi
