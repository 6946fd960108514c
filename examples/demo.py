"""Demo: a few sentences translated by the bundle that ships, with what each word looked at.

python examples/demo.py FOLDER      the same as pictures in FOLDER
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SENTENCES = ("Rahul is a good boy.", "Where do you live?", "I don't know what he wants.", "She reads a book every day.")


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "demo")
    folder.mkdir(parents=True, exist_ok=True)
    regard = str(Path(sys.executable).with_name("regard"))
    for number, sentence in enumerate(SENTENCES, start=1):
        picture = str(folder / f"{number}.png")
        for more in ([], ["--out", picture]):
            done = subprocess.run([regard, "look", sentence, *more], check=False)
            if done.returncode:
                raise SystemExit(done.returncode)


if __name__ == "__main__":
    main()
