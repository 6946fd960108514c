"""regard train"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard import config
from regard.cli.call import Pairs, Source, Strict, Target, table, tell
from regard.config import Recipe
from regard.fault import Fault


def train(
    pairs: Pairs = None,
    recipe: Annotated[
        str | None, typer.Option("--recipe", "-r", help="A name of `regard recipes`, or a .toml.")
    ] = None,
    dev: Annotated[str | None, typer.Option(help="A table to measure on; without it a part is held out.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The folder of the bundle [default: runs/ and the table's name].")
    ] = None,
    minutes: Annotated[float | None, typer.Option(min=0, help="End after so long.")] = None,
    epochs: Annotated[float | None, typer.Option(min=0, help="End after so many passes over the data.")] = None,
    updates: Annotated[int | None, typer.Option(min=0, help="End after so many updates.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="key=value over the recipe, as train.rate=0.0005; many times.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    source: Source = None,
    target: Target = None,
    strict: Strict = False,
) -> None:
    """Learn a translator from a table of sentence pairs.

    Without --recipe the sizes follow from the amount of data. Ctrl-C saves; --resume goes on, to the bit.
    """
    from regard.source.lines import name
    from regard.task import training
    from regard.task.corpus import Table

    pairs_table = table(pairs, source, target)
    folder = out or Path("runs") / (Path(name(pairs_table.source)).name.partition(".")[0] or "model")
    kept = folder / training.RECIPE
    if recipe is None and resume and kept.is_file():
        recipe = str(kept)
    if recipe is None:
        count = None if pairs_table.fleeting else pairs_table.count()
        recipe = training.sized(count or 0)
        rows = "standard input, which is not counted first" if count is None else f"{count:,} rows"
        tell(f"recipe {recipe}, for {rows}: {config.recipes()[recipe]}")
    limits = {"minutes": minutes, "epochs": epochs, "updates": updates}
    chosen = _limited(config.load(recipe, settings or ()), limits)
    dev_table = None if dev is None else Table(dev)
    if pairs_table.fleeting and dev_table is not None and dev_table.fleeting:
        raise Fault("standard input can be the table or the dev table, not both")
    known = training.train(pairs_table, folder, chosen, dev=dev_table, resume=resume, strict=strict, tell=tell)
    dev_figures = known.bundle.about["figures"]["dev"]
    if dev_figures:
        scores = f"BLEU {dev_figures['bleu']:.1f}  chrF2 {dev_figures['chrf']:.1f}"
        tell(f"dev, beam {dev_figures['beam']}: {scores}")
    tell(f"the bundle is in {folder}; try: regard translate --model {folder} 'A sentence.'")


def _limited(recipe: Recipe, limits: dict[str, float | None]) -> Recipe:
    """The recipe with the end that the call names, which is then the only one."""
    named = {key: value for key, value in limits.items() if value is not None}
    if not named:
        return recipe
    over = [f"train.{key}={named.get(key, 0)}" for key in limits]
    return config.build(config.override(config.dump(recipe), over), "the call")
