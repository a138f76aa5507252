#!/usr/bin/env python3
# Trains a small GPT-2-style decoder on a text file and exports it as a Hugging Face GPT-2 folder.
"""
    tools/train.py --train tales.train.txt --valid tales.valid.txt --out build/train

The text is UTF-8; a line holding only <|endoftext|> ends a document. The script learns a byte-level BPE vocabulary,
trains, and writes into --out:

    hf/           config.json, model.safetensors (float32), vocab.json, merges.txt: what transformers and
                  `ordinal convert` read; rewritten with every checkpoint
    last.pt       the checkpoint that --resume continues from
    log.csv       step, tokens, learning rate, training loss, validation loss (mean over the schemes), seconds
    result.json   the options, versions, losses and times, for the model card

`--position joint` trains one set of weights under several schemes: each step draws one. `--lengths` draws the length
of the windows for each step, the number of tokens staying the same. `--recall SHARE` gives that share of each batch to
copying and finding (train_recall.py). `--start FILE` begins with the weights of a model file instead of random ones.

Every batch is a function of the seed and the step, so a resumed run sees the same data as one that never stopped; and
the first weights are those of the seed whatever the scheme, so that runs under different schemes can be compared.
Needs torch, tokenizers and safetensors (tools/train-requirements.txt).
"""
import argparse
import csv
import json
import math
import os
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import tokenizers
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import nn

from model_file import ModelFile
from train_positions import JOINT, JOINT_NATIVE, SCHEMES
from train_recall import Recall

END = "<|endoftext|>"


# ---- text -----------------------------------------------------------------------------------------------------------


def read_documents(path):
    """The documents of a file, without the separators and the newline before each."""
    text = Path(path).read_text(encoding="utf-8")
    return [d for d in (part.strip("\n") for part in ("\n" + text).split(f"\n{END}\n")) if d]


def learn_tokenizer(documents, vocab_size):
    """Byte-level BPE with GPT-2's split rule; the 256 bytes come first and <|endoftext|> last, as in GPT-2."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        documents,
        trainers.BpeTrainer(
            vocab_size=vocab_size - 1,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            special_tokens=[],
            show_progress=False,
        ),
    )
    tokenizer.add_special_tokens([END])
    return tokenizer


def load_tokenizer(folder):
    """The tokenizer of an exported folder."""
    tokenizer = Tokenizer(models.BPE.from_file(f"{folder}/vocab.json", f"{folder}/merges.txt"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([END])
    return tokenizer


def save_tokenizer(tokenizer, folder):
    """vocab.json and merges.txt in GPT-2's form; <|endoftext|> stands in vocab.json, as it does there."""
    state = json.loads(tokenizer.to_str())["model"]
    vocab = dict(state["vocab"])
    vocab[END] = tokenizer.token_to_id(END)
    merges = [m if isinstance(m, str) else " ".join(m) for m in state["merges"]]
    Path(folder, "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False), encoding="utf-8")
    Path(folder, "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]), encoding="utf-8")


def encode(tokenizer, documents):
    """One stream of ids: <|endoftext|> before the first document and after every one."""
    end = tokenizer.token_to_id(END)
    ids = [end]
    for encoding in tokenizer.encode_batch(documents, add_special_tokens=False):
        ids.extend(encoding.ids)
        ids.append(end)
    return np.array(ids, dtype=np.int32)


class Batches:
    """Windows of ctx tokens, each once per epoch in a new order, with the cuts moved by a random offset each time."""

    def __init__(self, ids, ctx, batch, seed):
        self.ids, self.ctx, self.batch, self.seed = ids, ctx, batch, seed
        self.per_epoch = ((len(ids) - 1 - ctx) // ctx) // batch
        if self.per_epoch < 1:
            raise SystemExit(f"train.py: {len(ids)} tokens are too few for one batch of {batch} windows of {ctx}")
        self.epoch = -1

    def __getitem__(self, step):
        epoch, place = divmod(step, self.per_epoch)
        if epoch != self.epoch:
            random = np.random.default_rng([self.seed, epoch])
            self.offset = int(random.integers(self.ctx))
            self.order = random.permutation(self.per_epoch * self.batch)
            self.epoch = epoch
        starts = self.offset + self.ctx * self.order[place * self.batch : (place + 1) * self.batch]
        rows = torch.from_numpy(np.stack([self.ids[s : s + self.ctx + 1] for s in starts]).astype(np.int64))
        return rows[:, :-1], rows[:, 1:]


def draw(args, step):
    """The scheme and the window length of a step: every scheme once in a row of steps, in an order of its own."""
    schemes = names_of(args.position)
    turn, place = divmod(step, len(schemes))
    order = np.random.default_rng([args.seed, 1, turn]).permutation(len(schemes))
    length = int(np.random.default_rng([args.seed, 2, step]).choice(args.lengths))
    return schemes[order[place]], length


# ---- the model ------------------------------------------------------------------------------------------------------


@dataclass
class Shape:
    vocab: int = 4096
    ctx: int = 256
    width: int = 256
    heads: int = 4
    layers: int = 4
    hidden: int = 1024
    embed_scale: float = 8.0
    dropout: float = 0.0


class Affine(nn.Module):
    """x W + b with W stored [inputs, outputs], the orientation of GPT-2's Conv1D, so that export is a copy."""

    def __init__(self, inputs, outputs, std):
        super().__init__()
        self.weight = nn.Parameter(std * torch.randn(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return F.linear(x, self.weight.t(), self.bias)


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        std, residual_std = 0.02, 0.02 / math.sqrt(2 * shape.layers)
        self.heads, self.dropout = shape.heads, shape.dropout
        self.ln_1, self.ln_2 = nn.LayerNorm(shape.width), nn.LayerNorm(shape.width)
        self.attn = nn.ModuleDict(
            {
                "c_attn": Affine(shape.width, 3 * shape.width, std),
                "c_proj": Affine(shape.width, shape.width, residual_std),
            }
        )
        self.mlp = nn.ModuleDict(
            {
                "c_fc": Affine(shape.width, shape.hidden, std),
                "c_proj": Affine(shape.hidden, shape.width, residual_std),
            }
        )

    def forward(self, x, layer, position):
        batch, length, width = x.shape
        rate = self.dropout if self.training else 0.0
        qkv = self.attn.c_attn(self.ln_1(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        q, k = position.transform_query_key(q, k)
        mixed = position.attention(layer, q, k, v, rate)
        mixed = mixed.transpose(1, 2).reshape(batch, length, width)
        x = x + F.dropout(self.attn.c_proj(mixed), rate)
        hidden = F.gelu(self.mlp.c_fc(self.ln_2(x)), approximate="tanh")
        return x + F.dropout(self.mlp.c_proj(hidden), rate)


def names_of(position):
    """The schemes that `--position` stands for."""
    return JOINT if position == "joint" else [position]


class Gpt(nn.Module):
    """Pre-norm decoder with a tied head. forward takes the scheme to use, so a batch can be run under another one.

    Embeddings enter the layers times embed_scale (Vaswani et al. 2017, section 3.4, has sqrt(width)), so that neither
    they nor rows of sines drown the other. `export` folds the factor into the tables and the last norm.
    """

    def __init__(self, shape, schemes):
        super().__init__()
        self.shape, self.native = shape, JOINT_NATIVE if len(schemes) > 1 else schemes[0]
        self.wte = nn.Parameter(0.02 * torch.randn(shape.vocab, shape.width))
        self.h = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.ln_f = nn.LayerNorm(shape.width)
        self.positions = nn.ModuleDict({name: SCHEMES[name](shape) for name in schemes})

    def forward(self, ids, targets=None, scheme=None):
        position = self.positions[scheme or self.native]
        x = position.add_to_embedding(self.shape.embed_scale * F.embedding(ids, self.wte))
        x = F.dropout(x, self.shape.dropout, self.training)
        for layer, block in enumerate(self.h):
            x = block(x, layer, position)
        logits = F.linear(self.ln_f(x), self.wte)
        if targets is None:
            return logits
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


# ---- optimisers -----------------------------------------------------------------------------------------------------


def orthogonalise(g):
    """Pushes the singular values of each matrix of a stack [n, a, b] towards 1: five quintic Newton-Schulz steps."""
    tall = g.shape[1] > g.shape[2]
    x = g.mT if tall else g
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(5):
        s = x @ x.mT
        x = 3.4445 * x + (-4.7750 * s + 2.0315 * s @ s) @ x
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    """Momentum, then the nearest orthogonal matrix (Jordan et al. 2024); query, key and value are three matrices."""

    def __init__(self, matrices, lr, momentum=0.95, weight_decay=0.0):
        super().__init__(matrices, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                m = state.setdefault("momentum", torch.zeros_like(p))
                m.lerp_(p.grad, 1 - group["momentum"])
                g = p.grad.lerp(m, group["momentum"])  # Nesterov
                parts = 3 if p.shape[1] == 3 * p.shape[0] else 1
                stack = g.view(p.shape[0], parts, -1).transpose(0, 1)
                update = orthogonalise(stack).transpose(0, 1).reshape(p.shape)
                scale = math.sqrt(max(1.0, p.shape[1] / parts / p.shape[0]))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(update, alpha=-group["lr"] * scale)


def make_optimisers(model, args):
    matrices = [p for p in model.h.parameters() if p.ndim == 2]
    tables = [p for n, p in model.named_parameters() if p.ndim == 2 and not n.startswith("h.")]
    vectors = [p for p in model.parameters() if p.ndim == 1]
    adam = [
        {"params": tables + (matrices if args.optimiser == "adamw" else []), "weight_decay": args.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    optimisers = [torch.optim.AdamW(adam, lr=args.lr, betas=(0.9, 0.95), eps=1e-10, fused=True)]
    if args.optimiser == "muon":
        optimisers.append(Muon(matrices, lr=args.muon_lr, weight_decay=args.weight_decay))
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["peak"] = group["lr"]
    return optimisers


def rate_at(step, args):
    """The share of the peak rate: a short warm-up, then flat with a linear fall at the end, or a cosine."""
    if step < args.warmup:
        return (step + 1) / args.warmup
    if args.schedule == "cosine":
        return 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * step / args.steps))
    return min(1.0, (args.steps - step) / (args.warmdown * args.steps))


# ---- measuring and saving -------------------------------------------------------------------------------------------


@torch.no_grad()
def validation_loss(model, ids, ctx, scheme, windows=None):
    """Mean nats per token over non-overlapping windows of ctx inputs; the last, shorter one included."""
    model.eval()
    starts = list(range(0, len(ids) - 1, ctx))
    if windows:
        starts = starts[:: max(1, len(starts) // windows)][:windows]
    total = count = 0
    full = [s for s in starts if s + ctx < len(ids)]
    groups = [full[i : i + 8] for i in range(0, len(full), 8)] + [[s] for s in starts if s + ctx >= len(ids)]
    for group in groups:
        rows = torch.from_numpy(np.stack([ids[s : s + ctx + 1] for s in group]).astype(np.int64))
        total += model(rows[:, :-1], rows[:, 1:], scheme).item() * rows[:, 1:].numel()
        count += rows[:, 1:].numel()
    model.train()
    return total / count, count


def hf_config(shape, schemes, native, end):
    config = {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": shape.vocab,
        "n_positions": shape.ctx,
        "n_ctx": shape.ctx,
        "n_embd": shape.width,
        "n_head": shape.heads,
        "n_layer": shape.layers,
        "n_inner": shape.hidden,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
        "initializer_range": 0.02,
        "resid_pdrop": shape.dropout,
        "embd_pdrop": shape.dropout,
        "attn_pdrop": shape.dropout,
        "scale_attn_weights": True,
        "tie_word_embeddings": True,
        "bos_token_id": end,
        "eos_token_id": end,
        "dtype": "float32",
    }
    if schemes != ["learned"]:
        config["ordinal_position"] = SCHEMES[native].spec
        config["ordinal_trained_positions"] = [SCHEMES[name].spec for name in schemes]
    return config


def export(model, tokenizer, folder):
    """A Hugging Face GPT-2 folder, put in place whole so that a reader never sees half of one."""
    new = Path(f"{folder}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    tensors, scale = {}, model.shape.embed_scale
    for name, p in model.state_dict().items():
        name = {"wte": "wte.weight", "positions.learned.wpe": "wpe.weight"}.get(name, name)
        # x = scale wte + scale wpe and logits = norm(x) wte^T, as a plain GPT-2 has them.
        p = p * scale if name in ("wte.weight", "wpe.weight") else p / scale if name.startswith("ln_f.") else p
        if not name.startswith("positions."):
            tensors[f"transformer.{name}"] = p.detach().float().contiguous()
    for position in model.positions.values():
        for name, p in position.tensors().items():
            tensors[f"ordinal.{name}"] = p.detach().float().contiguous()
    save_file(tensors, new / "model.safetensors", metadata={"format": "pt"})
    config = hf_config(model.shape, list(model.positions), model.native, tokenizer.token_to_id(END))
    (new / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    save_tokenizer(tokenizer, new)
    old = Path(f"{folder}.old")
    shutil.rmtree(old, ignore_errors=True)
    if Path(folder).exists():
        os.rename(folder, old)
    os.rename(new, folder)
    shutil.rmtree(old, ignore_errors=True)


def start_from(model, tokenizer, path):
    """Takes the weights of a model file that was made from an export of the same shape and text: the way back."""
    file, scale = ModelFile(path), model.shape.embed_scale
    pieces = file.pieces()
    if len(pieces) != tokenizer.get_vocab_size():
        raise SystemExit(f"train.py: {path} has {len(pieces)} tokens, the text's tokenizer {tokenizer.get_vocab_size()}")
    for id, piece in enumerate(pieces):
        if piece.decode(errors="replace") != tokenizer.decode([id], skip_special_tokens=False):
            raise SystemExit(f"train.py: token {id} is {piece} in {path} and another in the text's tokenizer")

    def rows(name):
        return torch.from_numpy(file.rows(file.tensors[name]))

    def take(to, name):
        to.weight.copy_(rows(f"{name}.weight").t() if to.weight.ndim == 2 else rows(f"{name}.weight"))
        to.bias.copy_(rows(f"{name}.bias"))

    with torch.no_grad():
        model.wte.copy_(rows("token_embd.weight") / scale)
        for i, block in enumerate(model.h):
            take(block.ln_1, f"blk.{i}.attn_norm")
            qkv = [f"blk.{i}.attn_{part}" for part in "qkv"]
            block.attn.c_attn.weight.copy_(torch.cat([rows(f"{name}.weight") for name in qkv]).t())
            block.attn.c_attn.bias.copy_(torch.cat([rows(f"{name}.bias") for name in qkv]))
            take(block.attn.c_proj, f"blk.{i}.attn_output")
            take(block.ln_2, f"blk.{i}.ffn_norm")
            take(block.mlp.c_fc, f"blk.{i}.ffn_up")
            take(block.mlp.c_proj, f"blk.{i}.ffn_down")
        take(model.ln_f, "output_norm")
        model.ln_f.weight.mul_(scale)
        model.ln_f.bias.mul_(scale)
        for position in model.positions.values():
            for name, parameter in position.tensors().items():
                parameter.copy_(rows(name))
            if hasattr(position, "wpe"):
                position.wpe.copy_(rows("position_embd.weight") / scale)


def save_checkpoint(path, model, optimisers, step, seconds):
    state = {"model": model.state_dict(), "optimisers": [o.state_dict() for o in optimisers]}
    torch.save({**state, "step": step, "seconds": seconds}, f"{path}.new")
    os.replace(f"{path}.new", path)


# ---- the run --------------------------------------------------------------------------------------------------------


def parse_args():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--train", required=True, help="text file to learn from")
    p.add_argument("--valid", required=True, help="held-out text file")
    p.add_argument("--out", required=True, help="folder for checkpoints, log and export")
    p.add_argument("--resume", action="store_true", help="continue from OUT/last.pt")
    p.add_argument("--start", metavar="FILE", help="a model file in f32 or bf16 whose weights to begin with")
    p.add_argument("--recall", type=float, default=0.0, metavar="SHARE", help="of each batch for copying and finding")
    p.add_argument("--position", choices=[*SCHEMES, "joint"], default="joint")
    p.add_argument("--vocab", type=int, default=Shape.vocab)
    p.add_argument("--ctx", type=int, default=Shape.ctx)
    p.add_argument("--lengths", type=lambda t: [int(n) for n in t.split(",")], help="window lengths to draw from, "
                   "each a divisor of --ctx [default: --ctx, --ctx/2, --ctx/4 under joint, else --ctx]")
    p.add_argument("--width", type=int, default=Shape.width)
    p.add_argument("--heads", type=int, default=Shape.heads)
    p.add_argument("--layers", type=int, default=Shape.layers)
    p.add_argument("--hidden", type=int, default=Shape.hidden)
    p.add_argument("--embed-scale", type=float, default=Shape.embed_scale, help="what multiplies the embeddings")
    p.add_argument("--dropout", type=float, default=Shape.dropout)
    p.add_argument("--batch", type=int, default=16, help="windows per step")
    p.add_argument("--steps", type=int, default=3000)
    p.add_argument("--optimiser", choices=["muon", "adamw"], default="muon")
    p.add_argument("--lr", type=float, default=3e-3, help="peak rate of AdamW (tables, biases, norms)")
    p.add_argument("--muon-lr", type=float, default=0.02, help="peak rate of Muon (matrices of the blocks)")
    p.add_argument("--weight-decay", type=float, default=0.1)
    p.add_argument("--schedule", choices=["linear", "cosine"], default="linear")
    p.add_argument("--warmup", type=int, default=100)
    p.add_argument("--warmdown", type=float, default=0.5, help="share of the steps over which the rate falls to 0")
    p.add_argument("--clip", type=float, default=1.0, help="largest gradient norm")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--threads", type=int, default=0)
    p.add_argument("--compile", action="store_true", help="torch.compile; needs a C++ compiler")
    p.add_argument("--bf16", action="store_true", help="autocast; pays only where the processor has bf16 products")
    p.add_argument("--eval-every", type=int, default=200)
    p.add_argument("--save-every", type=int, default=200)
    p.add_argument("--stop-after", type=int, default=0, help="leave after this step without finishing (for trials)")
    args = p.parse_args()
    if args.lengths is None:
        args.lengths = [args.ctx, args.ctx // 2, args.ctx // 4] if args.position == "joint" else [args.ctx]
    if any(n < 1 or args.ctx % n for n in args.lengths):
        p.error(f"--lengths: each must divide --ctx, {args.ctx}")
    return args


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    if args.threads:
        torch.set_num_threads(args.threads)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)

    train_docs, valid_docs = read_documents(args.train), read_documents(args.valid)
    if args.resume:
        tokenizer = load_tokenizer(out / "hf")
    else:
        tokenizer = learn_tokenizer(train_docs, args.vocab)
    train_ids, valid_ids = encode(tokenizer, train_docs), encode(tokenizer, valid_docs)
    valid_bytes = sum(len(d.encode()) for d in valid_docs)

    shape = Shape(tokenizer.get_vocab_size(), *(getattr(args, f) for f in list(Shape.__annotations__)[1:]))
    schemes = names_of(args.position)
    model = Gpt(shape, schemes)
    if args.start and not args.resume:
        start_from(model, tokenizer, args.start)
    recall = Recall(train_ids, tokenizer, args.seed)
    optimisers = make_optimisers(model, args)
    first, before = 0, 0.0
    if args.resume:
        state = torch.load(out / "last.pt", weights_only=True)
        model.load_state_dict(state["model"])
        for optimiser, s in zip(optimisers, state["optimisers"]):
            optimiser.load_state_dict(s)
        first, before = state["step"], state["seconds"]
    run = torch.compile(model) if args.compile else model
    parameters = sum(p.numel() for p in model.parameters())
    batches = Batches(train_ids, args.ctx, args.batch, args.seed)
    print(f"{parameters} parameters, {len(train_ids)} training tokens, {batches.per_epoch} steps per epoch", flush=True)

    log_file = open(out / "log.csv", "a" if args.resume else "w", newline="")
    log = csv.writer(log_file)
    if not args.resume:
        log.writerow(["step", "tokens", "rate", "train_loss", "valid_loss", "seconds"])
    start = time.monotonic()
    losses = []
    for step in range(first, args.steps):
        rate = rate_at(step, args)
        for optimiser in optimisers:
            for group in optimiser.param_groups:
                group["lr"] = group["peak"] * rate
        scheme, length = draw(args, step)
        ids, targets = (rows.reshape(-1, length) for rows in batches[step])
        if args.recall:
            ids, targets = recall.put_into(ids, targets, args.recall, step)
        with torch.autocast("cpu", torch.bfloat16, enabled=args.bf16):
            loss = run(ids, targets, scheme)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        for optimiser in optimisers:
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        losses.append(loss.item())

        done = step + 1
        if done % 20 == 0 or done == args.steps:
            evaluate = done % args.eval_every == 0
            valid = ""
            if evaluate:
                nats = {n: validation_loss(model, valid_ids, args.ctx, n, 128 // len(schemes))[0] for n in schemes}
                valid = f"{np.mean(list(nats.values())):.4f}"
                print(" ".join(f"{n}={v:.4f}" for n, v in nats.items()))
                if args.recall:
                    shares = {n: recall.accuracy(model, args.ctx, n) for n in schemes}
                    print("copy, find:", " ".join(f"{n}={c:.3f},{f:.3f}" for n, (c, f) in shares.items()))
            seconds = before + time.monotonic() - start
            tokens = done * args.batch * args.ctx
            row = [done, tokens, f"{rate:.4f}", f"{np.mean(losses):.4f}", valid, f"{seconds:.1f}"]
            log.writerow(row)
            log_file.flush()
            print(*row, flush=True)
            losses = []
        if done == args.stop_after:
            return
        if done % args.save_every == 0 or done == args.steps:
            save_checkpoint(out / "last.pt", model, optimisers, done, before + time.monotonic() - start)
            export(model, tokenizer, out / "hf")

    seconds = before + time.monotonic() - start
    nats = {}
    for name in schemes:
        nats[name], count = validation_loss(model, valid_ids, args.ctx, name)
    result = {
        "args": {k: v for k, v in vars(args).items() if k not in ("train", "valid", "out", "resume", "start")},
        "shape": asdict(shape),
        "parameters": parameters,
        "train": {"documents": len(train_docs), "tokens": len(train_ids), "file": Path(args.train).name},
        "valid": {"documents": len(valid_docs), "tokens": count, "bytes": valid_bytes, "file": Path(args.valid).name},
        "tokens_seen": args.steps * args.batch * args.ctx,
        "epochs": round(args.steps / batches.per_epoch, 3),
        "seconds": round(seconds),
        "valid_nats_per_token": {n: round(v, 5) for n, v in nats.items()},
        "valid_bits_per_byte": {n: round(v * count / math.log(2) / valid_bytes, 5) for n, v in nats.items()},
        "versions": {"torch": torch.__version__, "tokenizers": tokenizers.__version__},
        "threads": torch.get_num_threads(),
    }
    (out / "result.json").write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
