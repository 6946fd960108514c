"""Packed: a model's weights as the bytes of a bundle's part, and back; and the graphs that are made of a model.

Float32, or int8 with a scale for each row of a matrix: $W_{ij} \\approx s_i q_{ij}$. It does not know where parts are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from regard import config
from regard.config import Recipe
from regard.engine.name import SCALE
from regard.fault import Fault
from regard.model import Model, build
from regard.source.vocabulary.core import Vocabulary

Packing = Literal["float32", "int8"]


def built(recipe: Recipe, source: Vocabulary, target: Vocabulary, where: str) -> Model:
    """A card may have been written by hand, or by nobody."""
    try:
        config.check(recipe)
        return build(recipe.model, len(source), len(target), recipe.train)
    except Fault as fault:
        raise Fault(f"{where}: {fault}") from None
    except (RuntimeError, MemoryError, ValueError, OverflowError, TypeError) as error:
        raise Fault(f"{where}: no model can be made of its recipe ({_first_line(error)})") from None


def weights(model: Model) -> dict[str, Tensor]:
    """Everything that is learned, each tensor once, however many names share it."""
    return {name: tensor.detach() for name, tensor in [*model.named_parameters(), *model.named_buffers()]}


def packed(model: Model, kept: Packing) -> bytes:
    tensors: dict[str, Tensor] = {}
    for name, tensor in weights(model).items():
        plain = tensor.cpu().float().contiguous()
        if kept == "int8" and plain.dim() == 2:
            scale = plain.abs().amax(-1, keepdim=True).clamp(min=1e-12) / 127
            tensors[name] = (plain / scale).round().to(torch.int8)
            tensors[name + SCALE] = scale.squeeze(-1)
        else:
            tensors[name] = plain.clone()
    return save_tensors(tensors)


def graphs(model: Model) -> dict[str, bytes]:
    """The parts by which it runs without torch."""
    try:
        from regard.engine.write import write
    except ModuleNotFoundError as error:
        raise Fault(f"graphs are written by the package onnx, which is not there ({error}): pip install onnx") from None
    return write(model.cpu().eval())


def fill(model: Model, content: bytes, where: str) -> None:
    """The model with these weights, all of them and no others."""
    tensors, wanted = _tensors(content, where), weights(model)
    unknown = [name for name in tensors if name not in wanted and name.removesuffix(SCALE) not in wanted]
    if unknown:
        raise Fault(f"{where}: holds {unknown[0]!r}, which a model of this recipe does not have")
    for name, there in wanted.items():
        if name not in tensors:
            raise Fault(f"{where}: {name!r} is missing")
        plain = _plain(name, tensors[name], tensors.get(name + SCALE), where)
        if plain.shape != there.shape:
            shapes = f"{tuple(plain.shape)}, and by the recipe {tuple(there.shape)}"
            raise Fault(f"{where}: {name!r} has the shape {shapes}")
        if not plain.isfinite().all():
            raise Fault(f"{where}: {name!r} holds numbers that are not finite")
        there.copy_(plain)


def _tensors(content: bytes, where: str) -> Mapping[str, Tensor]:
    try:
        return load_tensors(content)
    except (SafetensorError, ValueError, KeyError, RuntimeError, TypeError, AttributeError) as error:
        raise Fault(f"{where}: is damaged ({_first_line(error)})") from None


def _plain(name: str, found: Tensor, scale: Tensor | None, where: str) -> Tensor:
    """The weights themselves, of whatever was kept."""
    if found.dtype == torch.int8:
        if scale is None or not scale.is_floating_point() or found.dim() != 2 or scale.shape != found.shape[:1]:
            raise Fault(f"{where}: {name!r} and its scales do not fit together")
        return found.float() * scale.float().unsqueeze(-1)
    if scale is not None or not found.is_floating_point():
        raise Fault(f"{where}: {name!r} is kept in a way that this version of regard does not know")
    return found.float()


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
