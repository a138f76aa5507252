#!/usr/bin/env python3
# Compares the engine's logits with PyTorch's on an exported folder: `make parity` runs it on the shipped model.
"""
    tools/train_check.py --hf build/train/hf [--model FILE.ordinal] [--valid tales.valid.txt]

First reads the folder twice, with transformers and with the model of train.py, and compares the two (only for learned
positions: transformers knows no other scheme of ours). With --model it then runs `ordinal logits --all` on windows of
random ids and of the validation text and compares logits, argmax and loss; --round says how the file stores matrices.
The reference is train.py's model in double precision.

Exit 0: everything within its bound. 1: something was not; the lines say what.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file

import train

KINDS = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def read_folder(folder, kind="f32"):
    """(tensors by transformers' names, config); matrices rounded as the model file stores them, vectors kept."""
    config = json.loads(Path(folder, "config.json").read_text())
    tensors = load_file(str(Path(folder, "model.safetensors")))
    return {n: t.to(KINDS[kind]).float() if t.ndim == 2 else t for n, t in tensors.items()}, config


def our_model(tensors, config):
    """train.Gpt with the folder's weights."""
    spec = config.get("ordinal_position", "learned")
    scheme = next((n for n, s in train.SCHEMES.items() if s.spec == spec), None)
    if scheme is None:
        raise SystemExit(f"train_check.py: no scheme of train.py has the spec {spec!r}")
    shape = train.Shape(*(config[k] for k in ("vocab_size", "n_positions", "n_embd", "n_head", "n_layer", "n_inner")))
    model = train.Gpt(shape, scheme)
    names = {"wte.weight": "wte", "wpe.weight": "position.wpe"}
    plain = {n.removeprefix("transformer."): t for n, t in tensors.items()}
    model.load_state_dict({names.get(n, n): t for n, t in plain.items()})
    return model.eval()


def their_model(folder, tensors):
    """transformers' GPT-2 with the same weights; loading must use every tensor and miss none."""
    from transformers import GPT2LMHeadModel, logging

    logging.disable_progress_bar()
    model, info = GPT2LMHeadModel.from_pretrained(folder, output_loading_info=True, attn_implementation="eager")
    bad = {k: v for k, v in info.items() if v and k in ("missing_keys", "unexpected_keys", "mismatched_keys")}
    if bad:
        raise SystemExit(f"train_check.py: transformers does not load {folder} cleanly: {bad}")
    model.load_state_dict(tensors, strict=False)
    return model.eval()


def engine_logits(ordinal, model, ids):
    with tempfile.TemporaryDirectory() as scratch:
        out = f"{scratch}/out.npy"
        joined = ",".join(map(str, ids))
        subprocess.run([ordinal, "logits", "-q", "-m", model, "--ids", joined, "--all", "-o", out], check=True)
        return torch.from_numpy(np.load(out))


def loss_of(logits, ids):
    return F.cross_entropy(logits[:-1].double(), torch.tensor(ids[1:])).item()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--hf", required=True, help="folder that train.py exported")
    p.add_argument("--model", help="the same weights as a model file (or the folder itself)")
    p.add_argument("--ordinal", default="build/release/ordinal")
    p.add_argument("--round", choices=KINDS, default="bf16", help="how --model stores matrices")
    p.add_argument("--valid", help="text to take windows from")
    p.add_argument("--windows", type=int, default=6)
    p.add_argument("--bound", type=float, default=2e-4, help="largest allowed difference of a logit")
    args = p.parse_args()

    tensors, config = read_folder(args.hf, args.round)
    reference = our_model(tensors, config).double()
    ctx, vocab = config["n_positions"], config["vocab_size"]
    random = np.random.default_rng(7)
    windows = [random.integers(vocab, size=n).tolist() for n in (1, 2, 33, ctx)]
    text_from = len(windows)
    if args.valid:
        ids = train.encode(train.load_tokenizer(args.hf), train.read_documents(args.valid)).tolist()
        step = max(ctx, (len(ids) - ctx) // args.windows)
        windows += [ids[s : s + ctx] for s in range(0, len(ids) - ctx, step)][: args.windows]

    if "ordinal_position" in config and not args.model:
        raise SystemExit("train_check.py: nothing to compare: transformers lacks this position scheme, give --model")
    failed = False
    sources = []
    if "ordinal_position" not in config:
        theirs = their_model(args.hf, tensors)
        sources.append(("transformers", lambda ids: theirs(torch.tensor([ids])).logits[0]))
    if args.model:
        sources.append(("ordinal", lambda ids: engine_logits(args.ordinal, args.model, ids)))
    with torch.no_grad():
        expected = [reference(torch.tensor([ids]))[0] for ids in windows]
        for name, logits_of in sources:
            worst, flips, losses = 0.0, 0, []
            for i, ids in enumerate(windows):
                got = logits_of(ids)
                if got.shape != expected[i].shape:
                    raise SystemExit(f"train_check.py: {name} gave {tuple(got.shape)}, not {tuple(expected[i].shape)}")
                worst = max(worst, (got.double() - expected[i]).abs().max().item())
                # A flip counts only where the reference's two best are farther apart than the bound explains.
                gap = expected[i].topk(2).values.diff().abs().flatten()
                flips += ((got.argmax(-1) != expected[i].argmax(-1)) & (gap > 2 * args.bound)).sum().item()
                if i >= text_from:
                    losses.append((loss_of(got, ids), loss_of(expected[i], ids)))
            ok = worst <= args.bound and flips == 0
            failed |= not ok
            line = f"{'ok  ' if ok else 'FAIL'} {name}: largest logit difference {worst:.2e} (bound {args.bound:.0e})"
            line += f", {flips} wrong argmax in {sum(map(len, windows))} positions"
            if losses:
                got, want = np.mean(losses, axis=0)
                line += f", loss {got:.6f} against {want:.6f} on {len(losses)} windows of text"
            print(line)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
