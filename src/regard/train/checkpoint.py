"""A folder `00001500` with `state.safetensors` and `state.json`: there in full, or not there at all.

Both are written beside their place, forced to the disk and then renamed into it; both carry a digest, so that a
half-written or altered one is never taken for good. No pickle. It does not know what the tensors mean.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from regard.fault import Fault

FORMAT = 1
TENSORS, STATE = "state.safetensors", "state.json"
UNFINISHED = ".unfinished-"


@final
@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What was saved, and where."""

    path: Path
    tensors: Mapping[str, Tensor]
    state: Mapping[str, Any]

    def under(self, prefix: str) -> dict[str, Tensor]:
        """The tensors named `prefix/...`, without it."""
        start = f"{prefix}/"
        return {name.removeprefix(start): tensor for name, tensor in self.tensors.items() if name.startswith(start)}


@final
class Checkpoints:
    """The checkpoints of one run: the newest `keep`, and the best one."""

    def __init__(self, folder: Path, keep: int) -> None:
        self._folder = folder
        self._keep = keep

    def open(self) -> None:
        """Makes the folder, and clears away what a killed run left unfinished. Only for who holds the lock."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            for unfinished in self._folder.glob(f"{UNFINISHED}*"):
                shutil.rmtree(unfinished)
        except OSError as error:
            raise Fault(f"{self._folder}: {error.strerror}") from error

    def path(self, update: int) -> Path:
        return self._folder / f"{update:08d}"

    def paths(self) -> list[Path]:
        """Those that are there, from the oldest to the newest."""
        return sorted(
            (path for path in self._folder.glob("*") if path.name.isdecimal()), key=lambda path: int(path.name)
        )

    def save(self, update: int, tensors: Mapping[str, Tensor], state: Mapping[str, Any], best: int | None) -> Path:
        """Kept with the newest ones and the one of the update `best`; the others go."""
        path = self.path(update)
        try:
            made = self._write(tensors, state)
            if path.exists():  # a faulty one, which a resumed run has come by again
                self._remove(path)
            made.rename(path)
            _force(self._folder)
            self._prune(update, best)
        except (OSError, SafetensorError) as error:  # the latter is how a full disk looks from there
            reason = error.strerror if isinstance(error, OSError) else error
            raise Fault(f"{path}: cannot be written: {reason}; the checkpoints before it are whole") from error
        return path

    def _write(self, tensors: Mapping[str, Tensor], state: Mapping[str, Any]) -> Path:
        """All of it, beside its place. What could not be finished gives its room back."""
        made = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=self._folder))
        try:
            save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, made / TENSORS)
            body = {"format": FORMAT, "tensors": _digest_of_file(made / TENSORS), "state": state}
            (made / STATE).write_text(json.dumps({"sha256": _digest(body), **body}), encoding="utf-8")
            for part in (made / TENSORS, made / STATE, made):
                _force(part)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
        return made

    def _prune(self, update: int, best: int | None) -> None:
        """Later ones are faulty: had one been good, the run would have gone on from there."""
        spared = {self.path(number) for number in (update, best) if number is not None}
        paths = self.paths()
        kept = [path for path in paths if int(path.name) <= update][-self._keep :]
        for path in paths:
            if path not in kept and path not in spared:
                self._remove(path)

    def latest(self, tell: Callable[[str], None]) -> Checkpoint | None:
        """The newest good one, or none where there is no checkpoint; faulty ones are told of and passed over."""
        paths = self.paths()
        for path in reversed(paths):
            try:
                return read(path)
            except Fault as fault:
                tell(f"{fault}; going back to the one before")
        if paths:
            raise Fault(
                f"{self._folder}: none of the {len(paths)} checkpoints can be read; begin anew in another folder"
            )
        return None

    def _remove(self, path: Path) -> None:
        """Renamed first: a folder half removed must not look like a checkpoint."""
        away = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=self._folder))
        path.rename(away / path.name)
        shutil.rmtree(away)


def read(path: Path) -> Checkpoint:
    """A checkpoint whose every byte is as it was written, or a Fault."""
    try:
        whole = json.loads((path / STATE).read_text(encoding="utf-8"))
        found, version = whole.pop("sha256"), whole["format"]
    except OSError as error:
        raise Fault(f"{path / STATE}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Fault(f"{path / STATE}: damaged, this is not what was written") from error
    if version != FORMAT:
        raise Fault(f"{path / STATE}: written in format {version!r}, and this version of regard reads {FORMAT}")
    if found != _digest(whole):
        raise Fault(f"{path / STATE}: damaged, this is not what was written")
    try:
        if _digest_of_file(path / TENSORS) != whole["tensors"]:
            raise Fault(f"{path / TENSORS}: damaged, this is not what was written")
        return Checkpoint(path, load_file(path / TENSORS), whole["state"])
    except OSError as error:
        raise Fault(f"{path / TENSORS}: {error.strerror}") from error
    except SafetensorError as error:
        raise Fault(f"{path / TENSORS}: {error}") from error


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _digest_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _force(path: Path) -> None:
    """To the disk itself: after a power cut a rename may be there while the bytes it names are not."""
    if sys.platform == "win32" and path.is_dir():  # Windows opens no folders
        return
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
