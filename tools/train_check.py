#!/usr/bin/env python3
# Compares the engine's logits with PyTorch's on an exported folder: `make parity` runs it on the shipped model.
"""
    tools/train_check.py --hf build/train/hf [--model FILE.ordinal] [--valid tales.valid.txt]

The reference is train.py's model in double precision. It is compared with transformers (under learned positions:
transformers knows no other scheme of ours) and, with --model, with `ordinal logits --all` under every scheme the weights
were trained under: logits, argmax and loss on windows of random ids and of the validation text. --round says how the
file stores matrices.

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


def specs_of(config):
    """Every spec the weights were trained under."""
    return config.get("ordinal_trained_positions", [config.get("ordinal_position", "learned")])


def our_model(tensors, config):
    """train.Gpt with the folder's weights; its schemes are named by their specs' names in train.py."""
    names = {scheme.spec: name for name, scheme in train.SCHEMES.items()}
    unknown = [spec for spec in specs_of(config) if spec not in names]
    if unknown:
        raise SystemExit(f"train_check.py: no scheme of train.py has the spec {unknown[0]!r}")
    keys = ("vocab_size", "n_positions", "n_embd", "n_head", "n_layer", "n_inner")
    shape = train.Shape(*(config[k] for k in keys), embed_scale=1.0)  # the export has the factor in its tables
    model = train.Gpt(shape, [names[spec] for spec in specs_of(config)])
    plain = {n.removeprefix("transformer."): t for n, t in tensors.items()}
    with torch.no_grad():
        for position in model.positions.values():
            for name, parameter in position.tensors().items():
                parameter.copy_(plain.pop(f"ordinal.{name}"))
            if hasattr(position, "wpe"):
                position.wpe.copy_(plain.pop("wpe.weight"))
    plain["wte"] = plain.pop("wte.weight")
    missing, unexpected = model.load_state_dict(plain, strict=False)
    if unexpected or any(not name.startswith("positions.") for name in missing):
        raise SystemExit(f"train_check.py: tensors do not fit: {missing} missing, {unexpected} too many")
    return model.eval()


def their_model(folder, tensors):
    """transformers' GPT-2 with the same weights; loading must use every tensor and miss none."""
    from transformers import GPT2LMHeadModel, logging

    logging.disable_progress_bar()
    model, info = GPT2LMHeadModel.from_pretrained(folder, output_loading_info=True, attn_implementation="eager")
    kinds = ("missing_keys", "unexpected_keys", "mismatched_keys")
    bad = {k: [n for n in info[k] if not str(n).startswith("ordinal.")] for k in kinds}  # tables it has no use for
    bad = {k: v for k, v in bad.items() if v}
    if bad:
        raise SystemExit(f"train_check.py: transformers does not load {folder} cleanly: {bad}")
    model.load_state_dict(tensors, strict=False)
    return model.eval()


def engine_logits(ordinal, model, spec, ids):
    with tempfile.TemporaryDirectory() as scratch:
        out = f"{scratch}/out.npy"
        joined = ",".join(map(str, ids))
        command = [ordinal, "logits", "-q", "-m", model, "--position", spec, "--ids", joined, "--all", "-o", out]
        subprocess.run(command, check=True)
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

    sources = []  # (name, spec, logits of ids)
    if "learned" in specs_of(config):
        theirs = their_model(args.hf, tensors)
        sources.append(("transformers", "learned", lambda ids: theirs(torch.tensor([ids])).logits[0]))
    if args.model:
        for spec in specs_of(config):
            engine = lambda ids, spec=spec: engine_logits(args.ordinal, args.model, spec, ids)
            sources.append(("ordinal", spec, engine))
    if not sources:
        raise SystemExit("train_check.py: nothing to compare: transformers lacks this position scheme, give --model")
    names = dict(zip(specs_of(config), reference.positions))
    failed = False
    with torch.no_grad():
        for name, spec, logits_of in sources:
            worst, flips, losses = 0.0, 0, []
            for i, ids in enumerate(windows):
                expected = reference(torch.tensor([ids]), scheme=names[spec])[0]
                got = logits_of(ids)
                if got.shape != expected.shape:
                    raise SystemExit(f"train_check.py: {name} gave {tuple(got.shape)}, not {tuple(expected.shape)}")
                worst = max(worst, (got.double() - expected).abs().max().item())
                # A flip counts only where the reference's two best are farther apart than the bound explains.
                gap = expected.topk(2).values.diff().abs().flatten()
                flips += ((got.argmax(-1) != expected.argmax(-1)) & (gap > 2 * args.bound)).sum().item()
                if i >= text_from:
                    losses.append((loss_of(got, ids), loss_of(expected, ids)))
            ok = worst <= args.bound and flips == 0
            failed |= not ok
            line = f"{'ok  ' if ok else 'FAIL'} {name}, {spec}: largest logit difference {worst:.2e} (bound {args.bound:.0e})"
            line += f", {flips} wrong argmax in {sum(map(len, windows))} positions"
            if losses:
                got, want = np.mean(losses, axis=0)
                line += f", loss {got:.6f} against {want:.6f} on {len(losses)} windows of text"
            print(line, flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
