#!/usr/bin/env python3
# quality.py: what each kind of weights costs in predictions of texts, with the usual q4_0 rounding (ggml's) beside ours.
#
#   tools/quality.py build/release/ordinal models/tales.ordinal models/story.txt
#
# Two tables a text: what `ordinal convert -f` says of each kind; and the perplexity of the block kinds, q4_0 by either
# rounding, with weights widened to f32 again (so that only their rounding counts) and as the engine runs them, activations
# rounded to 8 bits too.
# Needs numpy. A checkpoint whose tokenizer lies elsewhere takes --vocab, as `ordinal convert` does.
import argparse
import json
import math
import subprocess
import tempfile

import numpy as np

from model_file import LANES, ModelFile, panels_f32

BLOCK = 32


def ggml_q4_0(rows):
    """Scales and multiples + 8 of [N, K], K filled up to blocks: the number of largest magnitude goes to -8 steps, the
    others to the nearest step up to 7 (Kawrakow's and Gerganov's quantize_row_q4_0_ref)."""
    x = np.pad(rows, ((0, 0), (0, -rows.shape[1] % BLOCK))).reshape(rows.shape[0], -1, BLOCK).astype(np.float32)
    extreme = np.take_along_axis(x, np.abs(x).argmax(2, keepdims=True), 2)
    scale = extreme / np.float32(-8)
    inverse = np.divide(1, scale, out=np.zeros_like(scale), where=scale != 0, dtype=np.float32)
    return scale[..., 0].astype(np.float16), np.minimum(15, (x * inverse + np.float32(8.5)).astype(np.int8))


def widened(scale, stored, k):
    values = scale.astype(np.float32)[..., None] * (stored.astype(np.float32) - 8)
    return values.reshape(len(scale), -1)[:, :k]


def panels_q4_0(scale, stored):
    """[N, B] and [N, B, 32] as panels of blocks; src/format/README.md describes them."""
    lanes = -len(scale) % LANES
    scale = np.pad(scale, ((0, lanes), (0, 0))).reshape(-1, LANES, scale.shape[1]).transpose(0, 2, 1)
    stored = np.pad(stored, ((0, lanes), (0, 0), (0, 0)), constant_values=8).astype(np.uint8)
    halves = stored[..., :16] | stored[..., 16:] << 4
    halves = halves.reshape(-1, LANES, *halves.shape[1:]).reshape(-1, LANES, halves.shape[1], 4, 4)
    halves = halves.transpose(0, 2, 3, 1, 4)  # [panel, block, group, lane, k]
    parts = [scale.astype("<f2").copy().view(np.uint8), halves.reshape(*halves.shape[:2], -1)]
    return np.concatenate(parts, axis=2).tobytes()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ordinal")
    parser.add_argument("source")
    parser.add_argument("texts", nargs="+")
    parser.add_argument("--vocab")
    parser.add_argument("--threads", default="1")
    options = parser.parse_args()

    def run(*arguments):
        done = subprocess.run([options.ordinal, *arguments, "-q"], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        return json.loads(done.stdout)

    with tempfile.TemporaryDirectory() as folder:
        vocab = ["--vocab", options.vocab] if options.vocab else []

        def convert(source, name, *more):
            path = f"{folder}/{name}"
            return path, run("convert", source, path, "--force", "--json", "-t", options.threads, *more)

        plain, _ = convert(options.source, "f32", "--dtype", "f32", *vocab)
        four, _ = convert(plain, "q4_0", "--dtype", "q4_0")
        ours_wide, _ = convert(four, "ours_wide", "--dtype", "f32")
        eight, _ = convert(plain, "q8_0", "--dtype", "q8_0")
        eight_wide, _ = convert(eight, "eight_wide", "--dtype", "f32")
        model, blocks, ours = ModelFile(plain), ModelFile(four), ModelFile(ours_wide)
        squares = np.zeros(3)
        for name, tensor in blocks.tensors.items():
            if tensor["dtype"] != "q4_0":
                continue
            rows = model.rows(model.tensors[name])
            scale, stored = ggml_q4_0(rows)
            theirs = widened(scale, stored, rows.shape[1])
            squares += [(rows**2).sum(), ((ours.rows(ours.tensors[name]) - rows) ** 2).sum(), ((theirs - rows) ** 2).sum()]
            blocks.write(tensor, panels_q4_0(scale, stored))
            model.write(model.tensors[name], panels_f32(theirs))
        model.save(f"{folder}/ggml_wide")
        blocks.save(f"{folder}/ggml")
        error = np.sqrt(squares[1:] / squares[0])
        print(f"{options.source}: relative error of weights in q4_0: {error[0]:.4f}, ggml's way {error[1]:.4f}")

        for text in options.texts:
            print(f"\n{options.source} on {text}")
            print("| kind | bytes | nats/token | change | perplexity | KL, nats | same best |\n|---|---|---|---|---|---|---|")
            for kind in ("f32", "bf16", "f16", "q8_0", "q4_0"):
                _, result = convert(options.source, "kind", "--dtype", kind, "-f", text, *vocab)
                f = result["fidelity"]
                print(f"| {kind} | {result['bytes']:,} | {f['written_nll']:.5f} | {f['change_nll']:+.5f} +- "
                      f"{f['change_stderr']:.5f} | {f['change_ppl_percent']:+.3f} % | {f['kl']:.2e} | "
                      f"{f['agreement_percent']:.2f} % of {f['tokens']:,} |")
            scoring = ["-f", text, "--json", "-t", options.threads, "--bos", "yes" if f["start_token"] else "no"]
            base = run("perplexity", "-m", plain, *scoring)["nll"]
            print("\n| weights rounded to | run as | nats/token | perplexity |\n|---|---|---|---|")
            for what, path, way in (("q8_0", eight_wide, "f32"), ("q8_0", eight, "q8_0"),
                                    ("q4_0", ours_wide, "f32"), ("q4_0", four, "q4_0"),
                                    ("q4_0, ggml's way", f"{folder}/ggml_wide", "f32"),
                                    ("q4_0, ggml's way", f"{folder}/ggml", "q4_0")):
                nll = run("perplexity", "-m", path, *scoring)["nll"]
                print(f"| {what} | {way} | {nll:.5f} | {100 * math.expm1(nll - base):+.3f} % |")


if __name__ == "__main__":
    main()
