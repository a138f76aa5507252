#!/usr/bin/env python3
# Writes tests/goldens/perplexity.json: losses of the shipped model on its story, counted by transformers' model and the
# conventions of others, each as its own documentation or code has it.
"""
    tools/make_perplexity_golden.py build/model/hf models/story.txt tests/goldens/perplexity.json

Needs tools/train-requirements.txt and `pip install --no-deps lm_eval==0.4.9 jinja2 pyyaml markupsafe`, whose function
cuts the windows of lm-evaluation-harness. Learned positions, matrices rounded to bf16, arithmetic in double.
"""
import importlib.util
import json
import math
import re
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

from train import load_tokenizer
from train_check import read_folder, their_model

TOKENS = 1300  # of the story; not a multiple of any window


def harness_windows():
    """lm_eval.utils without the package around it, which wants far more than this function."""
    found = importlib.util.find_spec("lm_eval")
    path = Path(found.submodule_search_locations[0], "utils.py")
    spec = importlib.util.spec_from_file_location("lm_eval_utils", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.get_rolling_token_windows


def main():
    folder, text_file, target = sys.argv[1:4]
    tensors, _ = read_folder(folder, "bf16")
    model = their_model(folder, tensors).double()
    tokenizer = load_tokenizer(folder)
    end = model.config.eos_token_id
    ctx = model.config.n_positions
    encoding = tokenizer.encode(Path(text_file).read_text(encoding="utf-8"), add_special_tokens=False)
    ids = encoding.ids[:TOKENS]
    text = tokenizer.decode(ids)
    assert tokenizer.encode(text, add_special_tokens=False).ids == ids

    def log_probs(inputs):
        with torch.no_grad():
            return model(torch.tensor([inputs])).logits[0].log_softmax(-1)

    def summed(inputs, targets):
        """Minus the log-probability of the last len(targets) tokens that follow inputs."""
        rows = log_probs(inputs)[-len(targets) :]
        return -rows.gather(1, torch.tensor(targets)[:, None]).sum().item()

    entries = {}

    def strided(stride):
        """The loop of Hugging Face's page on the perplexity of fixed-length models."""
        nll_sum, n_tokens, previous_end = 0.0, 0, 0
        for begin in range(0, len(ids), stride):
            last = min(begin + ctx, len(ids))
            fresh = last - previous_end
            window = torch.tensor([ids[begin:last]])
            labels = window.clone()
            labels[:, :-fresh] = -100
            with torch.no_grad():
                logits = model(window).logits
            loss = F.cross_entropy(logits[0, :-1], labels[0, 1:], ignore_index=-100).item()
            counted = (labels != -100).sum().item() - 1
            nll_sum += loss * counted
            n_tokens += counted
            previous_end = last
            if last == len(ids):
                break
        return nll_sum / n_tokens

    entries["hf"] = {"ctx": ctx, "stride": ctx // 2, "nll": strided(ctx // 2)}
    entries["hf whole"] = {"ctx": ctx, "stride": ctx, "nll": strided(ctx)}

    total = 0.0
    words, count = len(re.split(r"\s+", text.strip())), len(ids)
    for inputs, targets in harness_windows()(ids, end, ctx, 1):
        total += summed(inputs, targets)
    bytes_ = len(text.encode("utf-8"))
    entries["harness"] = {"ctx": ctx, "stride": ctx, "nll": total / count, "word_ppl": math.exp(total / words),
                          "bits_per_byte": total / math.log(2) / bytes_}

    total, scored = 0.0, 0
    for chunk in range(len(ids) // ctx):  # llama.cpp's perplexity: the tokens after ctx / 2 of each whole window
        window = ids[chunk * ctx : (chunk + 1) * ctx]
        first = ctx // 2
        total += summed(window[:-1], window[first + 1 :])
        scored += ctx - 1 - first
    entries["llama.cpp"] = {"ctx": ctx, "stride": ctx, "nll": total / scored, "tokens": scored}

    total = 0.0
    stream = [end, *ids]
    for begin in range(0, len(stream) - 1, ctx):
        inputs = stream[begin : begin + ctx][: len(stream) - 1 - begin]
        total += summed(inputs, stream[begin + 1 : begin + 1 + len(inputs)])
    entries["rolling"] = {"ctx": ctx, "stride": ctx, "nll": total / count, "tokens": count}

    total, done, begin, short = 0.0, 0, 0, 64  # a window of 64 that moves on by 32, no token before the text
    while done < len(ids) - 1:
        inputs = ids[begin : min(begin + short, len(ids) - 1)]
        fresh = begin + len(inputs) - done
        total += summed(inputs, ids[done + 1 : done + 1 + fresh])
        done += fresh
        begin += 32
    entries["gpt2"] = {"ctx": short, "stride": 32, "nll": total / (len(ids) - 1), "tokens": len(ids) - 1}

    golden = {"script": "tools/make_perplexity_golden.py", "position": "learned", "text": text, "entries": entries}
    Path(target).write_text(json.dumps(golden, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for name, entry in entries.items():
        print(name, entry)


if __name__ == "__main__":
    main()
