#!/usr/bin/env python3
# Makes tests/goldens/gguf/: a small GGUF file with a tensor of every kind, and the weights that they stand for.
"""
    tools/make_gguf_goldens.py

kinds.gguf is written by the gguf package: a llama of one layer and 256 channels whose matrices are of different kinds.
Kinds that the package can quantise hold random weights so made; of the others the blocks are random bytes with sane
scales. kinds.json has for each tensor its kind, shape, and the SHA-256 of all weights as the package's own dequantiser has
them, in little-endian float32. Needs gguf and numpy.
"""
import hashlib
import json
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Kind
from gguf import quants

OUT = Path(__file__).resolve().parent.parent / "tests" / "goldens" / "gguf"
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


def main():
    OUT.mkdir(parents=True, exist_ok=True)
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


main()
