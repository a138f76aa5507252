#!/usr/bin/env python3
# Writes tests/goldens/*.json: small random models run by transformers, so that the tests compare with another engine.
"""
    tools/make_goldens.py [--out tests/goldens]

No weights are stored. A golden lists every tensor's name, shape, center and spread, and both sides make the same
float32 numbers of them: number i of a tensor is center + spread * (2 u_i - 1), u_i the draws of splitmix64 started at
seed xor FNV-1a(name), in double precision, rounded once (uniform_numbers in tests/reference/random_model.cpp).

A model is described by the fields of ModelConfig (include/ordinal/model_file.h) and a position spec; the tables below
turn its tensors into each family's own names and orientation. Stored: logits of a few rows, the best token of every
row, and 32 greedy ids. `precision` says how transformers computed them: float64 where its code for the family has no
float32 step inside, else float32. A seed is taken when the greedy ids are varied and no step of them is a near tie.
"""
import argparse
import json
import math
from pathlib import Path

import numpy as np
import torch
import transformers as hf

STEPS = 32  # greedy ids
SMALLEST_GAP = 0.02  # between the best and the second best logit of every greedy step: 100 times the tolerance
MASK = (1 << 64) - 1


# ---- weights --------------------------------------------------------------------------------------------------------


def draws(seed, count):
    """The first `count` draws of splitmix64 as doubles in [0, 1), 53 bits each."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15) * np.arange(1, count + 1, dtype=np.uint64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53


def hash_of(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 & MASK
    return value


def numbers(seed, name, shape, center, spread):
    u = draws(seed ^ hash_of(name), math.prod(shape))
    return (center + spread * (2.0 * u - 1.0)).astype(np.float32).reshape(shape)


class Draft:
    """A model to be: its facts, its position spec, and for every tensor (name, shape, center, spread)."""

    def __init__(self, position, position_rows=0, norm_bias=True, attn_bias=True, attn_output_bias=True, ffn_bias=True,
                 output_norm=True, output_bias=False, sublayer_gain=1.0, **facts):
        c = self.config = {
            "n_kv_heads": facts["n_heads"], "head_dim": facts["d_model"] // facts["n_heads"], "norm": "layer_norm",
            "norm_place": "pre", "norm_epsilon": 1e-5, "activation": "gelu_tanh", "gated_mlp": False,
            "tied_output": True, "embedding_scale": 1.0,
        } | facts
        c.setdefault("attention_scale", [c["head_dim"] ** -0.5] * c["n_layers"])
        self.position = position
        self.tensors = []
        width, q_width, kv_width = c["d_model"], c["n_heads"] * c["head_dim"], c["n_kv_heads"] * c["head_dim"]

        def bias(name, n, present):
            if present:
                self.tensors.append((f"{name}.bias", [n], 0.0, 0.4))

        def matrix(name, n, k, gain, biased):
            self.tensors.append((f"{name}.weight", [n, k], 0.0, gain * math.sqrt(3.0 / k)))
            bias(name, n, biased)

        def norm(name):
            self.tensors.append((f"{name}.weight", [width], 1.0, 0.5))
            bias(name, width, norm_bias)

        # Rows of the embedding have a deviation near 3 / sqrt(width): logits of several units when tied.
        matrix("token_embd", c["vocab_size"], width, 3.0 / math.sqrt(c["embedding_scale"]), False)
        if position_rows:
            matrix("position_embd", position_rows, width, 2.0, False)
        for layer in range(c["n_layers"]):
            block = f"blk.{layer}."
            # Scaled scores of a deviation near 2, so that attention is neither even nor on one key.
            gain = math.sqrt(2.0 / (c["attention_scale"][layer] * math.sqrt(c["head_dim"])))
            norm(block + "attn_norm")
            matrix(block + "attn_q", q_width, width, gain, attn_bias)
            matrix(block + "attn_k", kv_width, width, gain, attn_bias)
            matrix(block + "attn_v", kv_width, width, 1.0, attn_bias)
            matrix(block + "attn_output", width, q_width, sublayer_gain, attn_output_bias)
            norm(block + "ffn_norm")
            if c["gated_mlp"]:
                matrix(block + "ffn_gate", c["d_ff"], width, 1.2, ffn_bias)
            matrix(block + "ffn_up", c["d_ff"], width, 1.2, ffn_bias)
            matrix(block + "ffn_down", width, c["d_ff"], 1.5 * sublayer_gain, ffn_bias)
        if output_norm:
            norm("output_norm")
        if not c["tied_output"]:
            matrix("output", c["vocab_size"], width, 3.0, False)
        bias("output", c["vocab_size"], output_bias)

    def weights(self, seed):
        return {name: numbers(seed, name, *rest) for name, *rest in self.tensors}


# ---- families: each takes a draft, gives the config, the model class and (name there, how to make it) ---------------


def gpt2(draft, **extra):
    c = draft.config
    scales = c["attention_scale"]
    config = hf.GPT2Config(
        vocab_size=c["vocab_size"], n_positions=c["max_seq_len"], n_embd=c["d_model"], n_layer=c["n_layers"],
        n_head=c["n_heads"], n_inner=c["d_ff"], layer_norm_epsilon=c["norm_epsilon"],
        activation_function={"gelu_tanh": "gelu_new", "gelu_erf": "gelu"}.get(c["activation"], c["activation"]),
        tie_word_embeddings=c["tied_output"], scale_attn_weights=scales[0] != 1.0,
        scale_attn_by_inverse_layer_idx=len(scales) > 1 and scales[0] == 2 * scales[1],
        bos_token_id=0, eos_token_id=0, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, **extra)
    return hf.GPT2LMHeadModel, config, gpt2_names(c)


def conv1d(*names):
    """GPT-2's Conv1D: input-major, several matrices side by side."""
    return lambda w: np.concatenate([w[n + ".weight"] for n in names]).T, lambda w: np.concatenate(
        [w[n + ".bias"] for n in names])


def gpt2_names(c, prefix="transformer.", embedding="wte", position="wpe", final="ln_f"):
    names = {prefix + embedding + ".weight": "token_embd.weight", prefix + position + ".weight": "position_embd.weight"}
    for i in range(c["n_layers"]):
        to, of = f"{prefix}h.{i}.", f"blk.{i}."
        for there, parts in {"attn.c_attn": ["attn_q", "attn_k", "attn_v"], "attn.c_proj": ["attn_output"],
                             "mlp.c_fc": ["ffn_up"], "mlp.c_proj": ["ffn_down"]}.items():
            names[f"{to}{there}.weight"], names[f"{to}{there}.bias"] = conv1d(*[of + part for part in parts])
        names |= both(to + "ln_1", of + "attn_norm") | both(to + "ln_2", of + "ffn_norm")
    if final:
        names |= both(prefix + final, "output_norm")
    if not c["tied_output"]:
        names["lm_head.weight"] = "output.weight"
    return names


def both(there, ours):
    return {there + ".weight": ours + ".weight", there + ".bias": ours + ".bias"}


def openai_gpt(draft):
    c = draft.config
    config = hf.OpenAIGPTConfig(vocab_size=c["vocab_size"], n_positions=c["max_seq_len"], n_embd=c["d_model"],
                                n_layer=c["n_layers"], n_head=c["n_heads"], afn="gelu",
                                layer_norm_epsilon=c["norm_epsilon"], resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    return hf.OpenAIGPTLMHeadModel, config, gpt2_names(c, "transformer.", "tokens_embed", "positions_embed", "")


def gpt_bigcode(draft):
    c = draft.config
    config = hf.GPTBigCodeConfig(vocab_size=c["vocab_size"], n_positions=c["max_seq_len"], n_embd=c["d_model"],
                                 n_layer=c["n_layers"], n_head=c["n_heads"], n_inner=c["d_ff"], multi_query=True,
                                 activation_function="gelu_pytorch_tanh", layer_norm_epsilon=c["norm_epsilon"],
                                 resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    names = gpt2_names(c)
    for i in range(c["n_layers"]):  # the same names, but plain linear layers
        to, of = f"transformer.h.{i}.", f"blk.{i}."
        names[to + "attn.c_attn.weight"] = stacked(*[f"{of}attn_{x}.weight" for x in "qkv"])
        names |= both(to + "attn.c_proj", of + "attn_output")
        names |= both(to + "mlp.c_fc", of + "ffn_up") | both(to + "mlp.c_proj", of + "ffn_down")
    return hf.GPTBigCodeForCausalLM, config, names


def stacked(*names):
    return lambda w: np.concatenate([w[name] for name in names])


def gpt_neo(draft):
    c = draft.config
    config = hf.GPTNeoConfig(vocab_size=c["vocab_size"], max_position_embeddings=c["max_seq_len"],
                             hidden_size=c["d_model"], num_layers=c["n_layers"], num_heads=c["n_heads"],
                             intermediate_size=c["d_ff"], attention_types=[[["global"], c["n_layers"]]],
                             activation_function="gelu_new", layer_norm_epsilon=c["norm_epsilon"])
    names = both("transformer.ln_f", "output_norm") | {
        "transformer.wte.weight": "token_embd.weight", "transformer.wpe.weight": "position_embd.weight"}
    for i in range(c["n_layers"]):
        to, of = f"transformer.h.{i}.", f"blk.{i}."
        names |= both(to + "ln_1", of + "attn_norm") | both(to + "ln_2", of + "ffn_norm")
        names |= {f"{to}attn.attention.{x}_proj.weight": f"{of}attn_{x}.weight" for x in "qkv"}
        names |= both(to + "attn.attention.out_proj", of + "attn_output")
        names |= both(to + "mlp.c_fc", of + "ffn_up") | both(to + "mlp.c_proj", of + "ffn_down")
    return hf.GPTNeoForCausalLM, config, names


def gpt_neox(draft):
    c = draft.config
    config = hf.GPTNeoXConfig(vocab_size=c["vocab_size"], max_position_embeddings=c["max_seq_len"],
                              hidden_size=c["d_model"], num_hidden_layers=c["n_layers"],
                              num_attention_heads=c["n_heads"], intermediate_size=c["d_ff"], hidden_act="gelu",
                              layer_norm_eps=c["norm_epsilon"], rotary_pct=0.5, rotary_emb_base=10000,
                              use_parallel_residual=False, tie_word_embeddings=False)

    def by_head(of, kind):  # head 0's q, k, v, then head 1's
        def make(w):
            parts = [w[f"{of}attn_{x}.{kind}"].reshape(c["n_heads"], c["head_dim"], -1) for x in "qkv"]
            fused = np.stack(parts, axis=1)
            return fused.reshape(-1, c["d_model"]) if kind == "weight" else fused.reshape(-1)
        return make

    names = both("gpt_neox.final_layer_norm", "output_norm") | {
        "gpt_neox.embed_in.weight": "token_embd.weight", "lm_head.weight": "output.weight"}
    for i in range(c["n_layers"]):
        to, of = f"gpt_neox.layers.{i}.", f"blk.{i}."
        names |= both(to + "input_layernorm", of + "attn_norm") | both(to + "post_attention_layernorm", of + "ffn_norm")
        names |= {f"{to}attention.query_key_value.{kind}": by_head(of, kind) for kind in ("weight", "bias")}
        names |= both(to + "attention.dense", of + "attn_output")
        names |= both(to + "mlp.dense_h_to_4h", of + "ffn_up") | both(to + "mlp.dense_4h_to_h", of + "ffn_down")
    return hf.GPTNeoXForCausalLM, config, names


def ctrl(draft):
    c = draft.config
    config = hf.CTRLConfig(vocab_size=c["vocab_size"], n_positions=c["max_seq_len"], n_embd=c["d_model"],
                           dff=c["d_ff"], n_layer=c["n_layers"], n_head=c["n_heads"], resid_pdrop=0.0, embd_pdrop=0.0,
                           layer_norm_epsilon=c["norm_epsilon"])
    names = both("transformer.layernorm", "output_norm") | {
        "transformer.w.weight": "token_embd.weight", "lm_head.bias": "output.bias"}
    for i in range(c["n_layers"]):
        to, of = f"transformer.h.{i}.", f"blk.{i}."
        names |= both(to + "layernorm1", of + "attn_norm") | both(to + "layernorm2", of + "ffn_norm")
        for x in "qkv":
            names |= both(f"{to}multi_head_attention.W{x}", f"{of}attn_{x}")
        names |= both(to + "multi_head_attention.dense", of + "attn_output")
        names |= both(to + "ffn.0", of + "ffn_up") | both(to + "ffn.2", of + "ffn_down")
    return hf.CTRLLMHeadModel, config, names


def fairseq_names(c, norms):
    """XGLM and OPT."""
    names = {}
    for i in range(c["n_layers"]):
        to, of = f"layers.{i}.", f"blk.{i}."
        names |= both(to + "self_attn_layer_norm", of + "attn_norm") | both(to + "final_layer_norm", of + "ffn_norm")
        for x in "qkv":
            names |= both(f"{to}self_attn.{x}_proj", f"{of}attn_{x}")
        names |= both(to + "self_attn.out_proj", of + "attn_output")
        names |= both(to + "fc1", of + "ffn_up") | both(to + "fc2", of + "ffn_down")
    return names | both(norms, "output_norm") | {"embed_tokens.weight": "token_embd.weight"}


def xglm(draft):
    c = draft.config
    config = hf.XGLMConfig(vocab_size=c["vocab_size"], max_position_embeddings=c["max_seq_len"], d_model=c["d_model"],
                           ffn_dim=c["d_ff"], num_layers=c["n_layers"], attention_heads=c["n_heads"],
                           activation_function="gelu", dropout=0.0, attention_dropout=0.0)
    return hf.XGLMForCausalLM, config, {"model." + n: made for n, made in fairseq_names(c, "layer_norm").items()}


def opt(draft):
    c = draft.config
    config = hf.OPTConfig(vocab_size=c["vocab_size"], max_position_embeddings=c["max_seq_len"],
                          hidden_size=c["d_model"], ffn_dim=c["d_ff"], num_hidden_layers=c["n_layers"],
                          num_attention_heads=c["n_heads"], word_embed_proj_dim=c["d_model"], dropout=0.0)
    names = fairseq_names(c, "final_layer_norm") | {"embed_positions.weight": "position_embd.weight"}
    return hf.OPTForCausalLM, config, {"model.decoder." + n: made for n, made in names.items()}


def llama(draft, cls=(hf.LlamaConfig, hf.LlamaForCausalLM), norm_offset=0.0, **extra):
    c = draft.config
    acts = {"silu": "silu", "gelu_tanh": "gelu_pytorch_tanh"}
    config = cls[0](vocab_size=c["vocab_size"], max_position_embeddings=c["max_seq_len"], hidden_size=c["d_model"],
                    intermediate_size=c["d_ff"], num_hidden_layers=c["n_layers"], num_attention_heads=c["n_heads"],
                    num_key_value_heads=c["n_kv_heads"], head_dim=c["head_dim"], hidden_act=acts[c["activation"]],
                    rms_norm_eps=c["norm_epsilon"], tie_word_embeddings=c["tied_output"], pad_token_id=None,
                    bos_token_id=None, eos_token_id=None, **extra)

    def norm(name):
        return lambda w: w[name + ".weight"] - np.float32(norm_offset)

    has = {name for name, *_ in draft.tensors}
    names = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": norm("output_norm")}
    if not c["tied_output"]:
        names["lm_head.weight"] = "output.weight"
    for i in range(c["n_layers"]):
        to, of = f"model.layers.{i}.", f"blk.{i}."
        names[to + "input_layernorm.weight"] = norm(of + "attn_norm")
        names[to + "post_attention_layernorm.weight"] = norm(of + "ffn_norm")
        parts = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
                 "self_attn.o_proj": "attn_output", "mlp.down_proj": "ffn_down"}
        if cls[0] is hf.GlmConfig:
            names[to + "mlp.gate_up_proj.weight"] = stacked(of + "ffn_gate.weight", of + "ffn_up.weight")
        else:
            parts |= {"mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up"}
        for there, ours in parts.items():
            names |= {n: made for n, made in both(to + there, of + ours).items() if made in has}
    return cls[1], config, names


# ---- running --------------------------------------------------------------------------------------------------------


def build(family, weights):
    """The transformers model with these weights, in float32."""
    cls, config, names = family
    config._attn_implementation = "eager"
    model = cls(config).eval()
    state = {}
    for name, made in names.items():
        values = made(weights) if callable(made) else weights.get(made)
        if values is not None:
            state[name] = torch.from_numpy(np.ascontiguousarray(values))
    missing, unexpected = model.load_state_dict(state, strict=False)
    left = [name for name in missing if name not in ("lm_head.weight",)]
    if left or unexpected or ("lm_head.weight" in missing and not config.tie_word_embeddings):
        raise SystemExit(f"{cls.__name__}: missing {missing}, unexpected {unexpected}")
    model.tie_weights()
    used = sum(np.asarray(v).size for v in weights.values())
    if used != sum(p.numel() for p in model.parameters()):
        raise SystemExit(f"{cls.__name__}: {used} numbers were made, the model holds another count")
    return model


@torch.no_grad()
def logits_of(model, ids):
    return model(torch.tensor([ids]), use_cache=False).logits[0].double().numpy()


def greedy(model, ids, steps=STEPS):
    """The greedy continuation, recomputing everything each time, and its smallest lead over the second best."""
    ids, new, gap = list(ids), [], math.inf
    for _ in range(steps):
        last = logits_of(model, ids)[-1]
        second, first = np.sort(last)[-2:]
        gap = min(gap, first - second)
        new.append(int(last.argmax()))
        ids.append(new[-1])
    return new, gap


def rounded(values):
    return [float(f"{v:.9g}") for v in values]


def golden(name, draft, family, double, prompt=12):
    """One entry of a golden file; tries seeds until the greedy ids are worth comparing."""
    for seed in range(1, 400):
        weights = draft.weights(seed)
        single = build(family, weights)
        model = build(family, weights).double() if double else single
        ids = [int(u * draft.config["vocab_size"]) for u in draws(seed ^ hash_of("ids"), prompt)]
        new, gap = greedy(model, ids)
        # A model that repeats one token, or nearly, would hide faults.
        if gap < SMALLEST_GAP or len(set(new)) < 6 or greedy(single, ids)[0] != new:
            continue
        everything = ids + new
        logits = logits_of(model, everything)
        noise = np.abs(logits - logits_of(single, everything)).max()
        if noise > 1e-4:
            continue
        vocab = logits.shape[1]
        wanted = range(vocab) if vocab <= 100 else sorted({int(u * vocab) for u in draws(seed, 60)})
        rows = [0, prompt - 1, len(everything) - 1]
        print(f"{name:28} seed {seed:3}  smallest gap {gap:.3f}  distinct {len(set(new)):2}  logits "
              f"{logits.min():.1f}..{logits.max():.1f}  float32 off by {noise:.1e}")
        return {
            "name": name, "made_by": type(model).__name__, "precision": "float64" if double else "float32",
            "config": draft.config, "position": draft.position, "seed": seed,
            "tensors": [[n, shape, center, spread] for n, shape, center, spread in draft.tensors],
            "prompt": ids, "greedy_ids": new, "smallest_gap": float(f"{gap:.4g}"),
            "rows": rows, "columns": list(wanted),
            "logits": [rounded(logits[row][list(wanted)]) for row in rows],
            "argmax": [int(row.argmax()) for row in logits],
        }
    raise SystemExit(f"{name}: no seed gives greedy ids without a near tie")


def inverse(layers, head_dim):
    return [head_dim**-0.5 / (layer + 1) for layer in range(layers)]


def gpt2_goldens():
    def one(name, positions=64, **facts):
        draft = Draft("learned", position_rows=positions, max_seq_len=positions, **facts)
        return golden(name, draft, gpt2(draft), double=True)

    return [
        one("gpt2-3-heads", vocab_size=77, d_model=36, n_layers=2, n_heads=3, d_ff=144),
        one("gpt2-25-heads-erf-untied", vocab_size=61, d_model=100, n_layers=2, n_heads=25, d_ff=133,
            activation="gelu_erf", tied_output=False),
        one("gpt2-1-head-inverse-layer", vocab_size=33, d_model=19, n_layers=4, n_heads=1, d_ff=51,
            attention_scale=inverse(4, 19)),
        one("gpt2-unscaled", vocab_size=50, d_model=42, n_layers=3, n_heads=6, d_ff=45, attention_scale=[1.0] * 3,
            norm_epsilon=1e-3),
        one("gpt2-12-heads-inverse-untied", vocab_size=90, d_model=60, n_layers=3, n_heads=12, d_ff=77,
            attention_scale=inverse(3, 5), activation="gelu_erf", tied_output=False),
        one("gpt2-20-heads-relu", vocab_size=31, d_model=40, n_layers=2, n_heads=20, d_ff=33, activation="relu"),
        one("gpt2-7-heads-silu-untied", vocab_size=65, d_model=63, n_layers=2, n_heads=7, d_ff=31, activation="silu",
            tied_output=False),
        one("gpt2-16-heads-1-layer", vocab_size=32, d_model=32, n_layers=1, n_heads=16, d_ff=17),
        one("gpt2-5-heads-wide", positions=100, vocab_size=777, d_model=200, n_layers=3, n_heads=5, d_ff=800),
    ]


LLAMA = {"norm": "rms_norm", "activation": "silu", "gated_mlp": True}
NO_BIAS = {"norm_bias": False, "attn_bias": False, "attn_output_bias": False, "ffn_bias": False}


def llama_goldens():
    def one(name, position, cls=(hf.LlamaConfig, hf.LlamaForCausalLM), extra=None, **facts):
        draft = Draft(position, max_seq_len=64, **(LLAMA | NO_BIAS | facts))
        return golden(name, draft, llama(draft, cls, **(extra or {})), double=False)

    def rope(theta, **more):
        return {"rope_parameters": {"rope_type": "default", "rope_theta": theta} | more}

    return [
        one("llama-grouped", "rope:theta=10000,pairing=half", extra=rope(10000.0), vocab_size=75, d_model=42,
            n_layers=3, n_heads=6, n_kv_heads=2, head_dim=10, d_ff=61, tied_output=False),
        one("llama-multi-query-tied", "rope:theta=500000,pairing=half", extra=rope(500000.0), vocab_size=64, d_model=40,
            n_layers=2, n_heads=5, n_kv_heads=1, d_ff=47, norm_epsilon=1e-6),
        one("llama-biases-linear-2", "rope:theta=10000,pairing=half,scaling=linear,factor=2",
            extra=rope(10000.0, rope_type="linear", factor=2.0) | {"attention_bias": True, "mlp_bias": True},
            vocab_size=40, d_model=48, n_layers=2, n_heads=4, d_ff=50, tied_output=False, attn_bias=True,
            attn_output_bias=True, ffn_bias=True),
        one("glm-half-turned-neighbours", "rope:theta=10000,pairing=interleaved,rotary_dim=6",
            cls=(hf.GlmConfig, hf.GlmForCausalLM), extra=rope(10000.0, partial_rotary_factor=0.5), vocab_size=70,
            d_model=36, n_layers=2, n_heads=4, n_kv_heads=2, head_dim=12, d_ff=29, tied_output=False, attn_bias=True),
        one("gemma-gelu-multi-query", "rope:theta=10000,pairing=half", cls=(hf.GemmaConfig, hf.GemmaForCausalLM),
            extra=rope(10000.0) | {"norm_offset": 1.0}, vocab_size=70, d_model=36, n_layers=4, n_heads=3, n_kv_heads=1,
            head_dim=16, d_ff=50, activation="gelu_tanh", embedding_scale=6.0, sublayer_gain=4.0),
        one("smollm3-without-positions", "none", cls=(hf.SmolLM3Config, hf.SmolLM3ForCausalLM),
            extra=rope(10000.0) | {"no_rope_layers": [0, 0], "use_sliding_window": False}, vocab_size=60, d_model=32,
            n_layers=2, n_heads=4, n_kv_heads=2, d_ff=40),
    ]


def relative_goldens():
    def one(name, family, position, double=False, **facts):
        draft = Draft(position, max_seq_len=64, **facts)
        return golden(name, draft, family(draft), double)

    return [
        one("gpt1-post-norm", openai_gpt, "learned", double=True, position_rows=64, vocab_size=70, d_model=36,
            n_layers=3, n_heads=3, d_ff=144, norm_place="post", output_norm=False),
        one("bigcode-multi-query", gpt_bigcode, "learned", position_rows=64, vocab_size=55, d_model=40, n_layers=2,
            n_heads=5, n_kv_heads=1, d_ff=70),
        one("gpt-neo-unscaled", gpt_neo, "learned", position_rows=64, vocab_size=66, d_model=40, n_layers=2, n_heads=4,
            d_ff=60, attention_scale=[1.0, 1.0], attn_bias=False),
        one("neox-half-turned", gpt_neox, "rope:theta=10000,pairing=half,rotary_dim=6", vocab_size=66, d_model=48,
            n_layers=2, n_heads=4, d_ff=60, activation="gelu_erf", tied_output=False),
        one("ctrl-sinusoidal-concat", ctrl, "sinusoidal:layout=concat", vocab_size=72, d_model=36, n_layers=4,
            n_heads=3, d_ff=50, norm_epsilon=1e-6, activation="relu", embedding_scale=6.0, sublayer_gain=4.0,
            output_bias=True),
        one("xglm-sinusoidal-t2t", xglm, "sinusoidal:layout=concat,spacing=t2t,first=2", vocab_size=72, d_model=36,
            n_layers=4, n_heads=3, d_ff=50, activation="gelu_erf", embedding_scale=6.0, sublayer_gain=4.0),
        one("opt-learned-offset", opt, "learned:offset=2", position_rows=66, vocab_size=72, d_model=36, n_layers=2,
            n_heads=3, d_ff=50, activation="relu"),
    ]


def main():
    parser = argparse.ArgumentParser(description="Writes tests/goldens/*.json with transformers.")
    parser.add_argument("--out", default=Path(__file__).resolve().parent.parent / "tests" / "goldens", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    hf.logging.set_verbosity_error()
    for file, make in {"gpt2": gpt2_goldens, "llama": llama_goldens, "gpt2_relatives": relative_goldens}.items():
        entries = make()
        head = {"script": "tools/make_goldens.py", "package": "transformers",
                "versions": {"transformers": hf.__version__, "torch": torch.__version__, "numpy": np.__version__}}
        # One model a line keeps diffs readable.
        lines = [json.dumps(head)[1:-1], '"models": [' + ",\n".join(json.dumps(entry) for entry in entries) + "]"]
        path = options.out / f"{file}.json"
        path.write_text("{" + ",\n".join(lines) + "}\n")
        print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
