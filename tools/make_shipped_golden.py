#!/usr/bin/env python3
# Writes tests/goldens/shipped_model.json: what transformers computes for the weights of the shipped model.
"""
    tools/make_shipped_golden.py build/train/hf tests/goldens/shipped_model.json

The matrices (every 2-D tensor, tables included) are rounded to bf16, to nearest even, as in the model file; norms and
biases stay float32. The logits are transformers' in double precision on those weights; float32_difference says how far
its float32 run is from them, argmax and greedy ids come with the smallest gap between the two best logits.
"""
import hashlib
import json
import platform
import sys
from pathlib import Path

import numpy
import torch
import transformers

from train import load_tokenizer
from train_check import read_folder, their_model

PARAGRAPH = (
    "There was once a miller who had three daughters, and the youngest of them was so kind that even the wild geese "
    'came to eat out of her hand. "Father," said she one morning, "I dreamed of a golden bird that sat upon the mill '
    'wheel, and it called me by my name."\n\n"Dreams are but foam," answered the miller; yet he went out to look, and '
    "behold! there it sat, shining like the sun upon the water."
)


def round6(values):
    return [round(float(v), 6) for v in values]


def describe(double, single, ids, text=None):
    """The logits of every position of one prompt, reduced to what a test needs."""
    with torch.no_grad():
        all64 = double(torch.tensor([ids])).logits[0]
        all32 = single(torch.tensor([ids])).logits[0]
    last = all64[-1]
    top = last.topk(20)
    spread = list(range(0, len(last), len(last) // 40 + 1))[:40]
    best = all64.topk(2).values
    entry = {"text": text} if text is not None else {}
    return entry | {
        "ids": ids,
        "argmax": all64.argmax(-1).tolist(),
        "smallest_gap": round(float((best[:, 0] - best[:, 1]).min()), 6),
        "last": {
            "logsumexp": round(float(last.logsumexp(0)), 6),
            "top": [[i, v] for i, v in zip(top.indices.tolist(), round6(top.values))],
            "spread": [[i, v] for i, v in zip(spread, round6(last[spread]))],
        },
        "logsumexp": round6(all64.logsumexp(-1)),
        "float32_difference": float(f"{(all32.double() - all64).abs().max().item():.3e}"),
    }


def greedy(double, ids, count):
    """count greedy ids after ids, the text recomputed at every step; ties would go to the lowest id."""
    new, gap = [], float("inf")
    with torch.no_grad():
        for _ in range(count):
            best = double(torch.tensor([ids + new])).logits[0, -1].topk(2)
            gap = min(gap, float(best.values[0] - best.values[1]))
            new.append(int(best.indices[0]))
    return new, round(gap, 6)


def main():
    folder, target = sys.argv[1:3]
    tensors, _ = read_folder(folder, "bf16")
    single = their_model(folder, tensors)
    double = their_model(folder, tensors).double()
    tokenizer = load_tokenizer(folder)
    vocab, ctx = single.config.vocab_size, single.config.n_positions

    prompts = {}
    for name, text in (("short", "Once upon a time"), ("paragraph", PARAGRAPH)):
        prompts[name] = describe(double, single, tokenizer.encode(text, add_special_tokens=False).ids, text)
    random = numpy.random.default_rng(11)
    prompts["random"] = describe(double, single, random.integers(vocab, size=ctx).tolist())

    ids, gap = greedy(double, prompts["short"]["ids"], 60)
    golden = {
        "script": "tools/make_shipped_golden.py",
        "made_with": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
        "weights": "every 2-D tensor rounded to bf16 (nearest even), norms and biases float32, arithmetic in double",
        "safetensors_sha256": hashlib.sha256(Path(folder, "model.safetensors").read_bytes()).hexdigest(),
        "prompts": prompts,
        "greedy": {"prompt": "short", "ids": ids, "smallest_gap": gap, "text": tokenizer.decode(ids)},
    }
    lines = (f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in golden.items())
    text = "{\n" + ",\n".join(lines) + "\n}"
    Path(target).write_text(text + "\n", encoding="utf-8")
    print(f"{target}: {len(text) + 1} bytes, greedy: {golden['greedy']['text']!r}")


if __name__ == "__main__":
    main()
