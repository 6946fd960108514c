"""regard models, regard recipes, regard export"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from regard import config
from regard.cli.call import SHIPPED, Json, Model, tell, write


def models(as_json: Json = False) -> None:
    """List the bundles that ship."""
    from regard.task import bundle

    cards = {name: bundle.card(path) for name, path in bundle.shipped().items()}
    if as_json:
        write(_json({"name": name, **card}) for name, card in cards.items())
        return
    for name, card in cards.items():
        dev = card.get("figures", {}).get("dev", {})
        score = f"; BLEU {dev['bleu']:.1f}, chrF2 {dev['chrf']:.1f} on its dev part" if dev else ""
        write([f"{name:<14}{card['recipe'].get('about', '')}{score} [{card.get('licence', '')}]"])


def recipes(
    name: Annotated[str | None, typer.Argument(help="Print this one, with every key.")] = None,
    as_json: Json = False,
) -> None:
    """List the recipes that ship, or print one in full."""
    if name is not None:
        recipe = config.load(name)
        write([_json(config.dump(recipe)) if as_json else config.to_toml(recipe).rstrip("\n")])
    elif as_json:
        write(_json({"name": each, "about": about}) for each, about in config.recipes().items())
    else:
        write(f"{each:<14}{about}" for each, about in config.recipes().items())


def _json(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False)


def export(
    out: Annotated[Path, typer.Argument(help="A folder, or a file that ends in .zip.")],
    model: Model = SHIPPED,
    weights: Annotated[Literal["float32", "int8"], typer.Option(help="int8 is a quarter as large.")] = "float32",
    to: Annotated[
        Literal["torch", "onnx"], typer.Option(help="onnx: with graphs too, by which it runs without torch.")
    ] = "torch",
) -> None:
    """Write a bundle anew without what its training left behind: to pass on, smaller, or with graphs."""
    from regard.task import bundle

    bundle.export(bundle.load(model), out, weights, graphs=to == "onnx")
    tell(f"{out} is written")
