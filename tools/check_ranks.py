#!/usr/bin/env python3
"""Checks that a run over MPI's ranks gives the bytes of one process, and ends as it should when something goes wrong.

  tools/check_ranks.py ORDINAL ORDINAL_MPI [--long] [--only WORD]

ORDINAL is a build without MPI, whose results count as right; ORDINAL_MPI one of `make mpi`. Compares logits of every
family of tests/goldens/families, every kind of weights, every position scheme, texts, perplexities and comparisons, on
1, 2, 3, 5 and 8 ranks: each case on one or two of these, in turn, which takes some three minutes; --long takes all, and
kills a rank twenty times. Then faults: ranks that die, that have other files, programs or instruction sets, files that
one rank alone can read; sweeps that are killed and go on. Needs mpirun; prints a line a group, and ends with
"N passed, N failed".
"""
import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

COUNTS = [1, 2, 3, 5, 8]
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHIPPED = os.path.join(ROOT, "models", "tales.ordinal")
STORY = os.path.join(ROOT, "models", "story.txt")
# Fields of JSON results that say how long something took, or how it was called.
TIMES = re.compile(r'"(\w*(seconds|_ms|per_s)|load_ms|ms_per_token|timings|command)":')


def environment():
    env = dict(os.environ, OMP_NUM_THREADS="1")
    env.pop("ORDINAL_ISA", None)
    if os.geteuid() == 0:
        env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return env


def mpirun(count):
    """The command before a program; more ranks than processors are welcome here."""
    more = count > len(os.sched_getaffinity(0))
    return ["mpirun"] + (["--oversubscribe"] if more else []) + ["-n", str(count)]


def without_times(value):
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if not TIMES.match(f'"{k}":')}
    return [without_times(v) for v in value] if isinstance(value, list) else value


class Checks:
    def __init__(self, options):
        self.one, self.many = os.path.abspath(options.ordinal), os.path.abspath(options.ordinal_mpi)
        self.long, self.only = options.long, options.only
        self.folder = tempfile.mkdtemp(prefix="ordinal-ranks-")
        self.passed, self.failed, self.turn = 0, 0, 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def check(self, name, good, detail=""):
        if good:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {name}\n{detail}", flush=True)

    def run(self, command, limit=120, **more):
        try:
            return subprocess.run(command, stdin=more.pop("stdin", subprocess.DEVNULL), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env=environment(), timeout=limit, **more)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, -1, b"", f"not done after {limit} s".encode())

    def counts(self):
        """Two counts in turn, so that every count meets every group; with --long all of them."""
        if self.long:
            return COUNTS
        self.turn += 1
        return [COUNTS[self.turn % 5], COUNTS[(self.turn + 2) % 5]]

    def same(self, name, arguments, file=None, is_json=False, text=b"", few=False):
        """The arguments on one process and on ranks: the same status, output and file ({} is its path)."""
        results, counts = [], self.counts()
        for count in [0] + (counts[:1] if few and not self.long else counts):
            path = self.path(f"out-{count}")
            command = [self.one] if count == 0 else mpirun(count) + [self.many]
            with open(self.path("input"), "wb") as stdin:
                stdin.write(text)
            with open(self.path("input"), "rb") as stdin:
                run = self.run(command + [a.replace("{}", path) for a in arguments], stdin=stdin)
            out = run.stdout
            written = b""
            if file and os.path.exists(path):
                with open(path, "rb") as result:
                    written = result.read()
                os.remove(path)
            if is_json and run.returncode == 0:
                out, written = [b"".join(json.dumps(without_times(json.loads(line)), sort_keys=True).encode()
                                         for line in lines.splitlines()) for lines in (out, written)]
            error = b"" if run.returncode == 0 else b"".join(
                line for line in run.stderr.splitlines(True) if line.startswith(b"ordinal: error"))
            results.append((count, run.returncode, out, written, error, run.stderr))
        first = results[0]
        for other in results[1:]:
            good = other[1:5] == first[1:5] and (first[1] == 0 or len(first[4]) > 0)
            self.check(f"{name} on {other[0]} ranks", good,
                       f"  one process: status {first[1]}, {len(first[2])} + {len(first[3])} bytes, {first[4]}\n"
                       f"  ranks:       status {other[1]}, {len(other[2])} + {len(other[3])} bytes\n"
                       f"{other[5].decode()}")

    def group(self, name, work):
        if self.only and self.only not in name:
            return
        start, before = time.time(), self.passed + self.failed
        work()
        print(f"{name}: {self.passed + self.failed - before} checks, {time.time() - start:.0f} s", flush=True)

    # What is compared.

    def families(self):
        folder = os.path.join(ROOT, "tests", "goldens", "families")
        for family in sorted(os.listdir(folder)):
            model = os.path.join(folder, family)
            self.same(f"family {family}", ["logits", "-m", model, "--vocab", "none", "--ids", "1,5,2,9,7,3,3,8,4,6,2",
                                           "--all", "-q", "-o", "{}"], file=True)

    def kinds(self):
        for kind in ["f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q4_k", "q5_k", "q6_k"]:
            model = self.path(kind + ".ordinal")
            made = self.run([self.one, "convert", SHIPPED, model, "--dtype", kind, "-q"])
            self.check(f"a model of kind {kind}", made.returncode == 0, made.stderr.decode())
            text = ["-f", STORY, "--ctx", "6000"] if self.long else ["Once upon a time there was a king, and he said"]
            self.same(f"kind {kind}", ["logits", "-m", model, *text, "--all", "-q", "-o", "{}"], file=True)

    def schemes(self):
        listed = json.loads(self.run([self.one, "positions", "list", "--json"]).stdout)
        names = [row["name"] for row in (listed if isinstance(listed, list) else listed["schemes"])]
        specs = names + ["native", "rope;heads=0.0,1.1-2:none", "alibi;layers=1:rope", "rope:scaling=yarn,factor=4"]
        specs += [f"rope;with={w}" for w in ["logn", "rerope:window=9", "dca:chunk=12", "self_extend:window=9,group=2",
                                             "sinks:first=2,window=9", "lambda:first=2,window=9",
                                             "leaky_rerope:window=9",
                                             "ssmax:s=0.4", "steps:every=8", "random:range=512"]]
        for spec in specs:
            self.same(f"scheme {spec}", ["logits", "Once upon a time there was a king who had three sons, and the",
                                         "--position", spec, "--all", "-q", "-o", "{}"], file=True, few=True)

    def commands(self):
        text = "Once upon a time"
        self.same("generate", ["generate", text, "-n", "60", "--seed", "7", "-q"])
        self.same("generate, samples", ["generate", text, "-n", "20", "--seed", "7", "--samples", "3", "--json", "-q"],
                  is_json=True)
        self.same("generate, a draft", ["generate", text, "-n", "40", "--temp", "0", "--draft", "lookup", "-q"])
        self.same("generate, sliding", ["generate", text, "-n", "60", "--temp", "0", "--ctx", "32", "--overflow",
                                        "slide", "-q"])
        self.same("generate, standard input", ["generate", "-f", "-", "-n", "20", "--seed", "1", "-q"],
                  text=b"The king said")
        lines = b'{"prompt": "The king", "n": 9}\n{"prompt": "A wolf", "n": 12, "temp": 0}\n{"ids": [3, 5], "n": 5}\n'
        self.same("generate, a batch", ["generate", "--batch", "-", "--seed", "3", "-q", "-o", "{}"], file=True,
                  is_json=True, text=lines)
        self.same("logits, a table", ["logits", text, "--top", "5", "-q"])
        self.same("logits, standard output", ["logits", text, "-q", "-o", "-"])
        self.same("perplexity", ["perplexity", "-f", STORY, "--ctx", "100", "--json", "-q"], is_json=True)
        self.same("perplexity, a protocol", ["perplexity", "-f", STORY, "--protocol", "hf", "--stride", "64", "-q",
                                             "--kv-dtype", "f16"])
        self.same("compare", ["compare", "--tokens", "150", "--lengths", "48,100", "--positions", "native,alibi", "-n",
                              "4", "--json", "-", "-q"], is_json=True, few=True)
        self.same("an error", ["generate", text, "--position", "roep", "-q"])
        self.same("another error", ["generate", text, "-m", self.path("nothing.ordinal"), "-q"])
        self.same("a command of one rank", ["tokenize", "It's a test.", "-q"])

    def isas(self):
        expected = self.run([self.one, "logits", "Once upon a time", "-q", "-o", "-"]).stdout
        work = [self.many, "logits", "Once upon a time", "-q", "-o", "-"]
        for isas in [("generic", "avx2"), ("avx2", "generic"), ("generic", "", "avx2")]:
            command = ["mpirun", "--oversubscribe"]
            for i, isa in enumerate(isas):
                command += ([":"] if i else []) + ["-n", "1", "env"] + ([f"ORDINAL_ISA={isa}"] if isa else []) + work
            run = self.run(command)
            self.check(f"instruction sets {isas}", run.stdout == expected and run.returncode == 0, run.stderr.decode())

    def namespaces(self):
        """Two ranks in network namespaces joined by a veth pair: TCP between what MPI takes for two machines."""
        cable = Cable(self.folder)
        try:
            cable.lay()
        except (OSError, subprocess.CalledProcessError) as error:
            cable.cut()
            print(f"namespaces: skipped, `ip netns` is not allowed here ({error})")
            return
        try:
            for name, arguments in [
                    ("logits", ["logits", "--ids", "1,2,3", "--all", "-q", "-o", "-"]),
                    ("logits of a text", ["logits", "Once upon a time", "--all", "-q", "-o", "-"]),
                    ("generate", ["generate", "Once upon a time", "-n", "40", "--seed", "3", "-q"])]:
                one, two = self.run([self.one] + arguments), self.run(cable.mpirun() + [self.many] + arguments)
                self.check(f"{name} over a cable", two.returncode == 0 and two.stdout == one.stdout,
                           two.stderr.decode())
            self.check("bytes went over the cable", cable.bytes_sent() > 100000, str(cable.bytes_sent()))
        finally:
            cable.cut()

    # What goes wrong.

    def fails(self, name, command, words, limit=20.0, **more):
        start = time.time()
        run = self.run(command, limit=60, **more)
        said = run.stderr.decode()
        took = time.time() - start
        missing = [word for word in words if word not in said]
        self.check(name, run.returncode != 0 and not missing and took < limit,
                   f"  status {run.returncode}, {took:.1f} s, missing {missing}\n{said}")

    def faults(self):
        here, there = self.path("here"), self.path("there")
        os.makedirs(here)
        os.makedirs(there)
        shutil.copy(SHIPPED, os.path.join(here, "m.ordinal"))
        work = [self.many, "logits", "-m", "m.ordinal", "--ids", "1,2,3", "-q", "-o", "-"]
        two = ["mpirun", "--oversubscribe", "-n", "1", "-wdir", here] + work + [":", "-n", "1", "-wdir", there] + work
        self.fails("a file that rank 0 alone has", two, ["rank 1 of 2", "m.ordinal"])
        made = self.run([self.one, "convert", SHIPPED, os.path.join(there, "m.ordinal"), "--dtype", "q8_0", "-q"])
        self.check("another model", made.returncode == 0)
        self.fails("other files", two, ["rank 0 of 2", "rank 1 of 2", "same model", "checksum"])
        shutil.copy(self.many, self.path("other"))
        with open(self.path("other"), "ab") as program:
            program.write(b"\0")
        work = ["logits", "--ids", "1,2,3", "-q", "-o", "-", "-m", SHIPPED]
        self.fails("other programs", ["mpirun", "--oversubscribe", "-n", "1", self.many] + work +
                   [":", "-n", "1", self.path("other")] + work, ["rank 0 of 2", "rank 1 of 2", "same program"])
        self.fails("other commands", ["mpirun", "--oversubscribe", "-n", "1", self.many] + work +
                   [":", "-n", "1", self.many] + work + ["--all"], ["rank 0 of 2", "rank 1 of 2", "same command"])
        self.fails("a command that has one rank", mpirun(2) + [self.many, "serve", "--port", "0"], ["one rank"])
        self.fails("a result that cannot be written",
                   mpirun(2) + [self.many, "logits", "Once", "-q", "-o", self.path("no/folder.npy")], ["no folder"])
        many = self.run(mpirun(8) + [self.many, "logits", "Once", "-o", "-"])
        self.check("more ranks than heads are told", many.returncode == 0 and b"attend with none" in many.stderr,
                   many.stderr.decode())

    def deaths(self):
        """A rank is killed at a random moment: the run ends within five seconds, names it, and leaves nothing."""
        rolls = random.Random(5)
        for roll in range(20 if self.long else 4):
            count, victim = rolls.choice([(2, 0), (2, 1), (3, 2), (3, 1)])
            result = self.path(f"killed-{roll}.npy")
            command = mpirun(count) + [self.many, "logits", "-f", STORY, "--ctx", "6000", "--all", "-q", "-o", result]
            with open(self.path("said"), "wb") as said:
                run = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said,
                                       env=environment(), start_new_session=True)
                ranks = self.ranks_below(run, count)
                time.sleep(1.5 * rolls.random())
                if len(ranks) != count or run.poll() is not None:
                    run.wait()
                    self.check(f"death {roll}: {count} ranks at work", False, f"  found {len(ranks)}")
                    continue
                os.kill(ranks[victim], signal.SIGKILL)
                start = time.time()
                try:
                    status = run.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    os.killpg(run.pid, signal.SIGKILL)
                    status = 0
                while any(is_at_work(pid) for pid in ranks) and time.time() - start < 10:
                    time.sleep(0.05)
                took = time.time() - start
            left = [pid for pid in ranks if is_at_work(pid)]
            with open(self.path("said"), encoding="utf-8", errors="replace") as said:
                text = said.read()
            named = re.search(rf"rank {victim}\b", text) is not None
            files = [name for name in os.listdir(self.folder) if "killed" in name]
            self.check(f"death {roll}: rank {victim} of {count}", status != 0 and took < 5 and named and not left and
                       not files, f"  status {status}, {took:.1f} s, named {named}, left {left} {files}\n{text}")


    def ranks_below(self, run, count, limit=30):
        """The processes of a run by rank, once there are so many."""
        start, ranks = time.time(), []
        while len(ranks) < count and run.poll() is None and time.time() - start < limit:
            time.sleep(0.05)
            ranks = children_of(run.pid, self.many)
        return ranks

    def sweep_on(self, count, name, more=()):
        """The command of a sweep on ranks, or with 0 on a process without MPI."""
        start = [self.one] if count == 0 else mpirun(count) + [self.many]
        return start + ["sweep", self.path("plan.json"), "-q", "-o", self.path(name + ".jsonl"), "--html",
                        self.path(name + ".html"), *more]

    def sweeps(self):
        """The same report from any number of ranks, and from a run that was killed again and again."""
        plan = {"schemes": ["native", "alibi", "rope:scaling=yarn,factor={2,4}", "none", "t5_bias"],
                "lengths": [48, 64, 100], "protocols": ["whole", "sliding"], "tasks": ["copy", "find"], "seeds": [1],
                "tokens": 320}
        with open(self.path("plan.json"), "w", encoding="utf-8") as file:
            json.dump(plan, file)
        def read(name):
            with open(self.path(name), "rb") as file:
                return file.read()
        def same_page(name):
            return read(name + ".html") == read("one.html")
        one = self.run(self.sweep_on(0, "one"))
        units = len(read("one.jsonl").splitlines()) - 1
        self.check("a sweep on one process", one.returncode == 0 and units == 24, one.stderr.decode())
        for count in COUNTS if self.long else [1, 2, 5]:
            run = self.run(self.sweep_on(count, f"on-{count}"))
            lines = read(f"on-{count}.jsonl").splitlines()
            self.check(f"a sweep on {count} ranks", run.returncode == 0 and run.stdout == one.stdout and
                       same_page(f"on-{count}") and len(lines) == units + 1, run.stderr.decode())
        rolls, kills = random.Random(11), 0
        for _ in range(60):
            if kills == 10:
                break
            count = rolls.choice([1, 2, 3])
            run = subprocess.Popen(self.sweep_on(count, "killed"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env=environment(), start_new_session=True)
            ranks = self.ranks_below(run, count)
            time.sleep(1.5 * rolls.random())
            for pid in ranks:
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            kills += run.wait() != 0
            lines = read("killed.jsonl").splitlines() if os.path.exists(self.path("killed.jsonl")) else []
            if len(lines) > units:  # all done: once more from the middle, as a kill may leave it
                with open(self.path("killed.jsonl"), "r+b") as file:
                    file.truncate(rolls.randrange(os.path.getsize(self.path("killed.jsonl"))))
        last = self.run(self.sweep_on(2, "killed"))
        self.check(f"a sweep that was killed {kills} times", kills == 10 and last.returncode == 0 and
                   last.stdout == one.stdout and same_page("killed"), last.stderr.decode())
        self.no_space()

    def no_space(self):
        disk = self.path("disk")
        os.makedirs(disk)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", disk], stderr=subprocess.DEVNULL,
                          check=False).returncode != 0:
            print("no space for the journal: skipped, no small file system can be mounted here")
            return
        try:
            with open(os.path.join(disk, "filler"), "wb") as filler:
                filler.write(b"x" * 4096)
            command = self.sweep_on(2, "disk/full")
            command = command[:command.index("--html")]
            self.fails("no space for the journal", command, ["cannot write the journal", "No space left", "make room"])
        finally:
            subprocess.run(["umount", disk], check=False)


class Cable:
    """Two network namespaces, ordinal-a and ordinal-b, with a veth pair between them; needs root."""

    NAMES, ADDRESSES = ["ordinal-a", "ordinal-b"], ["10.77.0.1", "10.77.0.2"]

    def __init__(self, folder):
        self.agent = os.path.join(folder, "agent")

    def lay(self):
        def ip(*words):
            subprocess.run(["ip", *words], check=True, stderr=subprocess.PIPE)
        for name in self.NAMES:
            ip("netns", "add", name)
        a, b = self.NAMES
        ip("link", "add", "veth", "netns", a, "type", "veth", "peer", "name", "veth", "netns", b)
        for name, address in zip(self.NAMES, self.ADDRESSES):
            ip("-n", name, "addr", "add", address + "/24", "dev", "veth")
            for device in ["veth", "lo"]:
                ip("-n", name, "link", "set", device, "up")
        # In place of ssh: the other machine is a namespace with a host name of its own.
        with open(self.agent, "w", encoding="utf-8") as agent:
            agent.write(f"#!/bin/sh\nshift\nexec ip netns exec {self.NAMES[1]} unshare --uts sh -c "
                        f"\"hostname {self.NAMES[1]}; $*\"\n")
        os.chmod(self.agent, 0o755)

    def mpirun(self):
        # Unbound: each node counts processors from 0, and these two have the same ones.
        hosts = ",".join(address + ":1" for address in self.ADDRESSES)
        settings = {"plm_rsh_agent": self.agent, "btl": "tcp,self", "btl_tcp_if_include": "veth",
                    "oob_tcp_if_include": "veth"}
        return ["ip", "netns", "exec", self.NAMES[0], "mpirun", "--bind-to", "none", "--host", hosts, "-n", "2",
                *[word for name, value in settings.items() for word in ("--mca", name, value)]]

    def bytes_sent(self):
        shown = subprocess.run(["ip", "netns", "exec", self.NAMES[0], "cat", "/proc/net/dev"], check=True,
                               stdout=subprocess.PIPE, text=True).stdout
        return int(re.search(r"veth:\s*(.*)", shown).group(1).split()[8])

    def cut(self):
        for name in self.NAMES:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL, check=False)


def is_at_work(pid):
    """Whether a process is there; one that has ended and waits for its parent is not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def children_of(pid, program):
    """The processes below one that run a program, by rank."""
    parents, ranks = {}, {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as stat:
                parents[int(entry)] = int(stat.read().rsplit(")", 1)[1].split()[1])
            if os.readlink(f"/proc/{entry}/exe") == program:
                with open(f"/proc/{entry}/environ", "rb") as environ:
                    rank = re.search(rb"OMPI_COMM_WORLD_RANK=(\d+)", environ.read())
                ranks[int(entry)] = int(rank.group(1))
        except (OSError, AttributeError, ValueError):
            continue
    def below(child):
        while child in parents and child != pid:
            child = parents[child]
        return child == pid
    return [p for p, _ in sorted(ranks.items(), key=lambda item: item[1]) if below(p)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ordinal")
    parser.add_argument("ordinal_mpi")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    if shutil.which("mpirun") is None:
        sys.exit("check_ranks.py: there is no mpirun; install openmpi-bin")
    checks = Checks(options)
    try:
        for name in ["commands", "families", "kinds", "schemes", "isas", "namespaces", "faults", "deaths", "sweeps"]:
            checks.group(name, getattr(checks, name))
    finally:
        shutil.rmtree(checks.folder)
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(1 if checks.failed else 0)


main()
