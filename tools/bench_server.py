#!/usr/bin/env python3
"""Times `ordinal serve` under load: clients that each stream so many tokens from a prompt of their own.

    tools/bench_server.py ORDINAL --model MODEL [--clients 1,4,8,16] [--tokens 128] [--prompt 128] [--rounds 3]
                          [--peer 'python -m llama_cpp.server --model m.gguf --port {port} --interrupt_requests False']

A row a number of clients: tokens a second of all together, from the first request to the last token; the time to the first
token, median and 99th of a hundred; the time between chunks of a stream, median and 99th. The first row is
`ordinal generate` alone with the same prompt: what the server adds to it shows in the row of one client. A peer with OpenAI's
interface is asked in turn with ours, round by round. The clients are threads of this program, and run on the same machine.
"""

import argparse
import http.client
import json
import random
import shlex
import socket
import statistics
import subprocess
import threading
import time

from check_server import serving


class Stream(threading.Thread):
    """One client: a streamed completion, and when each chunk came."""

    def __init__(self, port, body, start):
        super().__init__()
        self.port, self.body, self.barrier = port, json.dumps(body), start
        self.times, self.tokens, self.begin = [], 0, 0.0

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.connect()
        self.barrier.wait()
        self.begin = time.perf_counter()
        connection.request("POST", "/v1/completions", self.body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status != 200:
            raise SystemExit(f"bench_server: status {answer.status}: {answer.read()[:300]}")
        for line in answer:
            if not line.startswith(b"data: {"):
                continue
            self.times.append(time.perf_counter())
            choices = json.loads(line[6:])["choices"]
            if choices:
                self.tokens += len(choices[0].get("ids", [0]))


def measure(port, bodies):
    barrier = threading.Barrier(len(bodies))
    clients = [Stream(port, body, barrier) for body in bodies]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    begin = min(client.begin for client in clients)
    end = max(client.times[-1] for client in clients)
    firsts = [client.times[0] - client.begin for client in clients]
    gaps = [b - a for client in clients for a, b in zip(client.times, client.times[1:])]
    return sum(client.tokens for client in clients) / (end - begin), firsts, gaps


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def wait_for_port(port, seconds=120):
    for _ in range(seconds * 10):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("bench_server: the peer does not listen")


def call(address, path, body):
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
    connection.request("POST", path, json.dumps(body))
    return json.loads(connection.getresponse().read())


def prompts_of(address, count, length, vocabulary):
    """Texts of so many tokens, no two beginning alike; ids for a model without a tokenizer."""
    random.seed(7)
    words = "time year people way day man thing woman life child world school state family student group country problem".split()
    prompts = []
    for i in range(count):
        text = f"{random.randrange(10000)} " + " ".join(random.choices(words, k=2 * length))
        answer = call(address, "/tokenize", {"text": text})
        if "error" in answer:
            prompts.append([random.randrange(vocabulary) for _ in range(length)])
        else:
            prompts.append(call(address, "/detokenize", {"ids": answer["ids"][:length]})["text"])
    return prompts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ordinal")
    parser.add_argument("--model", required=True)
    parser.add_argument("--clients", default="1,4,8,16")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dtype", help="of a foreign checkpoint's matrices, for ours")
    parser.add_argument("--peer")
    args = parser.parse_args()
    model = ["-m", args.model, *(["--dtype", args.dtype] if args.dtype else [])]
    counts = [int(count) for count in args.clients.split(",")]
    peer = None
    if args.peer:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            peer_port = free.getsockname()[1]
        peer = subprocess.Popen(shlex.split(args.peer.format(port=peer_port)), stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        wait_for_port(peer_port)
    try:
        with serving(args.ordinal, *model, "-q", "--parallel", str(max(counts))) as address:
            port = int(address.rsplit(":", 1)[1])
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("GET", "/v1/models")
            vocabulary = json.loads(connection.getresponse().read())["data"][0]["vocab_size"]
            results = {}
            for turn in range(args.rounds):
                prompts = prompts_of(address, sum(counts) * (turn + 1), args.prompt, vocabulary)[-sum(counts):]
                alone = ["--ids", ",".join(map(str, prompts[0]))] if isinstance(prompts[0], list) else [prompts[0]]
                found = json.loads(subprocess.run([args.ordinal, "generate", *model, *alone, "-n", str(args.tokens), "--temp",
                                                   "0", "--ignore-eos", "--json", "-q"], capture_output=True, check=True).stdout)["timings"]
                seconds = (found["prefill_ms"] + found["decode_ms"]) / 1000
                results.setdefault(("generate", 1), []).append((args.tokens / seconds, [found["prefill_ms"] / 1000], [
                    found["decode_ms"] / 1000 / max(1, found["decode_tokens"])]))
                for count in counts:
                    mine, prompts = prompts[:count], prompts[count:]
                    body = {"max_tokens": args.tokens, "temperature": 0, "stream": True}
                    results.setdefault(("ordinal", count), []).append(
                        measure(port, [{**body, "prompt": prompt, "ignore_eos": True} for prompt in mine]))
                    if peer:
                        results.setdefault(("peer", count), []).append(
                            measure(peer_port, [{**body, "prompt": prompt} for prompt in mine]))
    finally:
        if peer:
            peer.terminate()
            peer.wait(30)
    print("| server | clients | tokens/s | first token, median, 99th | between chunks, median, 99th |\n|---|---|---|---|---|")
    for (name, count), rounds in results.items():
        rate = statistics.median(row[0] for row in rounds)
        firsts = [value * 1000 for row in rounds for value in row[1]]
        gaps = [value * 1000 for row in rounds for value in row[2]]
        print(f"| {name} | {count} | {rate:.1f} | {statistics.median(firsts):.0f}, {percentile(firsts, 0.99):.0f} ms | "
              f"{statistics.median(gaps):.1f}, {percentile(gaps, 0.99):.1f} ms |")


if __name__ == "__main__":
    main()
