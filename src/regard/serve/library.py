"""Library: the bundles of a server by the languages they join, loaded within a budget of memory.

A pair that no bundle joins goes through a third language, where two bundles do. A library never changes its mind: after
a reload the server has a new one, and those who hold the old one finish with it.
"""

from __future__ import annotations

import json
import struct
import threading
import zipfile
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from typing_extensions import override

from regard.fault import Fault
from regard.serve.detect import Detector, Profile
from regard.serve.language import name
from regard.serve.voice import Bundled, Finder, Voice

WEIGHTS: Final = "weights.safetensors"


@final
@dataclass(frozen=True, slots=True)
class Place:
    """A bundle on the disk: what it joins, and the bytes its weights take in memory."""

    path: str
    source: str
    target: str
    bytes: int
    threads: int
    letters: int


@final
class Library:
    """`voices` are those loaded, the one used last at the end."""

    def __init__(self, places: Sequence[Place], detector: Detector, budget: int) -> None:
        self.places: Final = {(each.source, each.target): each for each in places}
        self.detector: Final = detector
        self._budget: Final = budget
        self._voices: OrderedDict[Place, Voice] = OrderedDict()
        self._one = threading.Lock()  # several threads translate
        self.finders: Final = {each: _Finder(self, each) for each in places}
        codes = [code for each in places for code in (each.source, each.target)]
        self.languages: Final = tuple(dict.fromkeys(codes))

    @staticmethod
    def open(names: Sequence[str], budget: int) -> Library:
        """Every bundle is loaded once, so that what is wrong is known at once; as many stay as the budget holds."""
        places: list[Place] = []
        voices: list[Voice] = []
        profiles: list[Profile] = []
        for each in names:
            place, voice, heard = opened(each, budget)
            twin = next((one for one in places if (one.source, one.target) == (place.source, place.target)), None)
            if twin is not None:
                raise Fault(f"{each}: {twin.path} already translates from {place.source} to {place.target}")
            places.append(place)
            voices.append(voice)
            profiles += heard
            # as many as fit; the rest is loaded again when it is asked for
            while sum(one.bytes for one in places[-len(voices) :]) > budget:
                voices.pop(0)
        library = Library(places, Detector(profiles), budget)
        library._voices.update(zip(places[-len(voices) :], voices, strict=True))
        return library

    def supported(self, code: str) -> str | None:
        """The language as the library calls it: EN, en-GB and en_US are en where nothing nearer is known."""
        if code in self.languages:
            return code
        plain = code.replace("_", "-").lower()
        known = {each.lower(): each for each in self.languages}
        return known.get(plain) or known.get(plain.partition("-")[0])

    def way(self, source: str, target: str) -> list[Finder] | None:
        """The models to ask one after the other; none for a language into itself, None where there is no way."""
        if source == target:
            return []
        if (source, target) in self.places:
            return [self.finders[self.places[source, target]]]
        for middle in self.languages:
            if (source, middle) in self.places and (middle, target) in self.places:
                return [self.finders[self.places[source, middle]], self.finders[self.places[middle, target]]]
        return None

    def targets(self, source: str) -> list[str]:
        """What a language can be translated into, itself among them."""
        return sorted(each for each in self.languages if self.way(source, each) is not None)

    def record(self) -> list[dict[str, Any]]:
        """What GET /languages answers."""
        return [{"code": each, "name": name(each), "targets": self.targets(each)} for each in self.languages]

    def voice(self, place: Place) -> Voice:
        """The model, loaded where it is not; those used longest ago make room."""
        with self._one:
            if place not in self._voices:
                held = sum(each.bytes for each in self._voices)
                while self._voices and held + place.bytes > self._budget:
                    gone, _ = self._voices.popitem(last=False)
                    held -= gone.bytes
                self._voices[place] = opened(f"{place.source}-{place.target}={place.path}", self._budget)[1]
            self._voices.move_to_end(place)
            return self._voices[place]

    @property
    def loaded(self) -> int:
        return len(self._voices)


@final
class _Finder(Finder):
    """One and the same for all requests to a bundle, so that they can be told to belong together."""

    def __init__(self, library: Library, place: Place) -> None:
        self._library = library
        self._place = place
        self.threads, self.letters = place.threads, place.letters

    @override
    def find(self) -> Voice:
        return self._library.voice(self._place)


def opened(given: str, budget: int) -> tuple[Place, Voice, list[Profile]]:
    """A bundle by path or name, or as LANGUAGE-LANGUAGE=path where it does not say which languages it joins."""
    import regard

    named, path = _named(given)
    model = regard.load(path)
    codes = named or tuple(model.bundle.recipe.data.languages)
    if len(codes) != 2 or not all(codes) or codes[0] == codes[1]:
        raise Fault(f"{path}: does not say which languages it joins; say it: --model en-mr={path}")
    voice = Bundled(model)
    place = Place(path, codes[0], codes[1], size(Path(model.bundle.where)), voice.threads, voice.letters)
    if place.bytes > budget:
        raise Fault(f"{path}: takes {place.bytes >> 20:,} MiB of memory, over the {budget >> 20:,} of --memory")
    sides = (model.bundle.source, model.bundle.target)
    profiles = [Profile(code, side) for code, side in zip(codes, sides, strict=True)]
    return place, voice, profiles


def _named(given: str) -> tuple[tuple[str, ...], str]:
    """`mr-en=path`: a bundle whose recipe does not name its languages. A path with = in it is a path."""
    codes, sign, path = given.partition("=")
    pair = tuple(codes.split("-"))
    if sign and len(pair) == 2 and all(each.isalnum() and len(each) <= 8 for each in pair) and not Path(given).exists():
        return pair, path
    return (), given


def size(path: Path) -> int:
    """Bytes of the weights as 32-bit numbers, read off the header of their file."""
    try:
        if path.is_dir():
            with (path / WEIGHTS).open("rb") as file:
                header = file.read(struct.unpack("<Q", file.read(8))[0])
        else:
            with zipfile.ZipFile(path) as archive:
                inside = next(each for each in archive.namelist() if each.endswith(WEIGHTS))
                with archive.open(inside) as part:
                    header = part.read(struct.unpack("<Q", part.read(8))[0])
        shapes = [each["shape"] for key, each in json.loads(header).items() if key != "__metadata__"]
    except (OSError, ValueError, KeyError, struct.error, StopIteration, zipfile.BadZipFile):
        return path.stat().st_size
    return sum(4 * _product(shape) for shape in shapes)


def _product(shape: Sequence[int]) -> int:
    count = 1
    for each in shape:
        count *= each
    return count
