#!/usr/bin/env python3
# Makes tests/goldens/torch/: small files of torch.save, as nanoGPT and minGPT write them, and the logits of their models.
"""
    tools/make_torch_goldens.py

nano.pt is what nanoGPT's train.py saves of a compiled model without biases: a zip archive with model_args, the state of
an optimizer, a loss that is a tensor, and a dataset's name. min.pt is a bare state dict as minGPT's, in the older format,
with biases, masks, a head of its own, tensors that view one storage, a transposed one and every other column of one.
meta.pkl has the characters of nano.pt. expected.json has logits that the formulas below give in float64 for lists of
ids, nano.pt with GELU by erf, min.pt by tanh. Needs torch.
"""
import json
import math
import pickle
from collections import OrderedDict
from pathlib import Path

import torch

OUT = Path(__file__).resolve().parent.parent / "tests" / "goldens" / "torch"
V, D, L, H, T = 11, 8, 2, 2, 12
IDS = [[3], [5, 0, 9, 1, 7], [10, 2, 2, 8, 6, 4, 0, 3, 1, 9, 5, 7]]
CHARACTERS = "\n abcdeäß中."


def random_weights(bias):
    w = OrderedDict()

    def matrix(name, rows, columns, scale=0.4):
        w[name + ".weight"] = scale * torch.randn(rows, columns)
        if bias and columns != 1:
            w[name + ".bias"] = 0.3 * torch.randn(rows)

    def norm(name):
        w[name + ".weight"] = 1 + 0.3 * torch.randn(D)
        if bias:
            w[name + ".bias"] = 0.3 * torch.randn(D)

    w["wte.weight"] = torch.randn(V, D)
    w["wpe.weight"] = 0.5 * torch.randn(T, D)
    for i in range(L):
        norm(f"h.{i}.ln_1")
        matrix(f"h.{i}.attn.c_attn", 3 * D, D)
        matrix(f"h.{i}.attn.c_proj", D, D)
        norm(f"h.{i}.ln_2")
        matrix(f"h.{i}.mlp.c_fc", 4 * D, D)
        matrix(f"h.{i}.mlp.c_proj", D, 4 * D)
    norm("ln_f")
    return w


def logits(weights, head, ids, approximate):
    """The last row, in float64, written out from the model's description."""
    w = {name: tensor.double() for name, tensor in weights.items()}

    def norm(x, name):
        bias = w.get(name + ".bias")
        return torch.nn.functional.layer_norm(x, (D,), w[name + ".weight"], bias, 1e-5)

    def linear(x, name):
        return torch.nn.functional.linear(x, w[name + ".weight"], w.get(name + ".bias"))

    x = w["wte.weight"][ids] + w["wpe.weight"][: len(ids)]
    later = torch.triu(torch.ones(len(ids), len(ids), dtype=torch.bool), 1)
    for i in range(L):
        q, k, v = linear(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn").split(D, dim=1)
        heads = [t.reshape(len(ids), H, D // H).transpose(0, 1) for t in (q, k, v)]
        scores = (heads[0] @ heads[1].transpose(1, 2) / math.sqrt(D // H)).masked_fill(later, -math.inf)
        mixed = (scores.softmax(-1) @ heads[2]).transpose(0, 1).reshape(len(ids), D)
        x = x + linear(mixed, f"h.{i}.attn.c_proj")
        up = torch.nn.functional.gelu(linear(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc"), approximate=approximate)
        x = x + linear(up, f"h.{i}.mlp.c_proj")
    return (norm(x, "ln_f") @ head.double().T)[-1].tolist()


def make_nano():
    w = random_weights(bias=False)
    saved = OrderedDict(("_orig_mod.transformer." + name, tensor) for name, tensor in w.items())
    saved["_orig_mod.lm_head.weight"] = w["wte.weight"]
    args = {"n_layer": L, "n_head": H, "n_embd": D, "block_size": T, "bias": False, "vocab_size": V, "dropout": 0.1}
    state = {"step": torch.tensor(7.0), "exp_avg": torch.zeros(D)}
    optimizer = {"state": {0: state}, "param_groups": [{"lr": 6e-4, "betas": (0.9, 0.95), "params": [0]}]}
    torch.save({"model": saved, "optimizer": optimizer, "model_args": args, "iter_num": 7,
                "best_val_loss": torch.tensor(1.5), "config": {"dataset": "letters", "compile": True}}, OUT / "nano.pt")
    itos = dict(enumerate(CHARACTERS))
    with open(OUT / "meta.pkl", "wb") as file:
        pickle.dump({"vocab_size": V, "itos": itos, "stoi": {c: i for i, c in itos.items()}}, file)
    return [logits(w, w["wte.weight"], ids, "none") for ids in IDS]


def make_min():
    w = random_weights(bias=True)
    head = torch.randn(V, D)
    saved = OrderedDict()
    pool = torch.cat([tensor for name, tensor in w.items() if tensor.dim() == 1])  # all vectors in one storage
    at = 0
    for name, tensor in w.items():
        if tensor.dim() == 1:
            tensor, at = pool[at : at + len(tensor)], at + len(tensor)
        elif name.endswith("c_fc.weight"):
            tensor = tensor.t().contiguous().t()
        elif name == "h.1.attn.c_proj.weight":
            wide = torch.randn(D, 2 * D)
            wide[:, ::2] = tensor
            tensor = wide[:, ::2]
        saved["module.transformer." + name] = tensor
        if name.endswith("c_attn.weight"):
            saved["module.transformer." + name.replace("c_attn.weight", "bias")] = torch.ones(1, 1, T, T).tril()
    saved["module.lm_head.weight"] = head
    torch.save(saved, OUT / "min.pt", _use_new_zipfile_serialization=False)
    return [logits(w, head, ids, "tanh") for ids in IDS]


def main():
    torch.manual_seed(11)
    OUT.mkdir(parents=True, exist_ok=True)
    expected = {"ids": IDS, "nano.pt": make_nano(), "min.pt": make_min()}
    (OUT / "expected.json").write_text(json.dumps(expected, indent=None) + "\n")


if __name__ == "__main__":
    main()
