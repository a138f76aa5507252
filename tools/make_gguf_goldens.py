#!/usr/bin/env python3
# Makes tests/goldens/gguf/: a small GGUF file with a tensor of every kind, and the weights that they stand for.
"""
    tools/make_gguf_goldens.py

Makes small GGUF files, written by the gguf package, and what others make of them.

kinds.gguf is a llama of 256 channels whose matrices are of all kinds. Kinds that the package can quantise hold random
weights so made; of the others the blocks are random bytes with sane scales. kinds.json has for each tensor its kind,
shape, and the SHA-256 of all weights as the package's own dequantiser has them, in little-endian float32.

ARCHITECTURE.gguf are random models of transformers with their tensors named and put in order as llama.cpp's converter
does it (it takes q, k and v apart where a family keeps them head by head). logits.json has for each the logits after the
last of some ids, which transformers computes in double precision. Needs gguf, numpy, torch, transformers.
"""
import hashlib
import json
from pathlib import Path

import gguf
import numpy as np
import torch
import transformers
from gguf import GGMLQuantizationType as Kind
from gguf import quants

OUT = Path(__file__).resolve().parent.parent / "tests" / "goldens" / "gguf"
transformers.logging.set_verbosity_error()
random = np.random.default_rng(7)

# Where the f16 numbers of a block of random bytes are.
HALVES = {Kind.Q2_K: [80, 82], Kind.Q3_K: [108], Kind.Q4_K: [0, 2], Kind.Q5_K: [0, 2], Kind.Q6_K: [208], Kind.IQ4_NL: [0]}

# name, rows, columns, kind
TENSORS = [
    ("token_embd", 20, 256, Kind.Q4_K),
    ("output", 20, 256, Kind.Q6_K),
    ("blk.0.attn_q", 32, 256, Kind.Q5_K),
    ("blk.0.attn_k", 16, 256, Kind.Q3_K),
    ("blk.0.attn_v", 16, 256, Kind.Q2_K),
    ("blk.0.attn_output", 256, 32, Kind.Q4_1),
    ("blk.0.ffn_gate", 32, 256, Kind.Q8_0),
    ("blk.0.ffn_up", 32, 256, Kind.IQ4_NL),
    ("blk.0.ffn_down", 256, 32, Kind.Q5_0),
    ("blk.1.attn_q", 32, 256, Kind.Q5_1),
    ("blk.1.attn_k", 16, 256, Kind.Q4_0),
    ("blk.1.attn_v", 16, 256, Kind.BF16),
    ("blk.1.attn_output", 256, 32, Kind.F16),
    ("blk.1.ffn_gate", 32, 256, Kind.Q6_K),
    ("blk.1.ffn_up", 32, 256, Kind.Q4_K),
    ("blk.1.ffn_down", 256, 32, Kind.F32),
]


def data_of(rows, columns, kind):
    if kind not in HALVES:
        return quants.quantize((random.standard_normal((rows, columns)) * 0.1).astype(np.float32), kind)
    items, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (rows * columns // items, size), dtype=np.uint8)
    for at in HALVES[kind]:
        scales = (random.standard_normal(len(blocks)) * 1e-3).astype(np.float16)
        blocks[:, at : at + 2] = scales.view(np.uint8).reshape(-1, 2)
    return blocks.reshape(rows, -1)


def write_kinds():
    writer = gguf.GGUFWriter(OUT / "kinds.gguf", "llama")
    writer.add_block_count(2)
    writer.add_context_length(64)
    writer.add_embedding_length(256)
    writer.add_feed_forward_length(32)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_key_length(16)
    writer.add_value_length(16)
    writer.add_layer_norm_rms_eps(1e-5)
    golden = {}
    for name, rows, columns, kind in TENSORS:
        data = data_of(rows, columns, kind)
        writer.add_tensor(name + ".weight", data, raw_dtype=kind)
        weights = quants.dequantize(data, kind).astype("<f4").reshape(rows, columns)
        golden[name + ".weight"] = {
            "kind": kind.name,
            "shape": [rows, columns],
            "sha256": hashlib.sha256(weights.tobytes()).hexdigest(),
        }
    for name in ["output_norm"] + [f"blk.{layer}.{norm}_norm" for layer in (0, 1) for norm in ("attn", "ffn")]:
        writer.add_tensor(name + ".weight", random.uniform(0.5, 1.5, 256).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    (OUT / "kinds.json").write_text(json.dumps(golden, indent=0) + "\n")


# ---- architectures --------------------------------------------------------------------------------------------------

IDS = [3, 17, 8, 29, 5, 0, 39, 11, 22, 30, 7, 7, 1]
SIZES = dict(vocab_size=40)


def random_model(kind, seed, **settings):
    torch.manual_seed(seed)
    model = getattr(transformers, kind + "ForCausalLM")(getattr(transformers, kind + "Config")(**SIZES, **settings)).double().eval()
    with torch.no_grad():
        for name, values in model.named_parameters():
            if values.dim() == 1:
                values.copy_(torch.randn_like(values) * 0.1 + (0 if name.endswith("bias") else 1))
            else:
                values.copy_(torch.randn_like(values) * (0.8 / min(values.shape) ** 0.5))
            values.copy_(values.half() if values.dim() == 2 else values.float())
    return model


def by_kind(fused, heads, head_dim):
    """Rows [head][q, k, v] as [q][k][v]."""
    return fused.reshape(heads, 3, head_dim, *fused.shape[1:]).transpose(0, 1).reshape(fused.shape)


def by_group(fused, heads, groups, head_dim):
    """Rows [group][its q heads, k, v] as [q][k][v]."""
    parts = fused.reshape(groups, heads // groups + 2, head_dim, *fused.shape[1:])
    q, k, v = parts[:, :-2], parts[:, -2:-1], parts[:, -1:]
    return torch.cat([part.reshape(-1, *fused.shape[1:]) for part in (q, k, v)])


def renamed(state, names, layer_names, layers):
    """GGUF's names for a state, weights and biases alike; a name may come with what turns its rows."""
    out = {}
    pairs = [(f"{theirs}", ours) for theirs, ours in names.items()]
    pairs += [(theirs.replace("#", str(i)), f"blk.{i}.{ours}" if isinstance(ours, str) else (f"blk.{i}.{ours[0]}", ours[1]))
              for i in range(layers) for theirs, ours in layer_names.items()]
    for theirs, ours in pairs:
        ours, turn = ours if isinstance(ours, tuple) else (ours, lambda values: values)
        for part in ("weight", "bias"):
            if f"{theirs}.{part}" in state:
                out[f"{ours}.{part}"] = turn(state[f"{theirs}.{part}"])
    return out


def phi2():
    model = random_model("Phi", 1, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2,
                         max_position_embeddings=64, partial_rotary_factor=0.5)
    layer = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
             "self_attn.v_proj": "attn_v", "self_attn.dense": "attn_output", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down"}
    names = {"model.embed_tokens": "token_embd", "model.final_layernorm": "output_norm", "lm_head": "output"}
    tensors = renamed(model.state_dict(), names, {f"model.layers.#.{k}": v for k, v in layer.items()}, 2)
    return model, tensors, dict(d=32, ff=48, heads=2, rotary=8)


BLOOM_LAYER = {"input_layernorm": "attn_norm", "self_attention.dense": "attn_output",
               "post_attention_layernorm": "ffn_norm", "mlp.dense_h_to_4h": "ffn_up", "mlp.dense_4h_to_h": "ffn_down"}


def bloom():
    model = random_model("Bloom", 2, hidden_size=24, n_layer=2, n_head=6)
    layer = BLOOM_LAYER | {"self_attention.query_key_value": ("attn_qkv", lambda rows: by_kind(rows, 6, 4))}
    names = {"transformer.word_embeddings": "token_embd", "transformer.word_embeddings_layernorm": "token_embd_norm",
             "transformer.ln_f": "output_norm"}
    tensors = renamed(model.state_dict(), names, {f"transformer.h.#.{k}": v for k, v in layer.items()}, 2)
    return model, tensors, dict(d=24, ff=96, heads=6)


def mpt():
    model = random_model("Mpt", 3, d_model=24, n_layers=2, n_heads=6, max_seq_len=64, attn_config={"clip_qkv": 0.75})
    layer = {"norm_1": "attn_norm", "attn.Wqkv": "attn_qkv", "attn.out_proj": "attn_output", "norm_2": "ffn_norm",
             "ffn.up_proj": "ffn_up", "ffn.down_proj": "ffn_down"}
    names = {"transformer.wte": "token_embd", "transformer.norm_f": "output_norm"}
    tensors = renamed(model.state_dict(), names, {f"transformer.blocks.#.{k}": v for k, v in layer.items()}, 2)
    return model, tensors, dict(d=24, ff=96, heads=6, clamp=0.75, alibi=8.0)


def falcon(seed, new):
    groups, head_dim = (2, 8) if new else (1, 8)
    model = random_model("Falcon", seed, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, bias=False, alibi=False,
                         new_decoder_architecture=new, num_kv_heads=groups, multi_query=True, parallel_attn=True)
    qkv = ("attn_qkv", lambda rows: by_group(rows, 4, groups, head_dim))
    layer = {"self_attention.query_key_value": qkv, "self_attention.dense": "attn_output",
             "mlp.dense_h_to_4h": "ffn_up", "mlp.dense_4h_to_h": "ffn_down"}
    layer |= {"ln_attn": "attn_norm_2", "ln_mlp": "attn_norm"} if new else {"input_layernorm": "attn_norm"}
    names = {"transformer.word_embeddings": "token_embd", "transformer.ln_f": "output_norm"}
    tensors = renamed(model.state_dict(), names, {f"transformer.h.#.{k}": v for k, v in layer.items()}, 2)
    return model, tensors, dict(d=32, ff=128, heads=4, kv=groups)


def starcoder():
    model = random_model("GPTBigCode", 6, n_embd=32, n_layer=2, n_head=4, n_positions=64, multi_query=True)
    layer = {"ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm",
             "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}
    names = {"transformer.wte": "token_embd", "transformer.wpe": "position_embd", "transformer.ln_f": "output_norm"}
    tensors = renamed(model.state_dict(), names, {f"transformer.h.#.{k}": v for k, v in layer.items()}, 2)
    return model, tensors, dict(d=32, ff=128, heads=4, kv=1)


ARCHITECTURES = {"phi2": phi2, "bloom": bloom, "mpt": mpt, "falcon": lambda: falcon(4, False),
                 "falcon-two-norms": lambda: falcon(5, True), "starcoder": starcoder}


def write_architecture(name, make):
    model, tensors, sizes = make()
    writer = gguf.GGUFWriter(OUT / f"{name}.gguf", name.split("-")[0])
    writer.add_block_count(2)
    writer.add_context_length(64)
    writer.add_embedding_length(sizes["d"])
    writer.add_feed_forward_length(sizes["ff"])
    writer.add_head_count(sizes["heads"])
    writer.add_layer_norm_eps(1e-5)
    if "kv" in sizes:
        writer.add_head_count_kv(sizes["kv"])
    if "rotary" in sizes:
        writer.add_rope_dimension_count(sizes["rotary"])
    if "clamp" in sizes:
        writer.add_clamp_kqv(sizes["clamp"])
        writer.add_max_alibi_bias(sizes["alibi"])
    for tensor, values in tensors.items():
        writer.add_tensor(tensor, values.numpy().astype(np.float16 if values.dim() == 2 else np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with torch.no_grad():
        logits = model(torch.tensor([IDS])).logits[0]
    return {"ids": IDS, "logits_last": [round(x, 7) for x in logits[-1].tolist()]}


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    write_kinds()
    logits = {name: write_architecture(name, make) for name, make in ARCHITECTURES.items()}
    (OUT / "logits.json").write_text(json.dumps(logits, indent=0) + "\n")


main()
