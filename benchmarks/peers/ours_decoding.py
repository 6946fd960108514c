"""Regard as a worker of translate.py: python ours_decoding.py BUNDLE ENGINE SENTENCES, then a word a line.

A number is a beam, with which all sentences are translated; `alone N` translates each of the first N by itself and
tells the medians: of the whole, and of the time that is spent in the decoder's steps; `memory` is the most that was
ever resident.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from regard.task import bundle
from regard.task.translation import Wish
from regard.task.translator import Translator


def main() -> None:
    path, engine, sentences = sys.argv[1:]
    known = Translator(bundle.opened(path), engine=engine)  # type: ignore[arg-type]
    texts = Path(sentences).read_text(encoding="utf-8").splitlines()
    known.translate(texts[:64], wished(known, 5))
    for word in sys.stdin:
        print(json.dumps(answered(known, texts, word.split())), flush=True)


def answered(known: Translator, texts: list[str], words: list[str]) -> dict[str, Any]:
    if words[0] == "memory":
        return {"mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
    if words[0] == "alone":
        return alone(known, texts[: int(words[1])])
    wish = wished(known, int(words[0]))
    began = time.perf_counter()
    found = known.translate(texts, wish)
    return {"seconds": time.perf_counter() - began, "pieces": sum(len(each.ids) + 1 for each in found)}


def wished(known: Translator, beam: int) -> Wish:
    return replace(known.wish, search=replace(known.wish.search, beam=beam, coverage=0.0))


def alone(known: Translator, texts: list[str]) -> dict[str, Any]:
    from regard.engine.steps import Steps

    spent, step = [0.0], Steps.step

    def timed(self: Steps, tokens: Any, state: Any) -> Any:
        began = time.perf_counter()
        made = step(self, tokens, state)
        spent[0] += time.perf_counter() - began
        return made

    Steps.step = timed  # type: ignore[method-assign]
    whole, steps = [], []
    for text in texts:
        spent[0] = 0.0
        began = time.perf_counter()
        known.translate(text, wished(known, 5))
        whole.append(time.perf_counter() - began)
        steps.append(spent[0])
    Steps.step = step  # type: ignore[method-assign]
    return {"whole": statistics.median(whole), "steps": statistics.median(steps)}


if __name__ == "__main__":
    main()
