"""Gives every part of the package that takes foreign input what nobody should give it: ``python scripts/fuzz.py``.

Inputs are made in three ways: by changing pieces of good ones, from a grammar by Hypothesis, and for the readers by
atheris, where it is installed, which looks for inputs that reach new code. Each is taken in a forked process, so that
what it takes in time and memory is seen, and a crash is one finding more. Only errors of the package may come out.
Inputs that show a fault are kept in a folder, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import resource
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from fuzz_targets import READERS, TARGETS, Target, outcome
from hypothesis import HealthCheck, Phase, given, settings
from reliability import circumstances, put, table

MOST_SECONDS = 5.0  # of processor for one input
MOST_BYTES = 500_000_000  # of the process with the package in it
PATIENCE = 60.0  # seconds without an answer after which a process is ended
BATCH = 500  # inputs of a process
DONE = "done"


@dataclass
class Count:
    """What came of the inputs of one kind, by the way in which they were made."""

    made: Counter[str] = field(default_factory=Counter)
    taken: int = 0
    slowest: float = 0.0
    largest: int = 0
    findings: list[str] = field(default_factory=list)

    def add(self, way: str, said: str, seconds: float, memory: int) -> None:
        self.made[way] += 1
        self.taken += said == "taken"
        self.slowest, self.largest = max(self.slowest, seconds), max(self.largest, memory)


def judged(target: Target, data: bytes) -> tuple[str, float, int]:
    """What came of an input, the seconds of processor that it took, and the most memory that the process had."""
    began = time.process_time()
    said = outcome(target, data)
    seconds = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if seconds > MOST_SECONDS:
        said = f"finding: {seconds:.1f} s of processor"
    elif memory > MOST_BYTES:
        said = f"finding: {memory / 1e6:.0f} MB"
    return said, seconds, memory


def mutations(target: Target, name: str, seed: int, first: int, last: int) -> Iterator[bytes]:
    for k in range(first, last):
        yield target.made(Random(f"{seed}/{name}/{k}"))


def by_grammar(target: Target, seed: int, n: int, take: Callable[[bytes], None]) -> None:
    """Hand `n` inputs of the target's grammar to `take`."""
    assert target.grammar is not None

    @settings(
        max_examples=n, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(target.grammar)
    def run(data: bytes) -> None:
        take(data)

    from hypothesis import seed as seeded

    seeded(seed)(run)()


def apart(
    work: Callable[[Callable[[bytes], None]], None], target: Target, kept: Path
) -> Iterator[tuple[str, float, int]]:
    """Do a work in a forked process; yields what came of each input that it hands over, a fault of the process too."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(out)
        warnings.simplefilter("ignore")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what libraries print about damaged files

        def take(data: bytes) -> None:
            kept.write_bytes(data)
            said, seconds, memory = judged(target, data)
            os.write(into, f"{seconds:.6f} {memory} {said}\n".encode("utf-8", "backslashreplace"))
            if said.startswith("finding"):
                keep(kept, data, said)

        try:
            work(take)
            os.write(into, f"0 0 {DONE}\n".encode())
        finally:
            os._exit(0)
    os.close(into)
    ended = DONE
    for line in lines(out):
        if line is None:
            ended = f"no answer within {PATIENCE:.0f} s"
            break
        seconds, memory, said = line.split(" ", 2)
        if said == DONE:
            break
        yield said, float(seconds), int(memory)
    else:
        ended = "the process died"
    os.close(out)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if ended != DONE:
        keep(kept, kept.read_bytes(), ended)
        yield f"finding: {ended}", 0.0, 0


def lines(pipe: int) -> Iterator[str | None]:
    """What a process tells, line by line; None where it is silent for too long."""
    rest = b""
    while True:
        if not select.select([pipe], [], [], PATIENCE)[0]:
            yield None
            return
        part = os.read(pipe, 1 << 16)
        if not part:
            return
        *whole, rest = (rest + part).split(b"\n")
        yield from (line.decode() for line in whole)


def keep(beside: Path, data: bytes, said: str) -> None:
    """An input that shows a fault, and what it was."""
    name = beside.with_name(f"{beside.stem}-{hashlib.sha256(data).hexdigest()[:12]}")
    name.with_suffix(".input").write_bytes(data)
    name.with_suffix(".txt").write_text(f"{said}\n", "utf-8", errors="backslashreplace")


def fuzzed(name: str, target: Target, n: int, seed: int, folder: Path) -> Count:
    """`n` changed inputs, and as many from the grammar where there is one."""
    count, kept = Count(), folder / f"{name.replace(' ', '_')}.now"
    done = 0
    while done < n:
        first, last = done, min(n, done + BATCH)

        def change(take: Callable[[bytes], None], first: int = first, last: int = last) -> None:
            for data in mutations(target, name, seed, first, last):
                take(data)

        done += note(count, "changed", apart(change, target, kept))
    for first in range(0, n, BATCH) if target.grammar is not None else ():  # Hypothesis remembers what it made
        some = partial(by_grammar, target, seed + first, min(BATCH, n - first))
        note(count, "grammar", apart(some, target, kept))
    kept.unlink(missing_ok=True)
    return count


def note(count: Count, way: str, found: Iterator[tuple[str, float, int]]) -> int:
    n = 0
    for said, seconds, memory in found:
        count.add(way, said, seconds, memory)
        count.findings += [said] * said.startswith("finding")
        n += 1
    return max(n, 1)


def guided(name: str, seconds: int, folder: Path) -> tuple[int, list[str]]:
    """Let atheris look for inputs of a reader; how many it tried, and what it found."""
    corpus = folder / f"{name}-corpus"
    corpus.mkdir(exist_ok=True)
    for k, data in enumerate(READERS[name].seeds()):
        (corpus / f"seed{k}").write_bytes(data)
    limits = [f"-max_total_time={seconds}", f"-rss_limit_mb={MOST_BYTES * 2 >> 20}", "-timeout=20", "-max_len=20000"]
    command = [sys.executable, __file__, "--guided", name, str(corpus), *limits, f"-artifact_prefix={folder}/{name}-"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds * 3 + 120)
    tried = re.findall(r"(?:Done (\d+) runs|#(\d+)\s)", done.stderr)
    n = max((int(a or b) for a, b in tried), default=0)
    if done.returncode == 0 and n:
        return n, []
    return n, [f"finding by atheris: {' '.join(done.stderr.splitlines()[-12:])[:1500]}"]


def serve_atheris(name: str, arguments: list[str]) -> None:
    """In a process of its own: atheris never returns."""
    import atheris

    for module in [module for name, module in sys.modules.items() if name.startswith("spnmkl.data")]:
        for function in [f for f in vars(module).values() if getattr(f, "__module__", "") == module.__name__]:
            if hasattr(function, "__code__"):
                atheris.instrument_func(function)
    target = READERS[name]

    def one(data: bytes) -> None:
        said = outcome(target, data)
        if said.startswith("finding"):
            raise RuntimeError(said)

    atheris.Setup([sys.argv[0], *arguments], one)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=5000, help="of each kind and way; default 5000")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--atheris", type=int, default=60, metavar="SECONDS", help="for each reader; default 60")
    parser.add_argument("--only", nargs="+", choices=list(TARGETS), default=list(TARGETS), metavar="KIND")
    parser.add_argument("--findings", type=Path, help="a folder for inputs that show a fault; default: a new one")
    parser.add_argument("--page", action="store_true", help="write the counts into docs/reliability.md")
    if sys.argv[1:2] == ["--guided"]:
        serve_atheris(sys.argv[2], sys.argv[3:])
    asked = parser.parse_args()
    folder = asked.findings or Path(tempfile.mkdtemp(prefix="spnmkl-fuzz-"))
    folder.mkdir(parents=True, exist_ok=True)
    has_atheris = _has_atheris() and asked.atheris > 0
    if asked.atheris > 0 and not has_atheris:
        print("atheris is not installed for this Python: the readers are tried in the two other ways alone.")
    rows, findings, began = [], 0, time.monotonic()
    for name in asked.only:
        count = fuzzed(name, TARGETS[name], asked.inputs, asked.seed, folder)
        if has_atheris and name in READERS:
            count.made["atheris"], wrong = guided(name, asked.atheris, folder)
            count.findings += wrong
        findings += len(count.findings)
        ways = [f"{count.made[way]:,}" if count.made[way] else "" for way in ("changed", "grammar", "atheris")]
        bounds = [f"{count.slowest:.2f} s", f"{count.largest / 1e6:.0f} MB"]
        rows.append([name, *ways, f"{count.taken:,}", *bounds, str(len(count.findings))])
        print(" | ".join(rows[-1]), *Counter(count.findings).most_common(5), sep="\n  ", flush=True)
    head = ["input", "changed", "grammar", "atheris", "of the first two taken", "slowest", "memory", "faults"]
    if asked.page:
        only = "" if asked.only == list(TARGETS) else f" --only {shlex.join(asked.only)}"
        told = f"`python scripts/fuzz.py --inputs {asked.inputs} --atheris {asked.atheris} --seed {asked.seed}{only}`"
        took = f"{(time.monotonic() - began) / 60:.0f} minutes {circumstances()}"
        put("fuzz", f"{told}, {took}:\n\n{table(head, rows)}")
    print(f"{findings} faults; {'their inputs are in' if findings else 'nothing is kept in'} {folder}")
    return 1 if findings else 0


def _has_atheris() -> bool:
    from importlib.util import find_spec

    return find_spec("atheris") is not None


if __name__ == "__main__":
    sys.exit(main())
