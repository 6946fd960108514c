"""CTranslate2 as a worker of translate.py: python ctranslate2_decoding.py BUNDLE FOLDER SENTENCES COMPUTE.

It converts a bundle of a pre-norm Transformer with sinusoidal places, once, and then translates pieces to pieces with
the beam of each line; `outputs` gives the pieces of the last ones. It runs in an environment without Regard or torch.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
from ctranslate2.specs import transformer_spec
from safetensors.numpy import load_file
from tokenizers import Tokenizer

PLACES = 512


def main() -> None:
    bundle, folder, sentences = map(Path, sys.argv[1:4])
    source = Tokenizer.from_file(str(bundle / "source.json"))
    if not (folder / "model.bin").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        convert(bundle, folder)
    rows = sentences.read_text(encoding="utf-8").splitlines()
    tokens = [source.encode(row, add_special_tokens=False).tokens for row in rows]
    threads = len(os.sched_getaffinity(0))
    # so many batches side by side, each in one thread: the quickest way for many short sentences
    translator = ctranslate2.Translator(str(folder), compute_type=sys.argv[4], inter_threads=threads, intra_threads=1)
    found: list[Any] = translator.translate_batch(tokens[:64], beam_size=5)
    for word in sys.stdin:
        if word.strip() == "outputs":
            print(json.dumps({"outputs": [each.hypotheses[0] for each in found]}), flush=True)
            continue
        began = time.perf_counter()
        found = translator.translate_batch(tokens, beam_size=int(word), max_batch_size=32)
        seconds = time.perf_counter() - began
        pieces = sum(len(each.hypotheses[0]) + 1 for each in found)
        print(json.dumps({"seconds": seconds, "pieces": pieces}), flush=True)


def convert(bundle: Path, folder: Path) -> None:
    about = json.loads((bundle / "regard.json").read_text(encoding="utf-8"))["recipe"]["model"]
    kept = load_file(bundle / "weights.safetensors")
    layers = about["encoder_layers"], about["decoder_layers"]
    spec = transformer_spec.TransformerSpec.from_config(layers, about["heads"], pre_norm=True)
    for side, model in (("encoder", spec.encoder), ("decoder", spec.decoder)):
        embedding = model.embeddings[0] if side == "encoder" else model.embeddings
        embedding.weight = kept[f"{side}.embedding.table.weight"]
        model.scale_embeddings = True
        model.position_encodings.encodings = sinusoidal(about["width"])
        normed(model.layer_norm, kept, f"{side}.norm")
        for number, layer in enumerate(model.layer):
            name = f"{side}.layers.{number}"
            attended(layer.self_attention, kept, f"{name}.itself", f"{name}.before_itself", [["query", "key", "value"]])
            if side == "decoder":
                parts = [["query"], ["key", "value"]]
                attended(layer.attention, kept, f"{name}.source", f"{name}.before_source", parts)
            normed(layer.ffn.layer_norm, kept, f"{name}.before_feed")
            product(layer.ffn.linear_0, kept, [f"{name}.feed.inner"])
            product(layer.ffn.linear_1, kept, [f"{name}.feed.outer"])
    spec.decoder.projection.weight = kept.get("output.weight", kept["decoder.embedding.table.weight"])
    spec.decoder.projection.bias = kept["output.bias"]
    for side, register in (("source", spec.register_source_vocabulary), ("target", spec.register_target_vocabulary)):
        known = Tokenizer.from_file(str(bundle / f"{side}.json")).get_vocab()
        register(sorted(known, key=known.__getitem__))
    spec.config.add_source_eos = True
    spec.validate()
    spec.save(str(folder))


def attended(spec: Any, kept: dict[str, Any], name: str, norm: str, parts: list[list[str]]) -> None:
    normed(spec.layer_norm, kept, norm)
    for linear, each in zip(spec.linear, [*parts, ["out"]], strict=True):
        product(linear, kept, [f"{name}.{part}" for part in each])


def product(spec: Any, kept: dict[str, Any], names: list[str]) -> None:
    spec.weight = np.concatenate([kept[f"{name}.weight"] for name in names])
    spec.bias = np.concatenate([kept[f"{name}.bias"] for name in names])


def normed(spec: Any, kept: dict[str, Any], name: str) -> None:
    spec.gamma, spec.beta = kept[f"{name}.weight"], kept[f"{name}.bias"]


def sinusoidal(width: int) -> Any:
    rate = 10000.0 ** (-np.arange(0, width, 2) / width)
    angle = np.outer(np.arange(PLACES), rate)
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(PLACES, width).astype(np.float32)


if __name__ == "__main__":
    main()
