"""CTranslate2 behind a minimal server: the weights of one of our bundles, the same beam, the same web libraries.

    python benchmarks/peers/ctranslate.py --model en-mr [--threads 2]

It answers POST /translate with {"translatedText": ...} and does nothing else: no batching, no limits, no detection, no
sentences, no tags. Requests run side by side in as many of CTranslate2's own workers as there are cores. A Transformer
alone can be carried over.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ctranslate2
import numpy as np
import uvicorn
from ctranslate2.specs import transformer_spec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

import regard

LABELS = ("<pad>", "<s>", "</s>", "<unk>")


def converted(model: Any, folder: str) -> None:
    """The bundle's weights as CTranslate2 reads them."""
    recipe = model.bundle.recipe.model
    if recipe.kind != "transformer":
        raise SystemExit("CTranslate2 has no recurrent models: give a Transformer")
    rotary = {"rotary_dim": 0, "rotary_interleave": False} if recipe.positions == "rotary" else {}
    spec = transformer_spec.TransformerSpec(
        transformer_spec.TransformerEncoderSpec(recipe.encoder_layers, recipe.heads, **rotary),
        transformer_spec.TransformerDecoderSpec(recipe.decoder_layers, recipe.heads, **rotary),
    )
    weights = {name: each.detach().cpu().numpy() for name, each in model.model.named_parameters()}

    def linear(there: Any, *names: str) -> None:
        there.weight = np.concatenate([weights[f"{name}.weight"] for name in names])
        there.bias = np.concatenate([weights[f"{name}.bias"] for name in names])

    def norm(there: Any, name: str) -> None:
        there.gamma, there.beta = weights[f"{name}.weight"], weights[f"{name}.bias"]

    for side, there in (("encoder", spec.encoder), ("decoder", spec.decoder)):
        table = there.embeddings[0] if side == "encoder" else there.embeddings
        table.weight = weights[f"{side}.embedding.table.weight"]
        norm(there.layer_norm, f"{side}.norm")
        for number, layer in enumerate(there.layer):
            name = f"{side}.layers.{number}"
            norm(layer.self_attention.layer_norm, f"{name}.before_itself")
            linear(layer.self_attention.linear[0], *(f"{name}.itself.{part}" for part in ("query", "key", "value")))
            linear(layer.self_attention.linear[1], f"{name}.itself.out")
            if side == "decoder":
                norm(layer.attention.layer_norm, f"{name}.before_source")
                linear(layer.attention.linear[0], f"{name}.source.query")
                linear(layer.attention.linear[1], f"{name}.source.key", f"{name}.source.value")
                linear(layer.attention.linear[2], f"{name}.source.out")
            norm(layer.ffn.layer_norm, f"{name}.before_feed")
            linear(layer.ffn.linear_0, f"{name}.feed.inner")
            linear(layer.ffn.linear_1, f"{name}.feed.outer")
    spec.decoder.projection.weight = weights.get("output.weight", weights["decoder.embedding.table.weight"])
    spec.decoder.projection.bias = weights["output.bias"]
    spec.config.add_source_eos = True
    spec.register_source_vocabulary([*LABELS, *model.bundle.source.labels[4:]])
    spec.register_target_vocabulary([*LABELS, *model.bundle.target.labels[4:]])
    spec.validate()
    spec.optimize(quantization=None)
    spec.save(folder)


def served(model: Any, threads: int) -> Starlette:
    source, target, search = model.bundle.source, model.bundle.target, model.wish.search
    with tempfile.TemporaryDirectory() as folder:
        converted(model, folder)
        peer = ctranslate2.Translator(folder, inter_threads=threads, intra_threads=1)
    ids = {label: number for number, label in enumerate([*LABELS, *target.labels[4:]])}
    labels = [*LABELS, *source.labels[4:]]

    def translate(text: str) -> str:
        pieces = [labels[number] for number in source.encode(model.cleaner.text(text)).ids]
        found = peer.translate_batch([pieces], beam_size=search.beam, length_penalty=search.length)
        return str(target.decode([ids[each] for each in found[0].hypotheses[0]]))

    pool = ThreadPoolExecutor(threads)

    async def handle(request: Request) -> JSONResponse:
        asked = await request.json()
        text = await asyncio.get_running_loop().run_in_executor(pool, translate, asked["q"])
        return JSONResponse({"translatedText": text})

    return Starlette(routes=[Route("/translate", handle, methods=["POST"])])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="en-mr")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    asked = parser.parse_args()
    app = served(regard.load(asked.model, engine="torch"), asked.threads)
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, or answers are held back
    door.bind(("127.0.0.1", 0))
    door.listen(1024)
    sys.stderr.write(f"serves at http://127.0.0.1:{door.getsockname()[1]}/\n")
    sys.stderr.flush()
    config = uvicorn.Config(app, log_config=None, access_log=False, log_level="error", http="h11", loop="asyncio")
    uvicorn.Server(config).run([door])


if __name__ == "__main__":
    main()
