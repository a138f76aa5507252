#!/usr/bin/env python3
"""Asks a running `ordinal serve` as its users will: the openai package, curl, and lm-evaluation-harness.

    tools/check_server.py ORDINAL [--model MODEL] [--skip lm_eval]

Starts the server itself, on a free port of this machine. openai: completions, streams, log-probabilities, chats, errors and
retries, each answer held against the package's own types. Faults: a crowd, a flood, a full disk, an end under load. lm_eval: `--model local-completions` against `--model hf` on the
same weights, made here at random, on two tasks made here: multiple choice and rolling log-likelihood; equal to 1e-4. What a
missing package would check is named and left out.
"""

import argparse
import contextlib
import http.client
import importlib.util
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

checked = 0


def expect(truth, what):
    global checked
    checked += 1
    if not truth:
        raise SystemExit(f"check_server: not so: {what}")


@contextlib.contextmanager
def serving(ordinal, *arguments):
    """The address of a server that ends, well, with the block."""
    process = subprocess.Popen([ordinal, "serve", "--port", "0", *arguments], stderr=subprocess.PIPE, text=True)
    lines, address = [], None
    serving.process, serving.stopped = process.pid, False
    for line in process.stderr:
        lines.append(line)
        if match := re.match(r"listening on (http://\S+)", line):
            address = match[1]
            break
    if address is None:
        raise SystemExit("check_server: the server did not start:\n" + "".join(lines))
    reader = threading.Thread(target=lambda: lines.extend(process.stderr), daemon=True)
    reader.start()
    try:
        yield address
    finally:
        if not serving.stopped:  # a second signal would end it at once
            process.send_signal(signal.SIGTERM)
        status = process.wait(60)
        reader.join(10)
        expect(status == 0, f"the server ends with status 0, not {status}:\n{''.join(lines[-20:])}")


def is_plain(answer):
    """The package builds its types without checking; this does: validation by the model's own schema."""
    data = json.loads(answer.model_dump_json())
    if data["object"] == "text_completion":  # the type has no word for a stream's null, which the interface's text does
        for choice in data["choices"]:
            choice["finish_reason"] = choice["finish_reason"] or "stop"
    type(answer).model_validate(data)
    return True


def check_openai(address, model):
    import openai

    client = openai.OpenAI(base_url=address + "/v1", api_key="none", max_retries=0)
    expect([item.id for item in client.models.list()] == [model], "the model is listed")
    ask = dict(model=model, prompt="Once upon a time", max_tokens=24, seed=8, temperature=0.7)
    whole = client.completions.create(**ask)
    expect(is_plain(whole) and whole.object == "text_completion", "a completion has the package's type")
    expect(whole.usage.completion_tokens == 24 and whole.usage.total_tokens == whole.usage.prompt_tokens + 24, "usage adds up")
    expect(whole.choices[0].finish_reason == "length", "24 tokens were the limit")
    expect(client.completions.create(**ask).choices[0].text == whole.choices[0].text, "one seed, one text")
    pieces = list(client.completions.create(**ask, stream=True, stream_options={"include_usage": True}))
    expect(all(is_plain(piece) for piece in pieces), "chunks have the package's type")
    expect("".join(piece.choices[0].text for piece in pieces if piece.choices) == whole.choices[0].text, "a stream is the text")
    expect(pieces[-1].usage == whole.usage, "the last chunk of a stream has the usage")
    scored = client.completions.create(**ask, logprobs=3, echo=True).choices[0]
    expect(scored.text == ask["prompt"] + whole.choices[0].text, "an echo begins with the prompt")
    rows = scored.logprobs
    expect(rows.token_logprobs[0] is None and all(value <= 0 for value in rows.token_logprobs[1:]), "log-probabilities")
    expect(len(rows.tokens) == len(rows.token_logprobs) == len(rows.top_logprobs) == len(rows.text_offset), "as many of each")
    expect("".join(rows.tokens) == scored.text, "tokens make the text")
    expect(all(scored.text[at:].startswith(token) for at, token in zip(rows.text_offset, rows.tokens)), "offsets are of characters")
    alone = client.completions.create(**{**ask, "max_tokens": 0}, logprobs=1, echo=True).choices[0]
    expect(alone.text == ask["prompt"] and alone.logprobs.token_logprobs == rows.token_logprobs[: len(alone.logprobs.tokens)],
           "no new tokens: the prompt alone, with the same values")
    several = client.completions.create(**{**ask, "prompt": ["One day", "The king"]}, n=2)
    expect([choice.index for choice in several.choices] == [0, 1, 2, 3], "choices count over prompts")
    stopped = client.completions.create(**{**ask, "stop": [whole.choices[0].text[10:14]]}).choices[0]
    expect(stopped.finish_reason == "stop" and whole.choices[0].text.startswith(stopped.text), "a stop string ends the text")
    other = client.completions.create(**ask, extra_body={"position": "none"})
    expect(other.position == "none" and other.choices[0].text != whole.choices[0].text, "a position scheme of the request's own")

    for change, kind, field in [({"temperature": -1}, openai.BadRequestError, "temperature"),
                                ({"model": "other"}, openai.NotFoundError, "model"),
                                ({"suffix": "end"}, openai.BadRequestError, "suffix")]:
        try:
            client.completions.create(**{**ask, **change})
            expect(False, f"{change} is refused")
        except kind as error:
            expect(error.param == field, f"{change}: the error names {field}, not {error.param}")
    try:
        client.chat.completions.create(model=model, messages=[{"role": "user", "content": "Hello"}])
        expect(False, "a model without a chat template is no chat model")
    except openai.BadRequestError as error:
        expect("chat template" in error.message, "the error says why")
    return whole.choices[0].text


def check_chat(ordinal, folder):
    import openai

    with serving(ordinal, "-m", str(folder)) as address:
        client = openai.OpenAI(base_url=address + "/v1", api_key="none")
        ask = dict(model=folder.name, seed=3, max_tokens=20, temperature=1.0,
                   messages=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}])
        whole = client.chat.completions.create(**ask, logprobs=True, top_logprobs=2)
        expect(is_plain(whole) and whole.object == "chat.completion", "a chat completion has the package's type")
        expect(whole.choices[0].message.role == "assistant", "the assistant answers")
        rows = whole.choices[0].logprobs.content
        expect(len(rows) == whole.usage.completion_tokens and all(len(row.top_logprobs) == 2 for row in rows), "log-probabilities")
        pieces = list(client.chat.completions.create(**ask, stream=True))
        expect(all(is_plain(piece) for piece in pieces), "chat chunks have the package's type")
        expect(pieces[0].choices[0].delta.role == "assistant", "the first chunk says whose turn it is")
        expect("".join(piece.choices[0].delta.content or "" for piece in pieces) == whole.choices[0].message.content,
               "a chat's stream is its text")
        expect(pieces[-1].choices[0].finish_reason == whole.choices[0].finish_reason, "and ends for the same reason")


def check_retries(ordinal, model):
    """429 with Retry-After is what the package tries again on; 401 what it does not."""
    import openai

    with serving(ordinal, *model, "--api-key", "right", "--parallel", "1", "--queue", "0") as address:
        try:
            openai.OpenAI(base_url=address + "/v1", api_key="wrong").models.list()
            expect(False, "a wrong key is refused")
        except openai.AuthenticationError:
            expect(True, "a wrong key is an AuthenticationError")
        client = openai.OpenAI(base_url=address + "/v1", api_key="right", max_retries=8)
        name = client.models.list().data[0].id
        texts = [None] * 6

        def work(i):
            texts[i] = client.completions.create(model=name, prompt="Once", max_tokens=40, seed=1).choices[0].text

        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(texts))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expect(len(set(texts)) == 1 and texts[0], "six clients of a queue of none have the same text after retries")


def check_curl(address, model, text):
    if shutil.which("curl") is None:
        print("check_server: curl is not here, left out")
        return
    body = json.dumps({"model": model, "prompt": "Once upon a time", "max_tokens": 24, "seed": 8, "temperature": 0.7})

    def curl(*more, data=None):
        command = ["curl", "-sS", "--noproxy", "*", *more]
        return subprocess.run(command, input=data, capture_output=True, text=True, timeout=60).stdout

    answer = json.loads(curl(address + "/v1/completions", "-H", "Content-Type: application/json", "-d", body))
    expect(answer["choices"][0]["text"] == text, "curl gets what the package gets")
    stream = curl("-N", address + "/v1/completions", "-d", body[:-1] + ', "stream": true}')
    expect(stream.endswith("data: [DONE]\n\n"), "a stream ends in [DONE]")
    padded = json.dumps({"text": "a " * 700000})  # over a megabyte: curl asks first (Expect: 100-continue)
    expect(json.loads(curl(address + "/tokenize", "--data-binary", "@-", data=padded))["count"] > 1000, "a large body is read")
    expect("ordinal_requests_total" in curl(address + "/metrics"), "metrics are there")
    expect(curl("-o", "/dev/null", "-w", "%{http_code}", address + "/v1/completions") == "405", "GET where POST belongs is 405")


def check_memory(ordinal, model, requests):
    """Requests of all kinds, some of whose clients go away: the server is no larger after them than after the first tenth."""
    with serving(ordinal, *model, "-q", "--parallel", "4") as address:
        host = address.removeprefix("http://")

        def ask(connection, i):
            bodies = [{"prompt": f"The {i % 50}", "max_tokens": 1 + i % 4, "logprobs": 2, "echo": i % 2 == 0},
                      {"prompt": "Once upon", "max_tokens": 3, "stream": True, "position": "alibi" if i % 3 else "none"},
                      {"prompt": "a", "temperature": "wrong"},
                      {"prompt": "Once upon a time", "max_tokens": 200, "stream": True, "ctx": 300}]
            connection.request("POST", "/v1/completions", json.dumps(bodies[i % 4]))
            answer = connection.getresponse()
            if i % 4 == 3:
                answer.read(100)
                connection.close()
                return
            answer.read()

        def client(count, offset):
            connection = http.client.HTTPConnection(host, timeout=60)
            for i in range(count):
                ask(connection, i + offset)

        def run(count):
            threads = [threading.Thread(target=client, args=(count // 4, 7 * i)) for i in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return resident(serving.process)

        early = run(max(400, requests // 10))
        late = run(requests)
        expect(late < early + 8, f"resident memory is flat over {requests} requests: {early:.1f} MB, then {late:.1f} MB")
        print(f"check_server: resident memory {early:.1f} MB, after {requests} more requests {late:.1f} MB")


def ask_once(host, body, timeout=60):
    """(status, answer) of one completion on a connection of its own."""
    connection = http.client.HTTPConnection(host, timeout=timeout)
    connection.request("POST", "/v1/completions", json.dumps(body))
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def resident(process):
    pages = int(pathlib.Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def check_crowd(host, body, text):
    """Two hundred at once: each is answered or told to come again, and the texts are those of one alone."""
    answers = []

    def client():
        until = time.monotonic() + 120
        while time.monotonic() < until:
            with contextlib.suppress(OSError, http.client.HTTPException):  # no room for a connection: one tries again
                answers.append(ask_once(host, body))
                if answers[-1][0] == 200:
                    return
            time.sleep(random.uniform(0.2, 1))

    threads = [threading.Thread(target=client) for _ in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    right = [answer for status, answer in answers if status == 200]
    expect(all(answer["choices"][0]["text"] == text for answer in right), "a crowd's texts are one's alone")
    expect(all(status in (200, 429, 503) for status, _ in answers), "nobody in a crowd gets anything but an answer or a wait")
    expect(len(right) == 200, f"all of a crowd are served in the end, not {len(right)}")


def check_flood(host, process):
    """A gigabyte of body, announced or not, is refused without being kept."""
    before = resident(process)
    for announced in (True, False):
        with socket.create_connection((host.split(":")[0], int(host.split(":")[1])), timeout=60) as flood:
            how = "Content-Length: 1048576000" if announced else "Transfer-Encoding: chunked"
            flood.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: {host}\r\n{how}\r\n\r\n".encode())
            part = b"a" * 1048576
            answer = b""
            with contextlib.suppress(OSError):  # the server may have heard enough before the end
                for _ in range(1000):
                    flood.sendall(part if announced else b"100000\r\n" + part + b"\r\n")
                flood.sendall(b"" if announced else b"0\r\n\r\n")
            with contextlib.suppress(OSError):
                answer = flood.recv(4096)
            expect(answer == b"" or b" 413 " in answer.splitlines()[0], f"a flood is refused, not {answer[:60]}")
    grown = resident(process) - before
    expect(grown < 64, f"a flood leaves the server as large as it was, not {grown:.0f} MB larger")


def check_full_disk(ordinal, model):
    """A log that cannot be written is lost; requests are not."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with open("/dev/full", "w") as full:
        process = subprocess.Popen([ordinal, "serve", "--port", str(port), *model], stderr=full, stdout=full)
    try:
        for attempt in range(100):
            try:
                status, _ = ask_once(f"127.0.0.1:{port}", {"prompt": "Once", "max_tokens": 4})
                break
            except OSError:
                time.sleep(0.1)
        expect(status == 200, "a server whose log has no room answers")
        expect(ask_once(f"127.0.0.1:{port}", {"prompt": "Once", "max_tokens": 4})[0] == 200, "and goes on answering")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    expect(process.returncode == 0, f"and ends with status 0, not {process.returncode}")


def check_stop_under_load(ordinal, model):
    """SIGTERM with sixteen streams under way: each ends as a stream should, and the server within its grace."""
    with serving(ordinal, *model, "-q", "--parallel", "8", "--queue", "32", "--grace", "2") as address:
        host, ends = address.removeprefix("http://"), []

        def client(i):
            connection = http.client.HTTPConnection(host, timeout=60)
            body = {"prompt": f"{i} kings", "max_tokens": 20000, "ctx": 30000, "stream": True, "ignore_eos": True}
            connection.request("POST", "/v1/completions", json.dumps(body))
            ends.append(connection.getresponse().read()[-14:])

        threads = [threading.Thread(target=client, args=(i,)) for i in range(16)]
        for thread in threads:
            thread.start()
        time.sleep(3)
        begin = time.monotonic()
        os.kill(serving.process, signal.SIGTERM)
        serving.stopped = True
        for thread in threads:
            thread.join()
        expect(time.monotonic() - begin < 20, "streams end soon after the server was told to")
    expect(len(ends) == 16, "every client heard the end")


def check_faults(ordinal, model):
    with serving(ordinal, *model, "-q", "--parallel", "4", "--queue", "64") as address:
        host, body = address.removeprefix("http://"), {"prompt": "Once upon a time", "max_tokens": 16, "seed": 5}
        text = ask_once(host, body)[1]["choices"][0]["text"]
        check_crowd(host, body, text)
        check_flood(host, serving.process)
        for hostile in (b"[" * 100000, b'{"prompt": "\xff\xfe"}', b'{"prompt": "a", "temperature": NaN}', b'{"prompt": [99999999]}',
                        b'{"prompt": "a", "position": "spiral"}', b'{"prompt": "a", "max_tokens": 1e999}', b""):
            connection = http.client.HTTPConnection(host, timeout=60)
            connection.request("POST", "/v1/completions", hostile)
            expect(connection.getresponse().status == 400, f"{hostile[:40]} is refused")
        expect(ask_once(host, body)[1]["choices"][0]["text"] == text, "after all that, the same text")
    check_full_disk(ordinal, model)
    check_stop_under_load(ordinal, model)


WORDS = ("the king queen daughter forest house little old man said went came then there door key water tree stone wolf gold and "
         "he she they it was had to of in a so but not good great day night").split()


def make_model(folder):
    """A small random GPT-2 with a tokenizer of its own, as transformers saves it."""
    import tokenizers
    import torch
    import transformers

    random.seed(1)
    torch.manual_seed(1)
    corpus = [" ".join(random.choices(WORDS, k=12)) + "." for _ in range(400)]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=400, special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
                                             initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(corpus, trainer)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|endoftext|>", bos_token="<|endoftext|>",
                                                unk_token="<|endoftext|>", pad_token="<|endoftext|>")
    fast.chat_template = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + "
                          "'<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}"
                          "{% endif %}")
    config = transformers.GPT2Config(vocab_size=len(fast), n_positions=128, n_embd=64, n_layer=2, n_head=4, bos_token_id=0,
                                     eos_token_id=0)
    model = transformers.GPT2LMHeadModel(config)
    with torch.no_grad():
        for parameter in model.parameters():  # far from even odds
            if parameter.dim() == 2:
                parameter.mul_(4)
    fast.save_pretrained(folder)
    model.save_pretrained(folder)


TASKS = {
    "choice": """task: choice
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: answer
metric_list: [{{metric: acc}}, {{metric: acc_norm}}]
""",
    "rolling": """task: rolling
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{{{text}}}}"
metric_list: [{{metric: word_perplexity}}, {{metric: bits_per_byte}}]
""",
}


def check_lm_eval(ordinal, folder, work):
    """The harness's own samples: every log-likelihood of every task, both ways."""
    random.seed(2)
    rows = {
        "choice": [{"question": " ".join(random.choices(WORDS, k=random.randrange(3, 20))),
                    "choices": [" " + " ".join(random.choices(WORDS, k=random.randrange(1, 5))) for _ in range(4)],
                    "answer": random.randrange(4)} for _ in range(12)],
        "rolling": [{"text": " ".join(random.choices(WORDS, k=random.randrange(20, 250)))} for _ in range(5)],
    }
    tasks = work / "tasks"
    tasks.mkdir()
    for name, text in TASKS.items():
        data = tasks / f"{name}.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows[name]))
        (tasks / f"{name}.yaml").write_text(text.format(data=data))
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(work / "cache"),
                   "TOKENIZERS_PARALLELISM": "false", "OPENAI_API_KEY": "none", "no_proxy": "127.0.0.1"}

    def evaluate(kind, arguments):
        out = work / kind
        done = subprocess.run([sys.executable, "-m", "lm_eval", "--model", kind, "--model_args", arguments, "--tasks", "choice,rolling",
                               "--include_path", str(tasks), "--output_path", str(out), "--log_samples", "--batch_size", "1", "--device", "cpu"],
                              env=environment, capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            raise SystemExit(f"check_server: lm_eval --model {kind} failed:\n{done.stderr[-3000:]}")
        values = {}
        for name in rows:
            found = sorted(out.rglob(f"samples_{name}_*.jsonl"))
            expect(len(found) == 1, f"{kind} wrote samples of {name}")
            samples = [json.loads(line) for line in found[0].read_text().splitlines()]
            values[name] = {sample["doc_id"]: sample["resps"] for sample in samples}
        return values

    with serving(ordinal, "-m", str(folder)) as address:
        ours = evaluate("local-completions", f"model={folder.name},base_url={address}/v1/completions,tokenizer={folder},"
                        "num_concurrent=4,max_length=128")
    # The harness keeps two tokens of a window back for itself when it asks a server.
    theirs = evaluate("hf", f"pretrained={folder},dtype=float32,max_length=126")

    def numbers(value):
        if isinstance(value, list):
            return [number for item in value for number in numbers(item)]
        if isinstance(value, str):
            return [1.0 if value == "True" else 0.0] if value in ("True", "False") else [float(value)]
        return [float(value)]

    worst = 0.0
    for name in rows:
        expect(ours[name].keys() == theirs[name].keys() and len(ours[name]) == len(rows[name]), f"{name}: the same documents")
        for doc in ours[name]:
            a, b = numbers(ours[name][doc]), numbers(theirs[name][doc])
            expect(len(a) == len(b), f"{name} {doc}: as many values")
            for x, y in zip(a, b):
                worst = max(worst, abs(x - y) / max(1.0, abs(y)))
    expect(worst <= 1e-4, f"scores equal those of transformers to 1e-4; they differ by {worst:.2e}")
    print(f"check_server: lm_eval: log-likelihoods differ from transformers' by {worst:.1e} at most")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ordinal")
    parser.add_argument("--model", help="of the first checks; the shipped one when not given")
    parser.add_argument("--skip", nargs="*", default=[])
    parser.add_argument("--requests", type=int, default=2000, help="for the check of memory [default: 2000]")
    args = parser.parse_args()
    has = lambda name: importlib.util.find_spec(name) is not None and name not in args.skip
    model = ["-m", args.model] if args.model else []
    if not has("openai"):
        raise SystemExit("check_server: the openai package is not here: pip install -r tools/serve-requirements.txt")
    with serving(args.ordinal, *model) as address:
        import openai

        name = openai.OpenAI(base_url=address + "/v1", api_key="none").models.list().data[0].id
        text = check_openai(address, name)
        check_curl(address, name, text)
    check_retries(args.ordinal, model)
    check_memory(args.ordinal, model, args.requests)
    check_faults(args.ordinal, model)
    with tempfile.TemporaryDirectory(prefix="check_server.") as work:
        folder = pathlib.Path(work, "random")
        if has("torch") and has("transformers"):
            folder.mkdir()
            make_model(folder)
            check_chat(args.ordinal, folder)
            if has("lm_eval"):
                check_lm_eval(args.ordinal, folder, pathlib.Path(work))
            else:
                print("check_server: lm_eval is not here, left out")
        else:
            print("check_server: torch and transformers are not here; chats and lm_eval left out")
    print(f"check_server: all well, {checked} checks")


if __name__ == "__main__":
    main()
