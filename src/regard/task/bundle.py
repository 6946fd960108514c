"""Bundle: a trained model as a folder, or the same as one zip: regard.json, weights.safetensors, vocabularies as JSON.

No pickle. Weights are float32, or int8 with a scale for each row of a matrix: $W_{ij} \\approx s_i q_{ij}$. The card,
regard.json, knows the digest of every other part. It does not know what the model is used for.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal, final

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from regard import __version__, config
from regard.config import Recipe
from regard.fault import Fault, nearest
from regard.model import Model, build
from regard.source.vocabulary import Vocabulary

FORMAT: Final = 1
ABOUT, WEIGHTS = "regard.json", "weights.safetensors"
BOTH, SOURCE, TARGET = "vocabulary.json", "source.json", "target.json"
PARTS: Final = "parts"  # of the card: the digest of each part
SCALE: Final = ".scale"  # the name of a matrix's scales, after its own
LARGEST: Final = 4 << 30  # bytes of one part: a zip must not unpack without bound
DEFAULT: Final = "en-mr"

Kept = Literal["float32", "int8"]


@final
@dataclass(frozen=True, slots=True)
class Bundle:
    """`about` is what the card tells of provenance, data, licence and figures; `choice` the head that links are read
    from.
    """

    recipe: Recipe
    model: Model
    source: Vocabulary
    target: Vocabulary
    about: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""

    def save(self, folder: Path, kept: Kept = "float32") -> None:
        """Each file is there whole or not at all; regard.json comes last, and without it there is no bundle."""
        parts = self._vocabularies() | {WEIGHTS: save_tensors(_packed(self.model, kept))}
        head: dict[str, Any] = {"format": FORMAT, "regard": __version__, "recipe": config.dump(self.recipe)}
        head[PARTS] = {name: _digest(content) for name, content in parts.items()}
        # once more at the end: what a bundle was read with says nothing of how it is written
        about = json.dumps(head | dict(self.about) | head, ensure_ascii=False, indent=1) + "\n"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):
                (folder / ABOUT).unlink()  # new weights must never stand under an old card
            for name, content in (parts | {ABOUT: about.encode()}).items():
                _write(folder / name, content)
        except OSError as error:
            raise Fault(f"{folder}: the bundle cannot be written ({error.strerror or error})") from error

    def _vocabularies(self) -> dict[str, bytes]:
        if self.source is self.target:
            return {BOTH: self.source.to_json().encode()}
        return {SOURCE: self.source.to_json().encode(), TARGET: self.target.to_json().encode()}


def shipped() -> dict[str, Path]:
    """The bundles that come with the package, by name."""
    folder = Path(str(resources.files("regard").joinpath("bundles")))
    return {path.name: path for path in sorted(folder.glob("*")) if (path / ABOUT).is_file()}


def find(name: str | Path) -> Path:
    """The path of a bundle, given its path or the name of one that ships."""
    path = Path(name)
    known = shipped()
    if str(name) in known and not _there(path / ABOUT):
        return known[str(name)]
    if not _there(path):
        hint = nearest(str(name), known) or (f"; those that ship: {', '.join(known)}" if known else "")
        raise Fault(f"{name}: there is no such bundle{hint}")
    if path.is_dir() and not (path / ABOUT).is_file():
        unfinished = (path / "checkpoints").is_dir()
        raise Fault(
            f"{path}: this training has not come to its end; go on with `regard train ... --out {path} --resume`"
            if unfinished
            else f"{path}: is no bundle, it has no {ABOUT}"
        )
    return path


def _there(path: Path) -> bool:
    """A name that no file can have, such as one of thousands of letters, is an error to the system."""
    try:
        return path.exists()
    except OSError:
        return False


def card(name: str | Path) -> dict[str, Any]:
    """What regard.json says, read without the weights."""
    path = find(name)
    return _about(_reader(path)(ABOUT), f"{path}/{ABOUT}")


def load(name: str | Path = DEFAULT) -> Bundle:
    """A bundle by path or by the name of a shipped one. What does not fit its recipe is a Fault."""
    path = find(name)
    read = _reader(path)
    about = _about(read(ABOUT), f"{path}/{ABOUT}")
    recipe = config.build(about["recipe"], f"{path}/{ABOUT}")

    def part(name: str) -> bytes:
        content = read(name)
        if about[PARTS].get(name, digest := _digest(content)) != digest:
            raise Fault(f"{path}/{name}: is damaged, or of another bundle: it is not what {ABOUT} says was written")
        return content

    if recipe.data.shared_vocabulary:
        source = target = _vocabulary(part(BOTH), f"{path}/{BOTH}")
    else:
        source, target = (_vocabulary(part(name), f"{path}/{name}") for name in (SOURCE, TARGET))
    model = _built(recipe, source, target, f"{path}/{ABOUT}")
    _fill(model, _tensors(part(WEIGHTS), f"{path}/{WEIGHTS}"), f"{path}/{WEIGHTS}")
    return Bundle(recipe, model.eval(), source, target, about, str(path))


def _built(recipe: Recipe, source: Vocabulary, target: Vocabulary, where: str) -> Model:
    """A card may have been written by hand, or by nobody."""
    try:
        config.check(recipe)
        return build(recipe.model, len(source), len(target), recipe.train)
    except Fault as fault:
        raise Fault(f"{where}: {fault}") from None
    except (RuntimeError, MemoryError, ValueError, OverflowError, TypeError) as error:
        raise Fault(f"{where}: no model can be made of its recipe ({_first_line(error)})") from None


def _tensors(content: bytes, where: str) -> dict[str, Tensor]:
    try:
        return load_tensors(content)
    except (SafetensorError, ValueError, KeyError, RuntimeError, TypeError, AttributeError) as error:
        raise Fault(f"{where}: is damaged ({_first_line(error)})") from None


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def weights(model: Model) -> dict[str, Tensor]:
    """Everything that is learned, each tensor once, however many names share it."""
    return {name: tensor.detach() for name, tensor in [*model.named_parameters(), *model.named_buffers()]}


def _packed(model: Model, kept: Kept) -> dict[str, Tensor]:
    packed: dict[str, Tensor] = {}
    for name, tensor in weights(model).items():
        plain = tensor.cpu().float().contiguous()
        if kept == "int8" and plain.dim() == 2:
            scale = plain.abs().amax(-1, keepdim=True).clamp(min=1e-12) / 127
            packed[name] = (plain / scale).round().to(torch.int8)
            packed[name + SCALE] = scale.squeeze(-1)
        else:
            packed[name] = plain.clone()
    return packed


def _fill(model: Model, tensors: Mapping[str, Tensor], where: str) -> None:
    wanted = weights(model)
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


def _plain(name: str, found: Tensor, scale: Tensor | None, where: str) -> Tensor:
    """The weights themselves, of whatever was kept."""
    if found.dtype == torch.int8:
        if scale is None or not scale.is_floating_point() or found.dim() != 2 or scale.shape != found.shape[:1]:
            raise Fault(f"{where}: {name!r} and its scales do not fit together")
        return found.float() * scale.float().unsqueeze(-1)
    if scale is not None or not found.is_floating_point():
        raise Fault(f"{where}: {name!r} is kept in a way that this version of regard does not know")
    return found.float()


def _about(content: bytes, where: str) -> dict[str, Any]:
    try:
        about = json.loads(content)
        version = about["format"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Fault(f"{where}: is not the card of a bundle") from None
    if version != FORMAT:
        raise Fault(f"{where}: written in format {version!r}, and this version of regard reads {FORMAT}")
    if not isinstance(about.get("recipe"), dict):
        raise Fault(f"{where}: has no recipe")
    if not isinstance(about.setdefault(PARTS, {}), dict):
        raise Fault(f"{where}: its {PARTS!r} are not a table of digests")
    return dict(about)


def _vocabulary(content: bytes, where: str) -> Vocabulary:
    try:
        return Vocabulary.from_json(content.decode(), where)
    except UnicodeDecodeError:
        raise Fault(f"{where}: is not UTF-8 text") from None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _reader(path: Path) -> Callable[[str], bytes]:
    """How to read one part by its name. A zip is never unpacked: only parts asked for by name are read."""
    if path.is_dir():
        return lambda name: _read(path / name)

    def member(name: str) -> bytes:
        try:
            with zipfile.ZipFile(path) as archive:
                wanted = _home(archive) + name
                found = next((each for each in archive.infolist() if each.filename == wanted), None)
                if found is None:
                    raise Fault(f"{path}: has no {name}")
                if found.file_size > LARGEST:
                    raise Fault(f"{path}: {name} would take {found.file_size:,} bytes")
                with archive.open(found) as part:
                    return part.read(found.file_size)
        except (OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
            raise Fault(f"{path}: is neither the folder nor the whole zip of a bundle ({_first_line(error)})") from None

    return member


def _home(archive: zipfile.ZipFile) -> str:
    """Who zips a folder puts it around the parts. Names that climb out of the zip are as if they were not there."""
    places = (PurePosixPath(name) for name in archive.namelist())
    homes = [place.parent for place in places if place.name == ABOUT and not {"..", "/"} & set(place.parts)]
    home = min(homes, key=lambda each: len(each.parts), default=PurePosixPath())
    return "".join(f"{part}/" for part in home.parts)


def zipped(folder: Path, path: Path) -> None:
    """The bundle of that folder as one file."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in (ABOUT, WEIGHTS, BOTH, SOURCE, TARGET):
            if (folder / name).is_file():
                archive.write(folder / name, name)
    try:
        _write(path, whole.getvalue())
    except OSError as error:
        raise Fault(f"{path}: cannot be written ({error.strerror or error})") from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Fault(f"{path}: {error.strerror or error}") from error


def _write(path: Path, content: bytes) -> None:
    """Beside its place, forced to the disk, then renamed into it."""
    number, beside = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(beside).chmod(0o644)
        Path(beside).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(beside).unlink()
        raise


def export(made: Bundle, out: Path, kept: Kept) -> None:
    """Into a folder, or into one file whose name ends in `.zip`."""
    if out.suffix.lower() != ".zip":
        if (out / ABOUT).exists() or (out / "checkpoints").exists():
            raise Fault(f"{out}: there is a bundle in it already, or a run; give another folder")
        made.save(out, kept)
        return
    with tempfile.TemporaryDirectory() as folder:
        made.save(Path(folder), kept)
        zipped(Path(folder), out)
