"""Draw the house: the tree of the project with its sizes, who imports whom, and what has grown too large.

    python tools/house.py [ROOT]

Not a gate: it prints, a person judges.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

LONG_FUNCTION, LONG_FILE, MANY_PARAMETERS = 80, 400, 10
FOLDERS = ("src", "tests", "benchmarks", "tools", "examples")


def functions(tree: ast.AST) -> Iterator[tuple[str, int, int, int]]:
    """The name, first line, number of lines and number of parameters of each function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            a = node.args
            size = (node.end_lineno or node.lineno) - node.lineno + 1
            yield node.name, node.lineno, size, len(a.posonlyargs + a.args + a.kwonlyargs)


def imports(tree: ast.AST, package: str) -> Iterator[str]:
    """The rooms of the package that a file imports from."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        for name in names:
            parts = name.split(".")
            if parts[0] == package and len(parts) > 1:
                yield parts[1]


def too_large(where: Path, tree: ast.AST, lines: int) -> Iterator[str]:
    if lines > LONG_FILE:
        yield f"{where}: {lines} lines"
    for name, at, size, parameters in functions(tree):
        if size > LONG_FUNCTION:
            yield f"{where}:{at} {name}: {size} lines"
        if parameters > MANY_PARAMETERS:
            yield f"{where}:{at} {name}: {parameters} parameters"


def draw(root: Path) -> Iterator[str]:
    edges: defaultdict[str, set[str]] = defaultdict(set)
    folders: defaultdict[str, list[int]] = defaultdict(list)
    sizes: list[int] = []
    offenders: list[str] = []
    for path in sorted(file for folder in FOLDERS for file in (root / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        where, tree = path.relative_to(root), ast.parse(text)
        folders[str(where.parent)].append(text.count("\n"))
        offenders += too_large(where, tree, text.count("\n"))
        if where.parts[0] == "src" and len(where.parts) > 2:
            edges[where.parts[2].removesuffix(".py")].update(imports(tree, where.parts[1]))
            sizes += [size for _, _, size, _ in functions(tree)]
    for name, lines in sorted(folders.items()):
        yield f"{'  ' * name.count('/')}{name.rpartition('/')[2]}/  {len(lines)} files, {sum(lines)} lines"
    yield "\nimports, room by room"
    for room, seen in sorted(edges.items()):
        yield f"  {room}: {', '.join(sorted(seen - {room})) or '-'}"
    if sizes:
        sizes.sort()
        median, tenth = sizes[len(sizes) // 2], sizes[len(sizes) * 9 // 10]
        yield f"\n{len(sizes)} functions: median {median} lines, p90 {tenth}, longest {sizes[-1]}"
    yield "\n".join(["too large:", *(f"  {each}" for each in offenders)]) if offenders else "nothing is too large"


if __name__ == "__main__":
    print("\n".join(draw(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())))
