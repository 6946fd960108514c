"""The tutorials' translator, as a student writes it from them: words, a bidirectional GRU, additive attention, one step
after another in eager PyTorch, Adam, greedy decoding. No subwords, no schedule, no tricks.

Where the tutorials differ it does what serves it: it masks padding, packs the encoder's rows and keeps case.
"""

from __future__ import annotations

import random
import re
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from peers.trial import Asked, Data, Row

PAD, START, END, UNKNOWN = range(4)
WORDS = 20_000
BATCH, WIDTH, DROP, RATE = 64, 256, 0.1, 0.001
LONGEST = 50
STRETCH = 100  # updates of which the speed is told


class Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.of_query, self.of_key = nn.Linear(width, width), nn.Linear(width, width)
        self.score = nn.Linear(width, 1)

    def forward(self, query: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        scores = self.score(torch.tanh(self.of_query(query) + self.of_key(keys))).squeeze(2)
        weights = torch.softmax(scores.masked_fill(~mask, -1e9), -1)
        return torch.bmm(weights.unsqueeze(1), keys)


class Student(nn.Module):
    def __init__(self, source: int, target: int, width: int = WIDTH) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(source, width, PAD), nn.Embedding(target, width, PAD)
        self.dropout = nn.Dropout(DROP)
        self.encoder = nn.GRU(width, width // 2, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(width, width)
        self.attention = Attention(width)
        self.decoder = nn.GRU(2 * width, width, batch_first=True)
        self.output = nn.Linear(width, target)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mask = source != PAD
        embedded = self.dropout(self.source(source))
        packed = pack_padded_sequence(embedded, mask.sum(1), batch_first=True, enforce_sorted=False)
        outputs, hidden = self.encoder(packed)
        keys, _ = pad_packed_sequence(outputs, batch_first=True, total_length=source.shape[1])
        return keys, torch.tanh(self.bridge(torch.cat([hidden[0], hidden[1]], 1))).unsqueeze(0), mask

    def step(self, word: Tensor, hidden: Tensor, keys: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        embedded = self.dropout(self.target(word)).unsqueeze(1)
        context = self.attention(hidden.permute(1, 0, 2), keys, mask)
        output, hidden = self.decoder(torch.cat([embedded, context], 2), hidden)
        return self.output(output).squeeze(1), hidden

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Scores of every next word, with the right words fed back."""
        keys, hidden, mask = self.encode(source)
        scores = []
        for place in range(target.shape[1] - 1):
            score, hidden = self.step(target[:, place], hidden, keys, mask)
            scores.append(score)
        return torch.stack(scores, 1)

    @torch.no_grad()
    def greedy(self, source: Tensor) -> Tensor:
        keys, hidden, mask = self.encode(source)
        word = torch.full((source.shape[0],), START)
        words, ended = [], torch.zeros_like(word, dtype=torch.bool)
        for _ in range(LONGEST):
            score, hidden = self.step(word, hidden, keys, mask)
            word = score.argmax(1)
            words.append(word)
            ended |= word == END
            if ended.all():
                break
        return torch.stack(words, 1)


class Learning:
    """The usual lines: zero the gradients, forward, loss, backward, step."""

    def __init__(self, model: Student) -> None:
        self.model = model
        self.optimiser = torch.optim.Adam(model.parameters(), RATE)
        self.loss = nn.CrossEntropyLoss(ignore_index=PAD)

    def update(self, source: Tensor, target: Tensor) -> float:
        self.optimiser.zero_grad()
        scores = self.model(source, target)
        loss = self.loss(scores.reshape(-1, scores.shape[-1]), target[:, 1:].reshape(-1))
        loss.backward()
        self.optimiser.step()
        return loss.item()


class Words:
    def __init__(self, texts: Sequence[str]) -> None:
        counts = Counter(word for text in texts for word in split(text))
        self.words = ["", "", "", "", *(word for word, _ in counts.most_common(WORDS))]
        self.number = {word: number for number, word in enumerate(self.words) if number > UNKNOWN}

    def encode(self, text: str) -> Tensor:
        return torch.tensor([START, *(self.number.get(word, UNKNOWN) for word in split(text)), END])

    def decode(self, row: Tensor) -> str:
        numbers = row.tolist()
        numbers = numbers[: numbers.index(END)] if END in numbers else numbers
        return re.sub(r" ([?.!,])", r"\1", " ".join(self.words[number] for number in numbers))


def split(text: str) -> list[str]:
    return re.sub(r"([?.!,])", r" \1 ", text).split()


def batches(rows: list[tuple[Tensor, Tensor]]) -> Iterator[tuple[Tensor, Tensor]]:
    while True:
        random.shuffle(rows)
        for first in range(0, len(rows), BATCH):
            sources, targets = zip(*rows[first : first + BATCH], strict=True)
            yield pad_sequence(sources, True, PAD), pad_sequence(targets, True, PAD)


def run(data: Data, asked: Asked) -> Row:
    torch.manual_seed(1)
    random.seed(1)
    source = Words([pair.source for pair in data.train])
    target = Words([pair.target for pair in data.train])
    rows = [(source.encode(pair.source), target.encode(pair.target)) for pair in data.train]
    learning = Learning(Student(len(source.words), len(target.words)))
    updates, speeds, minutes = learn(learning, rows, asked.minutes)
    learning.model.eval()
    sources = [source.encode(text) for text in data.sources]
    outputs = []
    for first in range(0, len(sources), BATCH):
        outputs.extend(learning.model.greedy(pad_sequence(sources[first : first + BATCH], True, PAD)))
    return Row(
        scores=data.scores([target.decode(row) for row in outputs]),
        speed=statistics.median(speeds),
        tokens="words",
        updates=updates,
        minutes=minutes,
        about=(
            f"{len(source.words):,} + {len(target.words):,} words; bi-GRU 2×128, GRU 256, embeddings 256, additive "
            f"attention step by step, dropout {DROP}, Adam {RATE}, fp32, {BATCH} sentences a batch; greedy"
        ),
    )


def learn(learning: Learning, rows: list[tuple[Tensor, Tensor]], minutes: float) -> tuple[int, list[float], float]:
    """How many updates the time held, the target words a second of each stretch, and the minutes."""
    began = since = time.monotonic()
    tokens, speeds = 0, []
    for number, (source, target) in enumerate(batches(rows), start=1):
        learning.update(source, target)
        tokens += int((target[:, 1:] != PAD).sum())
        now = time.monotonic()
        over = now >= began + 60 * minutes
        if number % STRETCH == 0 or (over and not speeds):
            speeds.append(tokens / (now - since))
            tokens, since = 0, now
        if over:
            return number, speeds, (now - began) / 60
    raise AssertionError("batches have no end")
