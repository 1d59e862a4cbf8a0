"""Finds an order of the trigger texts in which the searcher meets few false candidates.

    python benchmarks/tune_triggers.py [SAMPLE.log]... [--steps 6000]

The searcher (aho-corasick's "Teddy") puts each text into one of 16 buckets (8 for at most 32 texts) by its place in
the list, and looks at the low and the high halves of its first four bytes. Texts that share a bucket match each other's
mixtures: the order decides how often that happens in healthy text. This anneals over orders, counting candidates in
the samples (by default generated healthy logs), and prints the list to paste into `diagnoser/sources/triggers.py`.
Needs numpy; a tool for developers.
"""

from __future__ import annotations

import argparse
import math
import random
from pathlib import Path

import logs
import numpy as np

from diagnoser.sources.triggers import LITERALS

FIRST_BYTES = 4
SAMPLE_BYTES = 3 * 1024 * 1024


class Sample:
    """Where in healthy text each half byte stands, as bit sets."""

    def __init__(self, text: bytes) -> None:
        data = np.frombuffer(text, np.uint8)
        count = len(data) - FIRST_BYTES
        self.kib = count / 1024
        self._low = [
            [np.packbits((data[at : count + at] & 15) == half) for half in range(16)] for at in range(FIRST_BYTES)
        ]
        self._high = [
            [np.packbits((data[at : count + at] >> 4) == half) for half in range(16)] for at in range(FIRST_BYTES)
        ]
        self._bits = np.array([bin(byte).count("1") for byte in range(256)], np.uint8)
        self._known: dict[frozenset[bytes], int] = {}

    def candidates(self, starts: frozenset[bytes]) -> int:
        """Places where a bucket with these first bytes has to be looked at."""
        if starts not in self._known:
            total = None
            for at in range(FIRST_BYTES):
                low = np.bitwise_or.reduce([self._low[at][half] for half in {start[at] & 15 for start in starts}])
                high = np.bitwise_or.reduce([self._high[at][half] for half in {start[at] >> 4 for start in starts}])
                here = low & high
                total = here if total is None else total & here
            self._known[starts] = int(self._bits[total].sum())
        return self._known[starts]


def cost(order: list[bytes], sample: Sample) -> int:
    """Candidates of the whole list; texts with the same low halves go to the bucket of the first of them."""
    buckets, size = {}, 8 if len(order) <= 32 else 16
    place_of: dict[bytes, int] = {}
    for place, text in enumerate(order):
        key = bytes(byte & 15 for byte in text[:FIRST_BYTES])
        buckets.setdefault(place_of.setdefault(key, place % size), []).append(text[:FIRST_BYTES])
    return sum(sample.candidates(frozenset(starts)) for starts in buckets.values())


def anneal(order: list[bytes], sample: Sample, steps: int, seed: int = 1) -> tuple[list[bytes], int]:
    """The best order found by swapping pairs."""
    chance = random.Random(seed)
    current, now = list(order), cost(order, sample)
    best, least, heat = list(current), now, now / 4 + 1
    for _ in range(steps):
        first, second = chance.sample(range(len(current)), 2)
        current[first], current[second] = current[second], current[first]
        then = cost(current, sample)
        if then <= now or chance.random() < math.exp((now - then) / heat):
            now = then
        else:
            current[first], current[second] = current[second], current[first]
        if now < least:
            best, least = list(current), now
        heat *= 0.998
    return best, least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", nargs="*", type=Path)
    parser.add_argument("--steps", type=int, default=6000)
    options = parser.parse_args()
    texts = [path.read_bytes()[:SAMPLE_BYTES] for path in options.samples]
    sample = Sample(
        b"".join(texts or [logs.healthy_block(size=SAMPLE_BYTES), logs.healthy_block(color=True, size=SAMPLE_BYTES)])
    )
    print(f"now: {cost(list(LITERALS), sample) / sample.kib:.3f} candidates per KiB")
    for text in LITERALS:
        if (alone := sample.candidates(frozenset([text[:FIRST_BYTES]])) / sample.kib) > 0.1:
            print(f"  {text!r} alone: {alone:.3f}")
    best, least = anneal(list(LITERALS), sample, options.steps)
    print(f"best: {least / sample.kib:.3f} candidates per KiB\n{best}")


if __name__ == "__main__":
    main()
