"""What is timed against each other: whole updates of models of the same sizes, from ids to changed weights.

the tutorials' loop   one word after another, embedding to output, attention and cell of torch's modules, Adam
the hoisted loop      the same with all that no step waits for done at once, AdamW in one kernel
Regard                built from a recipe, by Regard's own update, as it is and replayed as a CUDA graph
no attention          cuDNN's LSTM where the decoder stands, replayed: what a decoder can hardly be faster than
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from chip import DEVICE
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear

from regard import config
from regard.config import Recipe
from regard.layer import fused as kernels
from regard.model import build
from regard.source.batch import BOS, EOS, Padded, Pairs
from regard.train.replay import Replay
from regard.train.update import Descent, Update

Call = Callable[[], object]


@dataclass(frozen=True)
class Sizes:
    """`target` counts the symbols to predict."""

    rows: int
    source: int = 28
    target: int = 30
    width: int = 512
    symbols: int = 8000

    @property
    def tokens(self) -> int:
        return self.rows * self.target


def pairs(sizes: Sizes, *, ragged: bool = False) -> Pairs:
    """Random ids; rows of full length, or of any."""
    generator = torch.Generator().manual_seed(1)

    def ids(width: int) -> Tensor:
        return torch.randint(4, sizes.symbols, (sizes.rows, width), generator=generator)

    def padded(table: Tensor) -> Padded:
        least = table.shape[1] // 2 if ragged else table.shape[1]
        lengths = torch.randint(least, table.shape[1] + 1, (sizes.rows, 1), generator=generator)
        place = torch.arange(table.shape[1])
        return Padded(torch.where(place == lengths - 1, EOS, table) * (place < lengths), place < lengths)

    source, target = ids(sizes.source), ids(sizes.target + 1)
    target[:, 0] = BOS
    return Pairs(padded(source), padded(target), sizes.tokens).to(DEVICE)


class Loop(nn.Module):
    """Bahdanau's decoder as a student writes it; `hoisted`, by one who has seen the profile."""

    def __init__(self, sizes: Sizes, *, hoisted: bool) -> None:
        super().__init__()
        width = sizes.width
        self.hoisted = hoisted
        self.source, self.target = nn.Embedding(sizes.symbols, width), nn.Embedding(sizes.symbols, width)
        self.encoder = nn.LSTM(width, width // 2, bidirectional=True, batch_first=True)
        self.of_key, self.of_query = nn.Linear(width, width), nn.Linear(width, width)
        self.score = nn.Linear(width, 1)
        self.cell = nn.LSTMCell(2 * width, width)
        self.deep = nn.Linear(3 * width, width)
        self.output = nn.Linear(width, sizes.symbols)

    def read(self, hidden: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        scores = self.score(torch.tanh(self.of_query(hidden).unsqueeze(1) + keys)).squeeze(2)
        weights = torch.softmax(scores.masked_fill(~mask, -1e4), -1)
        return torch.bmm(weights.unsqueeze(1).to(values.dtype), values).squeeze(1)

    def forward(self, batch: Pairs) -> Tensor:
        values, _ = self.encoder(self.source(batch.source.ids))
        hidden = values.mean(1)
        cell, mask, words = torch.zeros_like(hidden), batch.source.mask, batch.target.ids[:, :-1]
        if self.hoisted:
            return self.ahead(words, hidden, cell, values, mask)
        scores = []
        for place in range(words.shape[1]):
            word = self.target(words[:, place])
            context = self.read(hidden, self.of_key(values), values, mask)
            hidden, cell = self.cell(torch.cat([word.to(context.dtype), context], -1), (hidden, cell))
            seen = torch.cat([hidden, context, word.to(hidden.dtype)], -1)
            scores.append(self.output(torch.tanh(self.deep(seen))))
        return torch.stack(scores, 1)

    def ahead(self, words: Tensor, hidden: Tensor, cell: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """Keys, words' gates and outputs of all steps at once; a step is what is left."""
        width, keys, word = hidden.shape[-1], self.of_key(values), self.target(words)
        of_word, of_context = self.cell.weight_ih.split(width, 1)
        known = linear(word, of_word, self.cell.bias_ih + self.cell.bias_hh)
        both = torch.cat([of_context, self.cell.weight_hh], 1)
        tops, contexts = [], []
        for gates in known.unbind(1):
            context = self.read(hidden, keys, values, mask)
            into, keep, new, out = (gates + linear(torch.cat([context, hidden], -1), both)).chunk(4, -1)
            cell = keep.sigmoid() * cell + into.sigmoid() * new.tanh()
            hidden = out.sigmoid() * cell.tanh()
            tops.append(hidden)
            contexts.append(context)
        top, context = torch.stack(tops, 1), torch.stack(contexts, 1)
        return self.output(torch.tanh(self.deep(torch.cat([top, context, word.to(top.dtype)], -1))))


class NoAttention(nn.Module):
    """The same without attention: cuDNN runs all steps of the decoder by itself."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        width = sizes.width
        self.source, self.target = nn.Embedding(sizes.symbols, width), nn.Embedding(sizes.symbols, width)
        self.encoder = nn.LSTM(width, width // 2, bidirectional=True, batch_first=True)
        self.decoder = nn.LSTM(width, width, batch_first=True)
        self.deep = nn.Linear(3 * width, width)
        self.output = nn.Linear(width, sizes.symbols)

    def forward(self, batch: Pairs) -> Tensor:
        values, _ = self.encoder(self.source(batch.source.ids))
        word = self.target(batch.target.ids[:, :-1])
        hidden = values.mean(1).unsqueeze(0)
        top, _ = self.decoder(word.to(hidden.dtype), (hidden, torch.zeros_like(hidden)))
        return self.output(torch.tanh(self.deep(torch.cat([top, top, word.to(top.dtype)], -1))))


def plain(model: nn.Module, batch: Pairs, *, adam: bool = False) -> Call:
    """An update as the tutorials make it, or with AdamW in one kernel."""
    model.to(DEVICE).train()
    on_gpu = DEVICE.type == "cuda"
    optimiser: torch.optim.Optimizer = (
        torch.optim.Adam(model.parameters(), 1e-3)
        if adam
        else torch.optim.AdamW(model.parameters(), 1e-3, fused=True, capturable=on_gpu)
    )

    def update() -> Tensor:
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast(DEVICE.type, torch.bfloat16):
            scores = model(batch)
        loss = cross_entropy(scores.flatten(0, 1), batch.target.ids[:, 1:].flatten())
        loss.backward()
        optimiser.step()
        return loss.detach()

    return update


def replayed(call: Call) -> Call:
    """A call as one CUDA graph; where there is no GPU, the call itself."""
    if DEVICE.type != "cuda":
        return call
    for _ in range(3):
        call()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
        call()
    return lambda: (graph.replay(), call)[0]  # what the graph reads lives as long as the call does


def recurrent(sizes: Sizes, **changes: object) -> Recipe:
    """The recipe of the benchmark, as a user writes it."""
    lines = {
        "kind": "bahdanau", "cell": "lstm", "score": "additive", "embedding": sizes.width, "width": sizes.width,
        **changes,
    }  # fmt: skip
    return _recipe(lines)


def transformer(width: int = 256, layers: int = 4) -> Recipe:
    lines = {"kind": "transformer", "width": width, "heads": 4, "inner": 4 * width, "encoder_layers": layers}
    return _recipe({**lines, "decoder_layers": layers, "dropout": 0.1})


def _recipe(model: dict[str, object]) -> Recipe:
    lines = [
        f"{key} = {str(value).lower() if isinstance(value, bool) else repr(value)}" for key, value in model.items()
    ]
    train = "[train]\nepochs = 1\nlabel_smoothing = 0.0\n"
    return config.loads("\n".join(["[model]", *lines, train]).replace("'", '"'), "benchmarks/gpu")


def ours(recipe: Recipe, sizes: Sizes, batch: Pairs, *, replay: bool, fused: bool = True) -> Call:
    """Regard's own update, to be called inside one lane."""
    torch.manual_seed(1)
    model = build(recipe.model, sizes.symbols, sizes.symbols, recipe.train).to(DEVICE).train()
    update: Update[Pairs] | Replay[Pairs] = Update(model, Descent(), "bfloat16")
    if replay and DEVICE.type == "cuda":
        update = Replay(update)
    return lambda: chosen(fused, lambda: update(batch, 0.5))


def chosen(fused: bool, call: Call) -> object:
    """With the kernels or without."""
    if fused:
        return call()
    ready = kernels.ready
    kernels.ready = lambda _: False
    try:
        return call()
    finally:
        kernels.ready = ready
