"""How many names that no training pair has come through a translation as they are written.

    python benchmarks/names.py [TABLE.tsv] [--model en-mr] [--sentences 200]

In sentences with Tom one of fifty real names takes his place. It counts the outputs that have that name to the letter,
and does not know whether the rest of the sentence is right.
"""

from __future__ import annotations

import argparse
import random
import re
from pathlib import Path

import regard
from regard.source.report import Report
from regard.source.table import read

EXAMPLES = Path(__file__).parents[1] / "examples" / "pairs.tsv"
TOM = re.compile(r"\bTom\b")
NAMES = (
    "Rahul Srinivasan Kavita Deepak Priyanka Sachin Aishwarya Kevin William Fatima Chen Olga Rohan Vikram Ananya Meera "
    "Suresh Lakshmi Arjun Pooja Sanjay Brian Heather Scott Jessica Michael Sarah Ahmed Yusuf Ivan Natasha Hiroshi Yuki "
    "Carlos Maria Pedro Ganesh Neha Vijay Swati Nikhil Tejas Gauri Omkar Shruti Emily Oliver Sophie Liam Noah"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", nargs="?", default=str(EXAMPLES))
    parser.add_argument("--model", default="en-mr")
    parser.add_argument("--sentences", type=int, default=200)
    asked = parser.parse_args()
    draw = random.Random(3)
    texts = dict.fromkeys(pair.source for pair in read(asked.table, None, Report()))
    about = [text for text in texts if len(TOM.findall(text)) == 1]
    chosen = [(text, draw.choice(NAMES.split())) for text in draw.sample(about, min(asked.sentences, len(about)))]
    outputs = regard.load(asked.model).translate([TOM.sub(name, text) for text, name in chosen])
    kept = [name in output.text for (_, name), output in zip(chosen, outputs, strict=True)]
    print(f"{asked.model}: {sum(kept)} of {len(kept)} outputs have the name to the letter")


if __name__ == "__main__":
    main()
