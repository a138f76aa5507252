#!/usr/bin/env python3
# Compares the engine with transformers on GPT-2 models made on the spot: logits within 2e-4, greedy ids equal.
"""
    tools/parity.py build/release/ordinal [--keep FOLDER]

Each model is random, saved by transformers as a Hugging Face folder, read by `ordinal convert` (the way of a user) and
run by both; transformers computes in double precision. One has the shape of GPT-2 small and is too large to be kept in
the repository; the others vary what a config.json can say. Weights are larger than a fresh initialisation's, so that
attention is neither even nor on one key and logits differ by several units.
"""
import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

LIMIT = 2e-4
NEW_IDS = 32

# name, config, ids in the prompt
MODELS = [
    ("gpt2-small", dict(), 96),
    ("odd-sizes", dict(n_embd=75, n_head=25, n_layer=3, vocab_size=501, n_positions=129, n_inner=97), 90),
    ("one-head", dict(n_embd=33, n_head=1, n_layer=2, vocab_size=257, n_positions=64), 30),
    ("erf-untied", dict(n_embd=48, n_head=4, n_layer=4, vocab_size=300, n_positions=70, activation_function="gelu",
                        tie_word_embeddings=False), 38),
    ("inverse-layer", dict(n_embd=64, n_head=4, n_layer=5, vocab_size=333, n_positions=80,
                           scale_attn_by_inverse_layer_idx=True), 48),
    ("unscaled-relu", dict(n_embd=40, n_head=5, n_layer=3, vocab_size=290, n_positions=66, scale_attn_weights=False,
                           activation_function="relu"), 34),
]


def make_model(settings, seed):
    """A random model whose weights are multiples of bf16's, so that no step depends on how numbers were stored."""
    torch.manual_seed(seed)
    config = GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, bos_token_id=0, eos_token_id=0, **settings)
    model = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for name, values in model.named_parameters():
            if values.dim() == 2 and "wte" not in name and "wpe" not in name and "lm_head" not in name:
                values.copy_(torch.randn_like(values) * (0.8 / values.shape[0] ** 0.5))
            elif values.dim() == 2:
                values.copy_(torch.randn_like(values) * (1.5 / config.n_embd**0.5))
            elif name.endswith("bias"):
                values.copy_(torch.randn_like(values) * 0.1)
            else:
                values.copy_(1 + 0.2 * torch.randn_like(values))
    return model


def run(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"parity: {' '.join(map(str, arguments))}\n{done.stderr}")
    return done.stdout


def their_greedy(model, ids):
    """New ids, and the smallest gap between the best two logits on the way: a tie would be no one's fault."""
    new, gap, past = [], float("inf"), None
    step = torch.tensor([ids])
    with torch.no_grad():
        for _ in range(NEW_IDS):
            out = model(step, past_key_values=past, use_cache=True)
            past, best = out.past_key_values, out.logits[0, -1].topk(2)
            new.append(int(best.indices[0]))
            gap = min(gap, float(best.values[0] - best.values[1]))
            step = torch.tensor([[new[-1]]])
    return new, gap


def compare(program, folder, name, settings, length, seed):
    started = time.time()
    model = make_model(settings, seed)
    source, target = folder / name, folder / f"{name}.ordinal"
    model.save_pretrained(source)
    run(program, "convert", source, target, "-q")
    ids = np.random.default_rng(seed).integers(1, model.config.vocab_size, length).tolist()
    text = ",".join(map(str, ids))
    run(program, "logits", "-m", target, "--ids", text, "--all", "-o", folder / "logits.npy", "-q")
    ours = np.load(folder / "logits.npy")
    made = json.loads(run(program, "generate", "-m", target, "--ids", text, "--temp", "0", "-n", str(NEW_IDS),
                          "--ignore-eos", "--json", "-q"))

    model = model.double()
    with torch.no_grad():
        theirs = model(torch.tensor([ids])).logits[0].numpy()
    greedy, gap = their_greedy(model, ids)
    worst = float(np.abs(ours - theirs).max())
    same = made["ids"] == greedy
    print(f"{name:14} largest difference {worst:.1e} of {np.abs(theirs).max():.1f}, greedy ids "
          f"{'equal' if same else 'DIFFER'} (smallest gap {gap:.1e}), {time.time() - started:.0f} s", flush=True)
    return ours.shape == theirs.shape and worst <= LIMIT and same


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the ordinal to test")
    parser.add_argument("--keep", help="a folder that the models stay in")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(options.keep or scratch)
        results = [compare(options.program, folder, *entry, seed) for seed, entry in enumerate(MODELS, 1)]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
