"""Mechanisms: docs/mechanisms.md, written from the docstrings that open the files of the mechanisms.

    python tools/mechanisms.py [--check]

A docstring that names a paper is a mechanism: what it says up to the paper is its equation, and the next paragraph
too where the first holds no equation.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import final

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "mechanisms.md"

PARTS = {
    "attention/score": "Score: how well does a query match a key?",
    "attention/scope": "Scope: which slots may a query look at?",
    "attention/align": "Align: how do energies become weights?",
    "attention": "Around them",
    "encode": "Encoders: what is read becomes a memory",
    "decode": "Decoders: a memory becomes symbols",
}

PAPERS = {
    "Bahdanau 2015": "D. Bahdanau, K. Cho, Y. Bengio. Neural Machine Translation by Jointly Learning to Align and "
    "Translate. ICLR 2015, arXiv:1409.0473",
    "Chorowski 2015": "J. Chorowski et al. Attention-Based Models for Speech Recognition. NIPS 2015, arXiv:1506.07503",
    "Luong 2015": "M.-T. Luong, H. Pham, C. D. Manning. Effective Approaches to Attention-based Neural Machine "
    "Translation. EMNLP 2015, arXiv:1508.04025",
    "Raffel 2017": "C. Raffel et al. Online and Linear-Time Attention by Enforcing Monotonic Alignments. ICML 2017, "
    "arXiv:1704.00784",
    "Su 2021": "J. Su et al. RoFormer: Enhanced Transformer with Rotary Position Embedding. arXiv:2104.09864",
    "Sutskever 2014": "I. Sutskever, O. Vinyals, Q. V. Le. Sequence to Sequence Learning with Neural Networks. "
    "NIPS 2014, arXiv:1409.3215",
    "Vaswani 2017": "A. Vaswani et al. Attention Is All You Need. NIPS 2017, arXiv:1706.03762",
    "Xiong 2020": "R. Xiong et al. On Layer Normalization in the Transformer Architecture. ICML 2020, arXiv:2002.04745",
    "Xu 2015": "K. Xu et al. Show, Attend and Tell: Neural Image Caption Generation with Visual Attention. ICML 2015, "
    "arXiv:1502.03044",
}

OPENING = r"""# The mechanisms

Made by `make docs` from the docstrings of the files it names; a test keeps it up to date. Every mechanism is an answer
to one of the questions below; put together they are one equation,

$$\mathrm{Attention}(\mathrm{Query}, \mathrm{Source}) = \sum_i \mathrm{similarity}(q, k_i)\, v_i
\qquad c_t = \sum_i a_{ti} v_i, \quad a_t = \mathrm{align}(f(q_t, k_i)) \text{ over the slots in scope}$$

where the source is a memory of keys $k_i$ and values $v_i$. A mechanism bears the name of its file, which is also what
a recipe calls it.
"""

_PAPER = re.compile(r"\(([A-Z][a-z]+ (?:19|20)\d\d)([^)]*)\)")


@final
@dataclass(frozen=True, slots=True)
class Mechanism:
    name: str
    says: str
    papers: tuple[tuple[str, str], ...]  # the paper, and where in it
    file: str

    def row(self) -> str:
        # a bar would end the cell, inside an equation too
        says = self.says.replace("|", r"\vert ")
        papers = "; ".join(f"{paper}{place}" for paper, place in self.papers)
        return f"| `{self.name}` | {says} | {papers} | [{self.file}](../src/regard/{self.file}) |"


def mechanism(file: Path, rooms: Path) -> Mechanism | None:
    """What the docstring of a file says of its mechanism, or None where it names no paper."""
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    papers = tuple(dict.fromkeys((found[1], found[2].rstrip(".")) for found in _PAPER.finditer(text)))
    if not papers:
        return None
    first, *more = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
    says = [_PAPER.split(first.partition(": ")[2])[0]]
    if "$" not in first and more and "$" in more[0]:
        says.append(_PAPER.sub("", more[0]))
    return Mechanism(
        file.stem, " ".join(each.strip(" .,") for each in says if each), papers, file.relative_to(rooms).as_posix()
    )


def page(rooms: Path) -> str:
    """The whole page, from the files below `rooms`."""
    parts = [OPENING]
    cited: set[str] = set()
    for folder, title in PARTS.items():
        found = [each for file in sorted((rooms / folder).glob("*.py")) if (each := mechanism(file, rooms))]
        cited |= {paper for each in found for paper, _ in each.papers}
        rows = "\n".join(each.row() for each in found)
        parts.append(f"## {title}\n\n| mechanism | equation | paper | file |\n|---|---|---|---|\n{rows}\n")
    if missing := sorted(cited - PAPERS.keys()):
        raise SystemExit(f"tools/mechanisms.py: PAPERS lacks {', '.join(missing)}")
    parts.append("## Papers\n\n" + "\n".join(f"- {paper}: {PAPERS[paper]}" for paper in sorted(cited)) + "\n")
    return "\n".join(parts)


def main() -> None:
    made = page(ROOT / "src" / "regard")
    if "--check" in sys.argv[1:]:
        if not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != made:
            raise SystemExit("docs/mechanisms.md is not what the docstrings say: make docs")
        return
    PAGE.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
