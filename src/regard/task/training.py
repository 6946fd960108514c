"""Training: a table and a recipe → a bundle. It wires data, model, run and measuring, which do not know each other."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, final

import torch

from regard import config
from regard.config import Recipe
from regard.fault import Fault
from regard.model import build
from regard.source.store import Store
from regard.source.stream import Batches
from regard.source.vocabulary import Vary, Vocabulary
from regard.task.bundle import ABOUT, Bundle
from regard.task.corpus import Asked, Corpus, Table, Tell, prepare
from regard.task.examiner import Examiner
from regard.task.translator import Translator
from regard.train.average import Averaging
from regard.train.lock import locked
from regard.train.plan import Plan, Result
from regard.train.run import run
from regard.train.schedule import Budget
from regard.train.terminal import Terminal
from regard.train.update import Descent
from regard.train.watch import Measured, MetricsFile, Place, Report, TensorBoard, Watchers
from regard.whole import whole_text

RECIPE: Final = "recipe.toml"
# Lengths and rows are multiples of these, so that there are few shapes: a GPU records each once; a processor compiles
# its products for each, which does not end where pieces vary.
ON_GPU, VARYING, STEADY = 8, 4, 1
BOXES: Final = 24  # pairs of lengths that all batches have on a GPU, where pieces do not vary
SIZES: Final = (("small", 0), ("medium", 10_000), ("large", 400_000))  # recipes, and from how many pairs on


def sized(pairs: int) -> str:
    """The recipe for so many pairs, when nobody chose one."""
    return [name for name, least in SIZES if pairs >= least][-1]


def train(
    table: Table,
    out: Path,
    recipe: Recipe,
    *,
    dev: Table | None = None,
    resume: bool = False,
    strict: bool = False,
    tell: Tell = print,
) -> Translator:
    """Trains in the folder `out` until the recipe's budget is spent, and leaves a bundle there."""
    config.check(recipe)
    for each in (table, dev):
        if each is not None:
            each.look()
    told, data = recipe.train, recipe.data
    _made(out, resume)
    with locked(out):
        corpus = prepare(
            Asked(table, dev, data, told.dev_pairs, told.seed, strict), _folder(out / "data"), resume, tell
        )
        kept = RecipeFile(out / RECIPE, recipe)
        if not any((out / "checkpoints").glob("[0-9]*")):  # else the run has to accept it first
            kept.write()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(told.seed)
    model = build(recipe.model, len(corpus.source), len(corpus.target), told).to(device)
    weights = sum(each.numel() for each in model.parameters())
    sizes = f"{len(corpus.train):,} pairs, {len(corpus.source):,} and {len(corpus.target):,} symbols"
    tell(f"{recipe.name or 'the model'}: {sizes}, {weights:,} weights, on {_named(device)}")
    batches = batched(corpus.train, (corpus.source, corpus.target), recipe, device)
    made = Bundle(recipe, model, corpus.source, corpus.target)
    examiner = Examiner(made, corpus.dev)
    watcher = Watchers([kept, Terminal(), MetricsFile(out / "metrics.jsonl"), TensorBoard(out / "board")])
    plan = _plan(recipe, corpus.fingerprint)
    result = run(model, batches, plan, out, measure=examiner.measure, watcher=watcher, resume=resume)
    done = replace(made, about=_about(recipe, corpus, result, examiner, device), where=str(out))
    done.save(out)
    return Translator(done)


def batched(store: Store, vocabularies: tuple[Vocabulary, Vocabulary], recipe: Recipe, device: torch.device) -> Batches:
    """The batches of a run on that device."""
    told, data = recipe.train, recipe.data
    source, target = (
        Vary.of(vocabulary, side.dropout, told.seed + number)
        for number, (vocabulary, side) in enumerate(zip(vocabularies, (data.source, data.target), strict=True))
    )
    gpu, varies = device.type == "cuda", source is not None or target is not None
    return Batches(
        store,
        told.batch_tokens,
        told.seed,
        source_vary=source,
        target_vary=target,
        multiple=ON_GPU if gpu else VARYING if varies else STEADY,
        most=BOXES if gpu else 0,
    )


@final
@dataclass(frozen=True, slots=True)
class RecipeFile:
    """A watcher that writes the recipe into the run's folder, once the run has begun with it."""

    path: Path
    recipe: Recipe

    def write(self) -> None:
        whole_text(self.path, config.to_toml(self.recipe))

    def began(self, place: Place) -> None:
        self.write()

    def updated(self, place: Place) -> None: ...
    def reported(self, report: Report) -> None: ...
    def measured(self, measured: Measured) -> None: ...
    def told(self, line: str) -> None: ...
    def ended(self, why: str) -> None: ...


def _made(out: Path, resume: bool) -> None:
    """The folder, and no run in it that would be lost; asked before the data are read, which may take long."""
    if (out / ABOUT).is_file() and not (out / "checkpoints").is_dir():
        raise Fault(f"{out}: there is a bundle in it already; give another folder")
    if not resume and any((out / "checkpoints").glob("[0-9]*")):
        raise Fault(f"{out}: there is a run in it already; go on with it by --resume, or give another folder")
    _folder(out)


def _folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Fault(f"{path}: cannot be made: {error.strerror}") from error
    return path


def _named(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else f"{torch.get_num_threads()} CPU cores"


def _plan(recipe: Recipe, fingerprint: str) -> Plan:
    told = recipe.train
    return Plan(
        budget=Budget(told.minutes, told.epochs, told.updates),
        descent=Descent(told.rate, told.warmup, told.schedule, told.weight_decay, told.clip),
        averaging=Averaging(told.average, told.average_decay, told.average_last),
        precision=told.precision,
        checkpoint_updates=told.checkpoint_updates,
        keep=told.keep,
        patience=told.patience,
        seed=told.seed,
        replay=told.replay,
        identity=_identity(recipe, fingerprint),
    )


def _identity(recipe: Recipe, fingerprint: str) -> str:
    """What a resumed run must find as it was, beyond what the plan itself compares."""
    told = recipe.train
    loss = [told.batch_tokens, told.label_smoothing, told.sampling, asdict(told.penalties), told.reinforce_entropy]
    parts = [fingerprint, asdict(recipe.model), asdict(recipe.data), loss]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _about(recipe: Recipe, corpus: Corpus, result: Result, examiner: Examiner, device: torch.device) -> dict[str, Any]:
    made = {
        "date": datetime.now(UTC).date().isoformat(),
        "updates": result.updates,
        "epochs": round(result.epochs, 3),
        "minutes": round(result.seconds / 60, 2),
        "ended": result.why,
        "machine": f"{_named(device)} ({platform.machine()})",
        "torch": torch.__version__,
    }
    return {
        "data": corpus.about,
        "provenance": made,
        "licence": recipe.licence or "that of the data it was trained on",
        "attribution": recipe.attribution,
        "figures": {"dev": examiner.figures()},
        "choice": examiner.choice(),
    }
