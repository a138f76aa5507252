#!/usr/bin/env python3
# Makes tests/goldens/convert/: small Hugging Face GPT-2 folders, and what transformers and tokenizers make of them.
"""
    tools/make_convert_goldens.py

Every folder is written by save_pretrained from random weights of a fixed seed; 16-bit ones hold rounded weights.
expected.json has the logits that transformers computes from the saved folder, in float32, for one list of ids.
tokenizer/ is a byte-level BPE tokenizer that the tokenizers package learnt from a few sentences, as tokenizer.json and
as vocab.json and merges.txt, with the ids that the package gives to some texts. Needs torch, transformers, tokenizers.
"""
import json
import shutil
from pathlib import Path

import tokenizers
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import GPT2Config, GPT2LMHeadModel

OUT = Path(__file__).resolve().parent.parent / "tests" / "goldens" / "convert"
IDS = [3, 17, 8, 29, 5, 0, 39, 11, 22, 30]

# A folder's name, what differs from the common config, the kind of number, and the size at which shards are cut.
FOLDERS = [
    ("tied-f32", {}, torch.float32, None),
    ("sharded-bf16", {}, torch.bfloat16, "6KB"),
    ("untied-f16", {"tie_word_embeddings": False, "activation_function": "gelu"}, torch.float16, None),
    (
        "odd-f32",
        {
            "n_inner": 13,
            "activation_function": "relu",
            "scale_attn_by_inverse_layer_idx": True,
            "layer_norm_epsilon": 1e-3,
            "n_head": 1,
            "reorder_and_upcast_attn": True,
        },
        torch.float32,
        None,
    ),
    ("unscaled-f32", {"scale_attn_weights": False, "activation_function": "gelu_fast", "n_layer": 1}, torch.float32, None),
]

SENTENCES = [
    "The cat sat on the mat, and the dog sat on the cat.",
    "the theatre there was bathed in light; they then thought: that is the thing!",
    "Numbers: 1 22 333 4444 and 3.14159. It's what we'll have, isn't it? I'd say so.",
    "caf\u00e9 na\u00efve \u00fcber stra\u00dfe \u65e5\u672c\u8a9e \u0440\u0443\u0441\u0441\u043a\u0438\u0439 \U0001f600",
    "    four spaces\n\n\ttab and  two  spaces \n",
]
TEXTS = SENTENCES + ["", " ", "\n", "<|endoftext|>", "the<|endoftext|>cat", "zzz\u0000\x7f", "\u200dthe\u00a0cat"]


def randomise(model):
    """Weights that make every part count; default ones would leave biases at 0 and norms at 1."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            centre = 1.0 if ".ln_" in name and name.endswith("weight") else 0.0
            p.copy_(centre + 0.3 * torch.randn(p.shape))


def make_folder(name, changes, dtype, shard_size, expected):
    config = GPT2Config(
        **{
            **dict(vocab_size=40, n_positions=12, n_embd=12, n_head=3, n_layer=2, bos_token_id=39, eos_token_id=39),
            **changes,
        }
    )
    model = GPT2LMHeadModel(config)
    randomise(model)
    model.to(dtype)
    folder = OUT / name
    model.save_pretrained(folder, **({"max_shard_size": shard_size} if shard_size else {}))
    (folder / "generation_config.json").unlink(missing_ok=True)
    for file in folder.iterdir():
        file.chmod(0o644)
    again = GPT2LMHeadModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.no_grad():
        logits = again(torch.tensor([IDS])).logits[0, -1]
    expected["folders"][name] = [round(x, 6) for x in logits.tolist()]


def make_tokenizer(expected):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        SENTENCES * 3,
        trainers.BpeTrainer(vocab_size=330, initial_alphabet=alphabet, special_tokens=["<|endoftext|>", "<pad>"], show_progress=False),
    )
    folder = OUT / "tokenizer"
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    tokenizer.model.save(str(folder))
    plain = Tokenizer.from_file(str(folder / "tokenizer.json"))
    plain.encode_special_tokens = True  # a special token's name in a text is text
    expected["texts"] = [
        {
            "text": text,
            "ids": plain.encode(text, add_special_tokens=False).ids,
            "ids_with_special": tokenizer.encode(text, add_special_tokens=False).ids,
        }
        for text in TEXTS
    ]


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    torch.manual_seed(20241129)
    expected = {
        "made_by": "tools/make_convert_goldens.py",
        "versions": {p.__name__: p.__version__ for p in (torch, transformers, tokenizers)},
        "ids": IDS,
        "folders": {},
    }
    for folder in FOLDERS:
        make_folder(*folder, expected)
    make_tokenizer(expected)
    (OUT / "expected.json").write_text(json.dumps(expected, indent=0) + "\n")


if __name__ == "__main__":
    main()
