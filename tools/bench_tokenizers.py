#!/usr/bin/env python3
# Compares the speed of Ordinal's GPT-2 tokenizer with the packages tiktoken and tokenizers, on one thread, over a corpus.
# Run: make, pip install tiktoken tokenizers, then
#   tools/bench_tokenizers.py VOCABULARY CORPUS [--passes 5] [--split gpt2|llama3] [--program build/release/bench_tokenizer]
# VOCABULARY is a folder with encoder.json, vocab.bpe and tokenizer.json; CORPUS a text whose documents end in a line
# <|endoftext|>. The three take turns in one run, each warmed by a pass that is not counted; the figures are medians of
# processor time, which other programs on the machine disturb less than the clock on the wall.
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import tiktoken  # noqa: E402
import tokenizers  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The pattern that tiktoken itself gives r50k_base: it cuts as GPT-2's does, faster.
R50K_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"

LLAMA3_PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
                  r"\s+(?!\S)|\s+")
PATTERNS = {"gpt2": R50K_PATTERN, "llama3": LLAMA3_PATTERN}


def build(program):
    command = ["g++", "-std=c++20", "-O2", f"-I{ROOT}/include", f"-I{ROOT}/tests", f"{ROOT}/tools/bench_tokenizer.cpp",
               f"{program.parent}/libordinal.a", "-fopenmp", "-lpcre2-8", "-lutf8proc", "-o", str(program)]
    subprocess.run(command, check=True)


def ordinal_pass(program, folder, corpus, split):
    server = subprocess.Popen([program, folder, corpus, split], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run():
        server.stdin.write("\n")
        server.stdin.flush()
        processor, wall, tokens = server.stdout.readline().split()
        return float(processor), float(wall), int(tokens)

    return run


def timed(encode):
    def run():
        processor, wall = time.process_time(), time.perf_counter()
        tokens = encode()
        return time.process_time() - processor, time.perf_counter() - wall, tokens

    return run


def tiktoken_pass(folder, documents, pattern):
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in printable]
    byte_of = {chr(b): b for b in printable} | {chr(256 + i): b for i, b in enumerate(others)}
    pieces = json.loads((folder / "encoder.json").read_text())
    ranks = {bytes(byte_of[c] for c in piece): i for piece, i in pieces.items() if piece != "<|endoftext|>"}
    encoding = tiktoken.Encoding("r50k", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return timed(lambda: sum(len(encoding.encode_ordinary(d)) for d in documents))


def tokenizers_pass(folder, documents, split):
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    if split != "gpt2":
        cut = tokenizers.pre_tokenizers
        tokenizer.pre_tokenizer = cut.Sequence([cut.Split(tokenizers.Regex(PATTERNS[split]), "isolated"),
                                                cut.ByteLevel(add_prefix_space=False, use_regex=False)])

    def encode():
        tokens = 0
        for first in range(0, len(documents), 50):  # in parts: the results of a whole corpus take gigabytes
            batch = tokenizer.encode_batch_fast(documents[first:first + 50], add_special_tokens=False)
            tokens += sum(len(e.ids) for e in batch)
        return tokens

    return timed(encode)


def main():
    parser = argparse.ArgumentParser(description="Ordinal's tokenizer against tiktoken and tokenizers, on one thread.")
    parser.add_argument("vocabulary", type=pathlib.Path)
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--split", choices=PATTERNS, default="gpt2", help="the rule that cuts text [default: gpt2]")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build" / "release" / "bench_tokenizer")
    arguments = parser.parse_args()
    if not arguments.program.exists():
        build(arguments.program)
    text = arguments.corpus.read_text(encoding="utf-8")
    size = len(text.encode())
    documents = [d for d in text.split("<|endoftext|>\n") if d]
    passes = {
        "ordinal": ordinal_pass(arguments.program, arguments.vocabulary, arguments.corpus, arguments.split),
        "tiktoken " + tiktoken.__version__: tiktoken_pass(arguments.vocabulary, documents, PATTERNS[arguments.split]),
        "tokenizers " + tokenizers.__version__: tokenizers_pass(arguments.vocabulary, documents, arguments.split),
    }
    counts = {name: run()[2] for name, run in passes.items()}
    if len(set(counts.values())) != 1:
        sys.exit(f"the tokenizers disagree: {counts}")
    print(f"{size / 1e6:.1f} MB in {len(documents)} documents, {counts['ordinal']} tokens; medians of {arguments.passes}")
    processor, wall = {name: [] for name in passes}, {name: [] for name in passes}
    for _ in range(arguments.passes):
        for name, run in passes.items():
            cpu_s, wall_s, _ = run()
            processor[name].append(cpu_s)
            wall[name].append(wall_s)
    ours = statistics.median(processor["ordinal"])
    for name in passes:
        cpu_s, wall_s = statistics.median(processor[name]), statistics.median(wall[name])
        print(f"{name:20} {cpu_s:7.3f} s processor, {wall_s:7.3f} s wall, {size / cpu_s / 1e6:6.1f} MB/s, "
              f"{cpu_s / ours:5.1f} times ordinal's time (of single passes {min(processor[name]) / ours:.1f} at least)")


main()
