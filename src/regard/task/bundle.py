"""Bundle: a trained model as a folder, or the same as one zip: regard.json, weights.safetensors, vocabularies as JSON.

No pickle. Weights are float32, or int8 with a scale for each row of a matrix: $W_{ij} \\approx s_i q_{ij}$. The card,
regard.json, knows the digest of every other part. Graphs may stand beside them, by which a model runs without torch:
nothing here imports it before a model is asked for. It does not know what the model is used for.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, final

from regard import __version__, config
from regard.config import Recipe
from regard.engine.name import ENCODE, NOTE, STEP
from regard.fault import Fault, nearest
from regard.source.vocabulary.core import Vocabulary
from regard.whole import whole

if TYPE_CHECKING:
    from torch import Tensor

    from regard.model import Model
    from regard.task.packed import Packing

FORMAT: Final = 1
ABOUT, WEIGHTS = "regard.json", "weights.safetensors"
BOTH, SOURCE, TARGET = "vocabulary.json", "source.json", "target.json"
PARTS: Final = "parts"  # of the card: the digest of each part
GRAPHS: Final = (ENCODE, STEP, NOTE)
LARGEST: Final = 4 << 30  # bytes of one part: a zip must not unpack without bound
DEFAULT: Final = "en-mr"


@final
@dataclass(frozen=True, slots=True)
class Opened:
    """A bundle before its weights are read; `part` gives a part by its name, whole and as it was written."""

    recipe: Recipe
    source: Vocabulary
    target: Vocabulary
    about: Mapping[str, Any]
    where: str
    part: Callable[[str], bytes] = field(repr=False)

    @property
    def graphs(self) -> bool:
        """Whether it has graphs too."""
        return all(name in self.about[PARTS] for name in GRAPHS)

    def loaded(self) -> Bundle:
        """With its model. What does not fit its recipe is a Fault."""
        from regard.task import packed

        model = packed.built(self.recipe, self.source, self.target, f"{self.where}/{ABOUT}")
        packed.fill(model, self.part(WEIGHTS), f"{self.where}/{WEIGHTS}")
        return Bundle(self.recipe, model.eval(), self.source, self.target, self.about, self.where)


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

    def save(self, folder: Path, kept: Packing = "float32", *, graphs: bool = False) -> None:
        """Each file is there whole or not at all; regard.json comes last, and without it there is no bundle."""
        from regard.task import packed

        parts = self._vocabularies() | {WEIGHTS: packed.packed(self.model, kept)}
        if graphs:
            parts |= packed.graphs(self.model)
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
    """A bundle by path or by the name of a shipped one, with its model."""
    return opened(name).loaded()


def opened(name: str | Path = DEFAULT) -> Opened:
    """The same before its weights are read."""
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
    return Opened(recipe, source, target, about, str(path), part)


def weights(model: Model) -> dict[str, Tensor]:
    """Everything that is learned, each tensor once, however many names share it."""
    from regard.task import packed

    return packed.weights(model)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


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
    archived = io.BytesIO()
    with zipfile.ZipFile(archived, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in (ABOUT, WEIGHTS, BOTH, SOURCE, TARGET, *GRAPHS):
            if (folder / name).is_file():
                archive.write(folder / name, name)
    _write(path, archived.getvalue())


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Fault(f"{path}: {error.strerror or error}") from error


def _write(path: Path, content: bytes) -> None:
    def fill(beside: Path) -> None:
        beside.write_bytes(content)

    whole(path, fill)


def export(made: Bundle | Opened, out: Path, kept: Packing, *, graphs: bool = False) -> None:
    """Into a folder, or into one file whose name ends in `.zip`."""
    made = made.loaded() if isinstance(made, Opened) else made
    if out.suffix.lower() != ".zip":
        if (out / ABOUT).exists() or (out / "checkpoints").exists():
            raise Fault(f"{out}: there is a bundle in it already, or a run; give another folder")
        made.save(out, kept, graphs=graphs)
        return
    with tempfile.TemporaryDirectory() as folder:
        made.save(Path(folder), kept, graphs=graphs)
        zipped(Path(folder), out)
