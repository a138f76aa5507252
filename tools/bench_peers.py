#!/usr/bin/env python3
# Times the same GPT-2-small work in ordinal and in the engines that pip can install, in one interleaved run.
"""
    tools/bench_peers.py build/release/ordinal [--kinds f32,q8_0] [--threads 2,1] [--rounds 5] [--json FILE]

One set of random weights of GPT-2 small's shape is written for every engine in its own format, kind by kind: a model
file, GGUF, a Hugging Face folder, a CTranslate2 folder, an ONNX graph (built here: one graph with keys and values as
inputs). Each engine is a process of its own that holds its model and waits; the round goes from one to the next, so
that what else the machine does meets all of them alike. A prefill is 512 tokens with the logits of the last one, a
decode 32 tokens, one at a time, from an empty cache. The times are medians over the rounds; the ratios are medians of
the ratios within a round. That all do the same work is checked first: the logits after 64 tokens.

"int8" is what an engine has near q8_0: CTranslate2's int8, onnxruntime's dynamic quantization of its MatMuls.
`make bench-peers` installs the packages in build/venv, llama-cpp-python built from source for this processor, and
runs this.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

LAYERS, WIDTH, HEADS, VOCAB, CONTEXT = 12, 768, 12, 50257, 1024
PROMPT, STEPS, CHECK = 512, 32, 64
PEERS = {"f32": ["llama.cpp", "transformers", "ctranslate2", "onnxruntime"], "f16": ["llama.cpp"],
         "bf16": ["llama.cpp", "transformers"], "q8_0": ["llama.cpp", "ctranslate2", "onnxruntime"],
         "q4_0": ["llama.cpp"]}


def ids_of(count):
    return [(i * 7919 + 13) % VOCAB for i in range(count)]


# ---- the weights, once for every engine ------------------------------------------------------------------------------


def random_weights():
    """GPT-2's tensors by their Hugging Face names; matrices [in, out]."""
    random = np.random.default_rng(20)
    normal = lambda *shape: random.standard_normal(shape, dtype=np.float32)
    weights = {"wte.weight": 0.05 * normal(VOCAB, WIDTH), "wpe.weight": 0.02 * normal(CONTEXT, WIDTH)}
    for layer in range(LAYERS):
        for name, rows, cols in [("attn.c_attn", WIDTH, 3 * WIDTH), ("attn.c_proj", WIDTH, WIDTH),
                                 ("mlp.c_fc", WIDTH, 4 * WIDTH), ("mlp.c_proj", 4 * WIDTH, WIDTH)]:
            weights[f"h.{layer}.{name}.weight"] = 0.04 * normal(rows, cols)
            weights[f"h.{layer}.{name}.bias"] = 0.02 * normal(cols)
        for name in ("ln_1", "ln_2"):
            weights[f"h.{layer}.{name}.weight"] = 1 + 0.1 * normal(WIDTH)
            weights[f"h.{layer}.{name}.bias"] = 0.02 * normal(WIDTH)
    weights["ln_f.weight"], weights["ln_f.bias"] = 1 + 0.1 * normal(WIDTH), 0.02 * normal(WIDTH)
    return weights


def write_folder(folder, weights):
    """A Hugging Face folder; CTranslate2's converter wants a tokenizer too, which lies beside it."""
    from safetensors.numpy import save_file
    folder.mkdir(parents=True, exist_ok=True)
    save_file({f"transformer.{name}": values for name, values in weights.items()}, folder / "model.safetensors",
              metadata={"format": "pt"})
    config = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": VOCAB, "n_positions": CONTEXT,
              "n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "layer_norm_epsilon": 1e-5,
              "activation_function": "gelu_new", "bos_token_id": VOCAB - 1, "eos_token_id": VOCAB - 1,
              "tie_word_embeddings": True}
    (folder / "config.json").write_text(json.dumps(config))
    named = folder.parent / "named"
    named.mkdir(exist_ok=True)
    for file in ("model.safetensors", "config.json"):
        (named / file).unlink(missing_ok=True)
        (named / file).symlink_to(folder / file)
    tokens = {f"t{i}": i for i in range(VOCAB - 1)} | {"<|endoftext|>": VOCAB - 1}
    (named / "vocab.json").write_text(json.dumps(tokens))
    (named / "merges.txt").write_text("#version: 0.2\n")
    (named / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "GPT2Tokenizer", "unk_token": "<|endoftext|>", "bos_token": "<|endoftext|>",
         "eos_token": "<|endoftext|>"}))


def write_gguf(path, weights, kind):
    import gguf
    kinds = gguf.GGMLQuantizationType
    stored = {"f32": kinds.F32, "f16": kinds.F16, "bf16": kinds.BF16, "q8_0": kinds.Q8_0, "q4_0": kinds.Q4_0}[kind]
    writer = gguf.GGUFWriter(path, "gpt2")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(4 * WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_eps(1e-5)
    writer.add_vocab_size(VOCAB)
    writer.add_tokenizer_model("no_vocab")
    names = {"attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
             "ln_1": "attn_norm", "ln_2": "ffn_norm"}
    top = {"wte.weight": "token_embd.weight", "wpe.weight": "position_embd.weight", "ln_f.weight": "output_norm.weight",
           "ln_f.bias": "output_norm.bias"}
    for name, values in weights.items():
        if name in top:
            target = top[name]
        else:
            _, layer, rest = name.split(".", 2)
            part, _, suffix = rest.rpartition(".")
            target = f"blk.{layer}.{names[part]}.{suffix}"
            if values.ndim == 2:
                values = np.ascontiguousarray(values.T)
        if values.ndim == 2 and name != "wpe.weight" and stored != kinds.F32:
            writer.add_tensor(target, gguf.quants.quantize(values, stored), raw_dtype=stored)
        else:
            writer.add_tensor(target, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_onnx(path, weights, quantized):
    """GPT-2 with a cache: ids [S], positions [S], mask [S, P+S], keys and values [H, P, d] a layer -> logits [V] of the
    last token and the longer keys and values."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    nodes, constants, inputs, outputs = [], [], [], []
    d = WIDTH // HEADS

    def constant(name, values):
        constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(kind, *sources, out=None, **facts):
        out = out or f"n{len(nodes)}"
        nodes.append(helper.make_node(kind, list(sources), [out], **facts))
        return out

    def given(name, kind, shape):
        inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def linear(x, name):
        return node("Add", node("MatMul", x, constant(f"{name}.weight", weights[f"{name}.weight"])),
                    constant(f"{name}.bias", weights[f"{name}.bias"]))

    def norm(x, name):
        return node("LayerNormalization", x, constant(f"{name}.weight", weights[f"{name}.weight"]),
                    constant(f"{name}.bias", weights[f"{name}.bias"]), epsilon=1e-5)

    ids, positions = given("ids", TensorProto.INT64, ["S"]), given("positions", TensorProto.INT64, ["S"])
    mask = given("mask", TensorProto.FLOAT, ["S", "T"])
    split, back = constant("split", np.array([-1, HEADS, d])), constant("back", np.array([-1, WIDTH]))
    scale = constant("scale", np.array(d**-0.5, np.float32))
    x = node("Add", node("Gather", constant("wte", weights["wte.weight"]), ids),
             node("Gather", constant("wpe", weights["wpe.weight"]), positions))
    for layer in range(LAYERS):
        name = f"h.{layer}"
        qkv = linear(norm(x, f"{name}.ln_1"), f"{name}.attn.c_attn")
        parts = [f"{name}.{part}" for part in ("q", "k", "v")]
        nodes.append(helper.make_node("Split", [qkv], parts, axis=1, num_outputs=3))
        q, k, v = (node("Transpose", node("Reshape", part, split), perm=[1, 0, 2]) for part in parts)
        past = [given(f"past.{part}.{layer}", TensorProto.FLOAT, [HEADS, "P", d]) for part in ("k", "v")]
        k, v = (node("Concat", old, new, axis=1, out=f"present.{part}.{layer}")
                for old, new, part in zip(past, (k, v), ("k", "v")))
        outputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, [HEADS, "T", d]) for name in (k, v)]
        scores = node("Mul", node("MatMul", q, node("Transpose", k, perm=[0, 2, 1])), scale)
        mixed = node("MatMul", node("Softmax", node("Add", scores, mask), axis=-1), v)
        mixed = node("Reshape", node("Transpose", mixed, perm=[1, 0, 2]), back)
        x = node("Add", x, linear(mixed, f"{name}.attn.c_proj"))
        inner = node("Gelu", linear(norm(x, f"{name}.ln_2"), f"{name}.mlp.c_fc"), approximate="tanh")
        x = node("Add", x, linear(inner, f"{name}.mlp.c_proj"))
    last = node("Slice", x, constant("-1", np.array([-1])), constant("end", np.array([2**31])),
                constant("axis", np.array([0])))
    node("MatMul", norm(last, "ln_f"), constant("head", weights["wte.weight"].T), out="logits")
    outputs.insert(0, helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, VOCAB]))
    model = helper.make_model(helper.make_graph(nodes, "gpt2", inputs, outputs, constants),
                              opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    if not quantized:
        return onnx.save(model, path)
    from onnxruntime.quantization import QuantType, quantize_dynamic
    whole = str(path) + ".f32"
    onnx.save(model, whole)
    quantize_dynamic(whole, path, weight_type=QuantType.QInt8, per_channel=True, op_types_to_quantize=["MatMul"])
    os.unlink(whole)


# ---- engines: each class holds one model; tokens go in, the logits of the last come out ------------------------------


class Ordinal:
    def __init__(self, path, threads, program):
        self.path, self.threads, self.program = path, threads, program

    def logits(self, ids):
        subprocess.run([self.program, "logits", "-m", self.path, "--ids", ",".join(map(str, ids)), "-q", "-o",
                        f"{self.path}.npy"], check=True)
        return np.load(f"{self.path}.npy")

    def times(self):
        text = subprocess.run([self.program, "bench", "-m", self.path, "-t", str(self.threads), "-p", str(PROMPT), "-n",
                               str(STEPS), "--repeats", "1", "--json", "-q"], check=True, capture_output=True).stdout
        row = json.loads(text)[0]
        return PROMPT / row["prefill_tokens_per_s"], 1 / row["decode_tokens_per_s"], row


class Stepping:
    """Engines that take tokens and keep a cache: reset(), then feed(ids) -> logits of the last."""

    def logits(self, ids):
        self.reset()
        return np.array(self.feed(ids), dtype=np.float32).reshape(-1)[:VOCAB]

    def times(self):
        self.reset()
        start = time.perf_counter()
        self.feed(ids_of(PROMPT))
        prefill = time.perf_counter() - start
        self.reset()
        start = time.perf_counter()
        for i in ids_of(STEPS):
            self.feed([i])
        return prefill, (time.perf_counter() - start) / STEPS, None


class LlamaCpp(Stepping):
    def __init__(self, path, threads):
        import ctypes
        import llama_cpp
        self.lib = llama_cpp
        self.quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)
        llama_cpp.llama_log_set(self.quiet, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        self.started = time.perf_counter()
        self.model = llama_cpp.llama_model_load_from_file(str(path).encode(), llama_cpp.llama_model_default_params())
        settings = llama_cpp.llama_context_default_params()
        settings.n_ctx, settings.n_batch, settings.n_ubatch = CONTEXT, PROMPT, PROMPT
        settings.n_threads = settings.n_threads_batch = threads
        self.context = llama_cpp.llama_init_from_model(self.model, settings)

    def reset(self):
        self.lib.llama_memory_clear(self.lib.llama_get_memory(self.context), True)

    def feed(self, ids):
        tokens = (self.lib.llama_token * len(ids))(*ids)
        if self.lib.llama_decode(self.context, self.lib.llama_batch_get_one(tokens, len(ids))) != 0:
            raise RuntimeError("llama_decode failed")
        logits = self.lib.llama_get_logits_ith(self.context, -1)
        return np.ctypeslib.as_array(logits, shape=(VOCAB,))


class Transformers(Stepping):
    def __init__(self, path, threads, kind):
        import torch
        from transformers import GPT2LMHeadModel
        torch.set_num_threads(threads)
        self.torch = torch
        self.model = GPT2LMHeadModel.from_pretrained(path, dtype=torch.bfloat16 if kind == "bf16" else torch.float32)
        self.model.eval()

    def reset(self):
        self.past = None

    def feed(self, ids):
        with self.torch.inference_mode():
            out = self.model(self.torch.tensor([ids]), past_key_values=self.past, use_cache=True, logits_to_keep=1)
        self.past = out.past_key_values
        return out.logits[0, -1].float().numpy()


class CTranslate2:
    def __init__(self, path, threads, kind):
        import ctranslate2
        self.generator = ctranslate2.Generator(str(path), compute_type="int8" if kind == "q8_0" else "float32",
                                               inter_threads=1, intra_threads=threads)

    def logits(self, ids):
        out = self.generator.forward_batch([ids])
        return np.array(out)[0, -1]

    def times(self):
        name = lambda ids: [[f"t{i}" for i in ids]]
        settings = dict(sampling_topk=1, include_prompt_in_result=False, end_token=[], cache_static_prompt=False)

        def run(prompt, steps):
            start = time.perf_counter()
            self.generator.generate_batch(name(ids_of(prompt)), max_length=steps, min_length=steps, **settings)
            return time.perf_counter() - start

        prefill, first = run(PROMPT, 1), run(1, 1)
        return prefill, (run(1, STEPS + 1) - first) / STEPS, None


class OnnxRuntime(Stepping):
    def __init__(self, path, threads):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.names = [f"{part}.{layer}" for layer in range(LAYERS) for part in ("k", "v")]

    def reset(self):
        self.past = {f"past.{name}": np.zeros((HEADS, 0, WIDTH // HEADS), np.float32) for name in self.names}

    def feed(self, ids):
        old = next(iter(self.past.values())).shape[1]
        rows = old + np.arange(len(ids))
        mask = np.where(np.arange(old + len(ids)) <= rows[:, None], 0, -np.inf).astype(np.float32)
        out = self.session.run(["logits"] + [f"present.{name}" for name in self.names],
                               {"ids": np.array(ids), "positions": rows, "mask": mask, **self.past})
        self.past = {f"past.{name}": values for name, values in zip(self.names, out[1:])}
        return out[0][0]


# ---- processes -------------------------------------------------------------------------------------------------------


def make_engine(name, folder, kind, threads, program):
    if name == "ordinal":
        return Ordinal(folder / f"{kind}.ordinal", threads, program)
    if name == "llama.cpp":
        return LlamaCpp(folder / f"{kind}.gguf", threads)
    if name == "transformers":
        return Transformers(folder / "hf", threads, kind)
    if name == "ctranslate2":
        return CTranslate2(folder / "ct2", threads, kind)
    return OnnxRuntime(folder / f"{kind}.onnx", threads)


def work(arguments):
    """The worker process: one engine, a line in for every measurement, a line of JSON out."""
    engine = make_engine(arguments.worker, arguments.folder, arguments.kinds, int(arguments.threads), arguments.program)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print goes to standard error
    for line in sys.stdin:
        if line.strip() == "logits":
            answer = [float(x) for x in engine.logits(ids_of(CHECK))]
        else:
            answer = engine.times()
        print(json.dumps(answer), file=answers, flush=True)


def memory_of(process="self"):
    """Bytes resident now, and at most so far."""
    facts = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines() if ":" in line)
    return tuple(int(facts[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))


def start_once(arguments):
    """llama.cpp from opening the file to the first logits of 16 tokens; then the memory that a prompt of 512 took."""
    import llama_cpp  # noqa: F401  the time that Python takes to import it does not count, nor its memory
    before, _ = memory_of()
    engine = LlamaCpp(arguments.folder / f"{arguments.kinds}.gguf", int(arguments.threads))
    engine.feed(ids_of(16))
    seconds = time.perf_counter() - engine.started
    engine.reset()
    engine.feed(ids_of(PROMPT))
    print(seconds, memory_of()[1] - before)


class Worker:
    def __init__(self, name, arguments, kind, threads):
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, __file__, arguments.program, "--worker", name, "--kinds", kind, "--threads", str(threads),
             "--folder", str(arguments.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | {"OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1"},
            stderr=None if arguments.verbose else subprocess.DEVNULL)

    def ask(self, what):
        print(what, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"bench_peers: {self.name} failed; --verbose shows why")
        return json.loads(answer)

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def prepare(arguments, kinds):
    folder = arguments.folder
    weights = random_weights()
    if not (folder / "hf" / "model.safetensors").exists():
        write_folder(folder / "hf", weights)
    wanted = {engine for kind in kinds for engine in PEERS[kind]} & set(arguments.engines)
    if "ctranslate2" in wanted and not (folder / "ct2").exists():
        from ctranslate2.converters import TransformersConverter
        TransformersConverter(str(folder / "named")).convert(str(folder / "ct2"))
    for kind in kinds:
        if not (folder / f"{kind}.ordinal").exists():
            subprocess.run([arguments.program, "convert", folder / "hf", folder / f"{kind}.ordinal", "--dtype", kind,
                            "-q"], check=True)
        if "llama.cpp" in wanted and not (folder / f"{kind}.gguf").exists():
            write_gguf(folder / f"{kind}.gguf", weights, kind)
        if "onnxruntime" in PEERS[kind] and "onnxruntime" in wanted and not (folder / f"{kind}.onnx").exists():
            write_onnx(folder / f"{kind}.onnx", weights, kind != "f32")


def median_ratio(theirs, ours):
    return statistics.median(a / b for a, b in zip(theirs, ours))


def compare(arguments, kind, threads):
    """All engines that have `kind`, round by round. Prints a table and gives its rows."""
    names = ["ordinal"] + [name for name in PEERS[kind] if name in arguments.engines]
    workers = [Worker(name, arguments, kind, threads) for name in names]
    expected = np.array(workers[0].ask("logits"))
    apart = [float(np.abs(np.array(worker.ask("logits")) - expected).max() / expected.std()) for worker in workers]
    results = {name: [] for name in names}
    for rounds in range(arguments.rounds + 1):
        for worker in workers:
            answer = worker.ask("times")
            time.sleep(0.3)  # threads that still look for work go to sleep
            if rounds > 0:  # the first warms up
                results[worker.name].append(answer)
    for worker in workers:
        worker.stop()
    ours = results["ordinal"]
    machine = {key: statistics.median(row[2][key] for row in ours) for key in ("of_read", "of_peak")}
    rows = []
    for name, difference in zip(names, apart):
        prefill, decode = ([row[i] for row in results[name]] for i in (0, 1))
        rows.append({"kind": kind, "threads": threads, "engine": name, "logits_apart": difference,
                     "prefill_ms": 1e3 * statistics.median(prefill), "decode_ms": 1e3 * statistics.median(decode),
                     "prefill_ratio": median_ratio(prefill, [row[0] for row in ours]),
                     "decode_ratio": median_ratio(decode, [row[1] for row in ours]),
                     **(machine if name == "ordinal" else {})})
        row = rows[-1]
        extra = f"{row['of_read']:.0%} of read, {row['of_peak']:.0%} of peak" if name == "ordinal" else ""
        print(f"| {kind} | {threads} | {name} | {row['prefill_ms']:.0f} | {row['prefill_ratio']:.2f} | "
              f"{row['decode_ms']:.2f} | {row['decode_ratio']:.2f} | {row['logits_apart']:.1e} | {extra} |", flush=True)
    return rows


# Runs a command and prints the seconds it took and its largest resident memory. A process of its own: what a child is
# said to have taken includes its parent at the moment of the fork, and the parent of this one is large.
LAUNCHER = """
import os, resource, subprocess, sys, time
start = time.perf_counter()
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
sys.exit(code)
"""


def run_once(*command):
    out = subprocess.run([sys.executable, "-S", "-c", LAUNCHER, *map(str, command)], check=True, capture_output=True,
                         text=True).stdout
    return tuple(map(float, out.split()))


def compare_start(arguments, kind):
    """From nothing to the first token after 16, the file in the page cache: of ordinal the whole process, of llama.cpp
    what it does in a Python that has imported it. And peak memory with a prompt of 512 in a context of 1024."""
    paths = {"ordinal": arguments.folder / f"{kind}.ordinal", "llama.cpp": arguments.folder / f"{kind}.gguf"}
    ids = lambda count: ",".join(map(str, ids_of(count)))
    results = {"ordinal": [], "llama.cpp": []}
    for _ in range(arguments.rounds):
        model = ["-m", paths["ordinal"], "-q", "--ctx", CONTEXT, "-t", 2]
        first, _ = run_once(arguments.program, "generate", *model, "--ids", ids(16), "-n", 1, "--temp", 0, "--json")
        _, memory = run_once(arguments.program, "logits", *model, "--ids", ids(PROMPT))
        results["ordinal"].append((first, memory))
        if "llama.cpp" in arguments.engines:
            out = subprocess.run([sys.executable, __file__, arguments.program, "--once", "--kinds", kind, "--threads",
                                  "2", "--folder", str(arguments.folder)], check=True, capture_output=True, text=True)
            results["llama.cpp"].append(tuple(map(float, out.stdout.split())))
    rows = []
    for name, values in results.items():
        if values:
            row = {"kind": kind, "engine": name, "first_token_s": statistics.median(v[0] for v in values),
                   "memory_of_file": statistics.median(v[1] for v in values) / paths[name].stat().st_size}
            rows.append(row)
            print(f"| {kind} | {name} | {row['first_token_s']:.3f} | {row['memory_of_file']:.2f} |", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the ordinal program")
    parser.add_argument("--kinds", default="f32,f16,bf16,q8_0,q4_0")
    parser.add_argument("--threads", default="2,1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engines", default="llama.cpp,transformers,ctranslate2,onnxruntime")
    parser.add_argument("--folder", type=Path, default=Path("build/peers"), help="where the models are written")
    parser.add_argument("--json", help="write all numbers to this file")
    parser.add_argument("--verbose", action="store_true", help="what the engines print too")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.folder = arguments.folder.resolve()
    if arguments.worker:
        return work(arguments)
    if arguments.once:
        return start_once(arguments)
    kinds = arguments.kinds.split(",")
    arguments.engines = arguments.engines.split(",")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    prepare(arguments, kinds)
    print("| kind | threads | engine | prefill ms | x ours | decode ms | x ours | logits apart | of this machine |")
    print("|---|---|---|---|---|---|---|---|---|")
    rows = [row for threads in map(int, arguments.threads.split(",")) for kind in kinds
            for row in compare(arguments, kind, threads)]
    print("\n| kind | engine | first token s | memory / file |\n|---|---|---|---|")
    starts = [row for kind in kinds for row in compare_start(arguments, kind)]
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"speed": rows, "start": starts}, indent=1) + "\n")


if __name__ == "__main__":
    main()
