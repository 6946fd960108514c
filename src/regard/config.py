"""Recipe: a TOML file that is one real run, read into the frozen dataclasses of `schema`.

A key nobody knows is an error that names its nearest neighbour. Modules never see these classes, and reading a recipe
needs no torch.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import tomllib
import types
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from regard.fault import Fault, nearest
from regard.schema import FAMILIES, Data, Penalties, Recipe, RecurrentModel, Search, Train, TransformerModel, Vocabulary

__all__ = [
    "FAMILIES",
    "Data",
    "Penalties",
    "Recipe",
    "RecurrentModel",
    "Search",
    "Train",
    "TransformerModel",
    "Vocabulary",
    "build",
    "check",
    "dump",
    "load",
    "loads",
    "override",
    "read",
    "recipes",
    "to_toml",
]

T = TypeVar("T")


def load(name: str | Path, settings: Sequence[str] = ()) -> Recipe:
    """The recipe of that file, or the shipped one of that name, changed by settings such as `train.rate=0.001`."""
    document, where = read(str(name))
    build(document, where)  # so that what is wrong in the file is not blamed on the settings
    return build(override(document, settings), "--set" if settings else where)


def loads(text: str, where: str) -> Recipe:
    """The recipe that `text` spells; `where` is its name in complaints."""
    return build(_document(text, where, Path(), ()), where)


def build(document: Mapping[str, Any], where: str) -> Recipe:
    """Typed and checked key by key; that the keys also fit each other is for `check`."""
    return _table(Recipe, document, "", where)


def override(document: Mapping[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """The tables with `key=value` settings laid over them. A value is TOML, or plain text where that cannot be read."""
    tables = dict(document)
    for setting in settings:
        key, equals, text = setting.partition("=")
        path = [part.strip() for part in key.split(".")]
        if not equals or not all(path):
            raise Fault(f"--set {setting}: give it as table.key=value, such as train.rate=0.001")
        change: Any = _value(text.strip())
        for part in reversed(path):
            change = {part: change}
        tables = _merged(tables, change)
    return tables


def dump(recipe: Recipe) -> dict[str, Any]:
    """Every key with its value, in plain dicts and lists that JSON and TOML can hold; `build` reads them back equal."""
    return dict(json.loads(json.dumps(dataclasses.asdict(recipe))))


def to_toml(recipe: Recipe) -> str:
    return "\n".join(_lines(dump(recipe), "")) + "\n"


def recipes() -> dict[str, str]:
    """The names of the shipped recipes, each with the line that says what it is about."""
    return {name: str(read(name)[0].get("about", "")) for name in _shipped()}


def check(recipe: Recipe) -> None:
    """Do the keys fit each other? To be asked of the recipe as it will run, with every setting in."""
    train, data, model = recipe.train, recipe.data, recipe.model
    if not (train.minutes or train.epochs or train.updates):
        raise Fault("a run needs an end: set train.minutes, train.epochs or train.updates")
    if data.shared_vocabulary and data.source != data.target:
        raise Fault("data.shared_vocabulary needs data.source and data.target to be alike")
    if model.shared and not data.shared_vocabulary:
        raise Fault("model.shared needs data.shared_vocabulary = true: one embedding reads one vocabulary")
    if model.heads > 1 and model.width % model.heads:
        raise Fault(f"model.heads = {model.heads} does not divide model.width = {model.width}")
    if isinstance(model, RecurrentModel):
        _recurrent(model)
    if len(data.languages) not in (0, 2):
        raise Fault("data.languages names two, that of the source and that of the target")
    if isinstance(model, TransformerModel) and model.positions == "rotary" and model.width // model.heads % 2:
        raise Fault("rotary positions turn pairs of numbers: model.width / model.heads has to be even")


def _recurrent(model: RecurrentModel) -> None:
    if model.bidirectional and model.width % 2:
        raise Fault(f"model.bidirectional shares model.width = {model.width} between two directions: it has to be even")
    if model.tied and model.kind in ("seq2seq", "tutorial-gru") and model.embedding != model.width:
        raise Fault(f"model.tied in {model.kind} needs model.embedding = model.width: nothing stands between the two")


def _shipped() -> list[str]:
    folder = resources.files("regard").joinpath("recipes")
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def read(name: str, folder: Path = Path(), above: tuple[str, ...] = ()) -> tuple[dict[str, Any], str]:
    """The unchecked tables of a recipe, and where they stand. Paths begin at `folder`; `above` are what led here."""
    if name in (known := _shipped()):
        where, beside = f"{name}.toml", Path()
        text = resources.files("regard").joinpath("recipes", where).read_text(encoding="utf-8")
    elif not name.endswith(".toml") and "/" not in name:
        raise Fault(f"no recipe is called {name!r}{nearest(name, known)} (a file of your own ends in .toml)")
    else:
        path = folder / name
        where, beside = str(path), path.parent
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "this is not UTF-8 text"
            raise Fault(f"{where}: {reason}") from error
    if where in above or len(above) > 9:
        raise Fault(f"{where}: extends itself, by {' -> '.join([*above, where])}")
    return _document(text, where, beside, above), where


def _document(text: str, where: str, folder: Path, above: tuple[str, ...]) -> dict[str, Any]:
    """The tables of a TOML text over those of the recipe it extends, whose path begins at `folder`."""
    try:
        document = tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError says the line; else it was a number of thousands of digits
        raise Fault(f"{where}: {error}") from error
    parent = document.pop("extends", None)
    if parent is None:
        return document
    if not isinstance(parent, str):
        raise Fault(f"{where}: extends = {parent!r} is not text, but the name of a recipe or the path of one")
    return _merged(read(parent, folder, (*above, where))[0], document)


def _merged(below: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` laid over `below`, table by table. A model of another family begins anew: the old keys do not fit it."""
    merged = dict(below)
    for key, value in over.items():
        old = merged.get(key)
        if not isinstance(old, Mapping) or not isinstance(value, Mapping):
            merged[key] = value
        elif key == "model" and _family(value.get("kind", old.get("kind"))) is not _family(old.get("kind")):
            merged[key] = dict(value)
        else:
            merged[key] = _merged(old, value)
    return merged


def _value(text: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except ValueError:
        return text
    return parsed["value"] if list(parsed) == ["value"] else text


def _family(kind: object) -> type[RecurrentModel] | type[TransformerModel] | None:
    return next((family for family in FAMILIES if kind in get_args(get_type_hints(family)["kind"])), None)


def _keys(table: Any, prefix: str) -> Iterator[str]:
    for name, hint in get_type_hints(table).items():
        yield prefix + name
        for inner in get_args(hint) if isinstance(hint, types.UnionType) else [hint]:
            if dataclasses.is_dataclass(inner):
                yield from _keys(inner, f"{prefix}{name}.")


def _unknown(table: type, prefix: str, name: str, where: str) -> Fault:
    """The last part of a name decides which key is near; those of the same table go before all others."""
    leaves = {key.rpartition(".")[2]: key for key in _keys(Recipe, "") if key != prefix + name}
    leaves |= {leaf: prefix + leaf for leaf in get_type_hints(table)}
    found = difflib.get_close_matches(name, leaves, n=1, cutoff=0.5)
    return Fault(f"{where}: {prefix}{name} is not a key" + (f"; did you mean {leaves[found[0]]!r}?" if found else ""))


def _not_among(known: Sequence[str], value: object, key: str, where: str) -> Fault:
    every = f"; it is one of {', '.join(known)}"
    if value is None:
        return Fault(f"{where}: {key} is missing{every}")
    return Fault(f"{where}: {key} = {value!r} is not known{nearest(str(value), known) or every}")


def _table(table: type[T], document: object, key: str, where: str) -> T:
    """A dataclass from a TOML table."""
    if not isinstance(document, Mapping):
        raise Fault(f"{where}: {key} = {document!r} is a value; write it as a table, [{key}]")
    hints = get_type_hints(table, include_extras=True)
    prefix = f"{key}." if key else ""
    for name in document:
        if name not in hints:
            raise _unknown(table, prefix, name, where)
    if table is Recipe and "model" not in document:  # all else but `kind` has a default
        raise Fault(f"{where}: the table [model] is missing")
    return table(**{name: _typed(hints[name], value, prefix + name, where) for name, value in document.items()})


def _typed(hint: Any, value: object, key: str, where: str) -> Any:
    """`value` as the type hint wants it, or a Fault."""
    origin = get_origin(hint)
    if origin is Annotated:
        inner, within = get_args(hint)
        number = _typed(inner, value, key, where)
        if not within.holds(number):
            raise Fault(f"{where}: {key} = {number} has to be {within}")
        return number
    if origin is Literal:
        if value not in get_args(hint):
            raise _not_among(get_args(hint), value, key, where)
        return value
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise Fault(f"{where}: {key} = {value!r} has to be a list")
        return tuple(_typed(get_args(hint)[0], item, f"{key}[{i}]", where) for i, item in enumerate(value))
    if origin is types.UnionType:
        return _model(value, key, where)
    return _plain(hint, value, key, where) if hint in PLAIN else _table(hint, value, key, where)


PLAIN = {bool: "true or false", int: "a whole number", float: "a number", str: "text in quotes"}


def _plain(hint: type, value: object, key: str, where: str) -> bool | int | float | str:
    if hint is float and type(value) is int and abs(value) <= 2**53:
        return float(value)
    if type(value) is hint and (not isinstance(value, float) or math.isfinite(value)):  # `type`, as True is an int too
        return value  # type: ignore[return-value]
    raise Fault(f"{where}: {key} = {value!r} has to be {PLAIN[hint]}")


def _model(value: object, key: str, where: str) -> RecurrentModel | TransformerModel:
    """The table's `kind` says which class reads it."""
    kind = value.get("kind") if isinstance(value, Mapping) else ""
    family = _family(kind)
    if isinstance(value, Mapping) and family is None:
        every = [name for family in FAMILIES for name in get_args(get_type_hints(family)["kind"])]
        raise _not_among(every, kind, f"{key}.kind", where)
    return _table(family or RecurrentModel, value, key, where)


def _lines(table: Mapping[str, Any], key: str) -> Iterator[str]:
    """TOML: the plain keys of a table come before its tables. JSON writes text, numbers and lists as TOML does."""
    for name, value in table.items():
        if not isinstance(value, Mapping):
            yield f"{name} = {json.dumps(value, ensure_ascii=False)}".replace("\x7f", "\\u007f")
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield f"\n[{key}{name}]"
            yield from _lines(value, f"{key}{name}.")
