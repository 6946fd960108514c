"""Sample: a small table of pairs out of a large one, with a dev part, as a pure function of the table and a seed.

    python tools/sample.py TABLE.tsv --out examples

Only sentences made of the table's most common words are taken, so that a minute of training has something to learn
from, and as many of each length as there are, turn by turn. Whatever is the same sentence but for case and
punctuation stands on one side, with all its translations; every column of a line is kept as it was.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

Group = list[str]  # the lines of one sentence
LONGEST = 9  # words; all longer sentences count as one length


def words(line: str) -> tuple[str, ...]:
    """The source of a line, without case and punctuation: what makes two sentences the same."""
    return tuple(re.findall(r"[\w']+", line.partition("\t")[0].lower()))


def groups(lines: list[str], common: int) -> list[Group]:
    """The lines of each sentence that holds common words alone, in the order of the table."""
    together: dict[tuple[str, ...], Group] = {}
    for line in lines:
        together.setdefault(words(line), []).append(line)
    count = Counter(word for sentence in together for word in sentence)
    known = {word for word, _ in sorted(count.items(), key=lambda each: (-each[1], each[0]))[:common]}
    return [group for sentence, group in together.items() if sentence and known.issuperset(sentence)]


def spread(choice: list[Group], chance: random.Random) -> Iterator[Group]:
    """All groups, shuffled: one of each length, then one of each again, until none is left."""
    by_length: dict[int, list[Group]] = {}
    for group in choice:
        by_length.setdefault(min(len(words(group[0])), LONGEST), []).append(group)
    for same in by_length.values():
        chance.shuffle(same)
    while by_length:
        for length in sorted(by_length):
            yield by_length[length].pop()
            if not by_length[length]:
                del by_length[length]


def take(choice: Iterator[Group], pairs: int) -> list[str]:
    """Whole groups until there are so many pairs, from short to long."""
    taken: list[Group] = []
    for group in choice:
        taken.append(group)
        if sum(map(len, taken)) >= pairs:
            break
    return [line for group in sorted(taken, key=lambda each: (len(words(each[0])), words(each[0]))) for line in group]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path, help="source TAB target TAB attribution")
    parser.add_argument("--out", type=Path, required=True, help="the folder for pairs.tsv and dev.tsv")
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--dev", type=int, default=200)
    parser.add_argument("--common", type=int, default=200, help="how many words count as common")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    lines = asked.table.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    choice = spread(groups(lines, asked.common), random.Random(asked.seed))
    for name, pairs in (("dev.tsv", asked.dev), ("pairs.tsv", asked.pairs)):
        part = take(choice, pairs)
        (asked.out / name).write_text("".join(f"{line}\n" for line in part), encoding="utf-8")
        print(f"{asked.out / name}: {len(part)} pairs of {len({words(line) for line in part})} sentences")


if __name__ == "__main__":
    main()
