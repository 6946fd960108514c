"""Demo: a few sentences translated by the bundle that ships, with what each word looked at.

python examples/demo.py FOLDER      the same as pictures in FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

import regard
from regard.trace import fold
from regard.trace.show import save

SENTENCES = (
    "Rahul is a good boy.",
    "Where do you live?",
    "I don't know what he wants.",
    "She reads a book every day.",
    "Tom doesn't know what Mary wants to eat.",
)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "demo")
    folder.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False, markup=False)
    model = regard.load()
    for number, found in enumerate(model.translate(list(SENTENCES)), start=1):
        console.print(f"{found.source}\n{found.text}\n", model.heatmap(found.trace), "\n")
        words = fold.words(found.trace)
        reader, head = model.choice(words)
        save(words, folder / f"{number}.png", reader=reader, head=head, title=found.text)
    console.print(f"the same as pictures: {folder}/1.png to {len(SENTENCES)}.png")


if __name__ == "__main__":
    main()
