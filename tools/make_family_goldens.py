#!/usr/bin/env python3
# Makes tests/goldens/families/: a tiny Hugging Face folder for every fact that families add, and transformers' logits.
"""
    tools/make_family_goldens.py [NAME...]

Random weights of a fixed seed, rounded to float16 and saved so; golden.json has the logits of all positions that
transformers computes from them in float64 (its norms and angles stay float32, which costs some 1e-6), and the ids that
greedy decoding adds. Needs torch and transformers.
"""
import json
import shutil
import sys
import zlib
from pathlib import Path

import torch
import transformers

OUT = Path(__file__).resolve().parent.parent / "tests" / "goldens" / "families"
VOCAB, LENGTH, TOKENS, GREEDY = 32, 64, 20, 6

LLAMA = dict(hidden_size=16, intermediate_size=20, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=LENGTH)
GPT = dict(n_embd=16, n_layer=2, n_head=4, n_positions=LENGTH)
NEO = dict(hidden_size=16, intermediate_size=20, num_hidden_layers=2, num_attention_heads=4,
           max_position_embeddings=LENGTH)

# The folder's name, the class of config, and what it is made with: between them, every fact and every layout.
MODELS = [
    ("gemma2", "Gemma2Config", dict(LLAMA, head_dim=6, sliding_window=5, query_pre_attn_scalar=9)),
    ("gemma3", "Gemma3TextConfig", dict(LLAMA, num_hidden_layers=3, head_dim=6, sliding_window=5,
                                        layer_types=["sliding_attention", "sliding_attention", "full_attention"])),
    ("olmo2", "Olmo2Config", LLAMA),
    ("olmo", "OlmoConfig", dict(LLAMA, clip_qkv=0.8)),
    ("granite", "GraniteConfig", dict(LLAMA, embedding_multiplier=3.0, residual_multiplier=0.4, logits_scaling=0.5,
                                      attention_multiplier=0.3)),
    ("cohere2", "Cohere2Config", dict(LLAMA, num_hidden_layers=2, sliding_window=5, logit_scale=0.25,
                                      layer_types=["sliding_attention", "full_attention"])),
    ("qwen3", "Qwen3Config", dict(LLAMA, head_dim=6, tie_word_embeddings=True)),
    ("phi3", "Phi3Config", dict(LLAMA, sliding_window=7, pad_token_id=0)),
    ("stablelm", "StableLmConfig", dict(LLAMA, qk_layernorm=True, use_parallel_residual=True, rope_parameters={
        "rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5})),
    ("llama3", "LlamaConfig", dict(LLAMA, rope_parameters={
        "rope_type": "llama3", "rope_theta": 500.0, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16})),
    ("codegen", "CodeGenConfig", dict(GPT, rotary_dim=2)),
    ("neox", "GPTNeoXConfig", dict(NEO, hidden_size=32)),
    ("falcon-new", "FalconConfig", dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_kv_heads=2,
                                        new_decoder_architecture=True, ffn_hidden_size=20)),
    ("falcon-alibi", "FalconConfig", dict(hidden_size=12, num_hidden_layers=2, num_attention_heads=6, alibi=True,
                                          multi_query=False, parallel_attn=False, bias=True, ffn_hidden_size=20)),
    ("bloom", "BloomConfig", dict(hidden_size=12, n_layer=2, n_head=3)),
    ("opt-350m", "OPTConfig", dict(hidden_size=16, ffn_dim=20, num_hidden_layers=2, num_attention_heads=4,
                                   word_embed_proj_dim=10, do_layer_norm_before=False, max_position_embeddings=LENGTH)),
    ("xglm", "XGLMConfig", dict(d_model=16, ffn_dim=20, num_layers=2, attention_heads=4, max_position_embeddings=LENGTH)),
    ("bigcode", "GPTBigCodeConfig", dict(GPT, n_inner=20)),
    ("gpt1", "OpenAIGPTConfig", GPT),
    ("gpt-neo", "GPTNeoConfig", dict(hidden_size=16, num_layers=2, num_heads=4, intermediate_size=20, window_size=5,
                                     max_position_embeddings=LENGTH, attention_types=[[["global", "local"], 1]])),
]


def randomise(model):
    """Weights that make every part count, so that no logit is the same without one of them."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            is_norm = weight.dim() == 1 and name.endswith("weight") or "norms." in name
            spread = 0.3 if weight.dim() == 1 else 1.2 / weight.shape[-1] ** 0.5
            centre = 1.0 if is_norm and "Gemma" not in type(model).__name__ else 0.0
            weight.copy_((centre + spread * torch.randn(weight.shape)).half().float())


def make(name, config_class, settings):
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(zlib.crc32(name.encode()))
    config = getattr(transformers, config_class)(vocab_size=VOCAB, bos_token_id=1, eos_token_id=2, **settings)
    # Falcon's eager attention adds ALiBi twice (transformers 5.24); the other gives what the released models compute.
    attention = "sdpa" if settings.get("alibi") else "eager"
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=attention).float().eval()
    randomise(model)
    model.half().save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    # XGLM fills its mask with a number of float32's range, whatever the kind: it stays there.
    kind = torch.float32 if config.model_type == "xglm" else torch.float64
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=kind, attn_implementation=attention).eval()
    generator = torch.Generator().manual_seed(5)
    ids = torch.randint(0, VOCAB, (TOKENS,), generator=generator).tolist()
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0]
        text = list(ids)
        for _ in range(GREEDY):
            text.append(int(model(torch.tensor([text])).logits[0, -1].argmax()))
    golden = {"ids": ids, "logits": [[float(f"{x:.7g}") for x in row] for row in logits.tolist()],
              "greedy_ids": text[TOKENS:]}
    (folder / "golden.json").write_text(json.dumps(golden) + "\n")
    print(f"{name}: {sum(p.numel() for p in model.parameters())} parameters, logits spread {logits.std():.2f}")


for row in MODELS:
    if len(sys.argv) < 2 or row[0] in sys.argv[1:]:
        make(*row)
