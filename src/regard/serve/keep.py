"""Keep: a sentence said in names and numbers that a model knows, and its answer with the real things back in place.

An address or a placeholder is said as a name (Tom) and comes back in the place of the words that are linked to that
name; a number is read from the model's own digits and, where it wrote none, takes the place of the words linked to it;
an emoji is left out and set back where it stood. Where that cannot be told for certain, `restored` gives None, and the
sentence is better translated in parts around what is to be kept. It does not know models.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, final

from regard.serve.marks import Mark
from regard.serve.place import Change, Edit, Gaps
from regard.serve.said import Said, Span, overlap

_DIGITS: Final = re.compile(r"\d+(?:[.,:/'’\-–]\d+)*")
_POSSESSIVE: Final = re.compile(r"^['’]\w\b")  # {name}'s: what becomes of it stands in the word that goes
NAMES: Final = {
    "LATIN": ("Tom", "Mary", "John", "Jane", "Ken", "Bill", "Jack", "Linda"),
    "DEVANAGARI": ("टॉम", "मेरी", "जॉन", "केन", "बिल", "जॅक", "लिंडा", "जेन"),
    "CYRILLIC": ("Том", "Мэри", "Джон", "Джейн", "Кен", "Билл", "Джек", "Линда"),
    "ARABIC": ("توم", "ماري", "جون", "جين", "كين", "بيل", "جاك", "ليندا"),
    "GREEK": ("Τομ", "Μαίρη", "Τζον", "Τζέιν", "Κεν", "Μπιλ", "Τζακ", "Λίντα"),
}


@final
@dataclass(frozen=True, slots=True)
class Masked:
    """A sentence and what the model is given in its place."""

    whole: str
    edit: Edit
    marks: tuple[Mark, ...]

    def literal(self, mark: Mark) -> str:
        return self.whole[mark.span[0] : mark.span[1]]

    def stand(self, mark: Mark) -> Span:
        """Where its stand-in stands in what the model is given."""
        return self.edit.forward(mark.span)


def masked(text: str, found: Sequence[Mark]) -> Masked | None:
    """The sentence with names for what is to be kept; None where there is more to keep than there are names."""
    names = iter([each for each in NAMES[_script(text, found)] if each not in text])
    changes: list[Change] = []
    for mark in found:
        start, end = mark.span
        if mark.kind == "sign":
            alone = text[start - 1 : start].isspace() and text[end : end + 1].isspace()
            apart = alone or text[start - 1 : start].isspace() or not text[end : end + 1].isalnum()
            changes.append((start, end + alone, "" if apart else " "))
        elif mark.kind != "number":
            name = next(names, None)
            if name is None:
                return None
            changes.append((start, end, name))
    return Masked(text, Edit(text, changes), tuple(found))


def _script(text: str, found: Sequence[Mark]) -> str:
    """The script of most letters, among those that names are known in."""
    kept = {at for mark in found for at in range(*mark.span)}
    counts = dict.fromkeys(NAMES, 0)
    for at, letter in enumerate(text):
        if at not in kept and letter.isalpha():
            script = unicodedata.name(letter, "").partition(" ")[0]
            if script in counts:
                counts[script] += 1
    return max(counts, key=lambda script: counts[script])


def restored(kept: Masked, said: Said) -> Said | None:
    """The model's answer with everything in it that was to be kept, and links that count in the whole sentence."""
    changes = _names(kept, said)
    if changes is None:
        return None
    changes += _numbers(kept, said, changes)
    changes += _signs(kept, said, changes)
    edit = Edit(said.text, sorted(changes, key=lambda each: each[:2]))
    links = [replace(each, source=kept.edit.back(each.source), target=edit.forward(each.target)) for each in said.links]
    others = (_other(kept, each) for each in said.others)
    return replace(said, text=edit.text, links=tuple(links), others=tuple(each for each in others if each is not None))


def _names(kept: Masked, said: Said) -> list[Change] | None:
    """In place of a name's words, when one run of words is linked to it and to nothing else."""
    changes: list[Change] = []
    for mark in kept.marks:
        if mark.kind not in {"number", "sign"}:
            run = _run(kept, mark, said)
            if run is None or _taken(run, changes):
                return None
            changes.append((*run, kept.literal(mark)))
    return changes


def _run(kept: Masked, mark: Mark, said: Said) -> Span | None:
    """The one word, or two words in a row, written from a stand-in alone; without the punctuation around them."""
    stand, text = kept.stand(mark), kept.edit.text
    linked = sorted({each.target for each in said.links if overlap(each.source, stand)})
    others = {each.target for each in said.links if not overlap(each.source, stand)}
    for start, end in {each.source for each in said.links if overlap(each.source, stand)}:
        around = text[start : stand[0]] + _POSSESSIVE.sub("", text[stand[1] : end])
        if any(each.isalpha() for each in around):
            return None  # it would take other letters with it
    if not linked or len(linked) > 2 or any(each in others for each in linked):
        return None
    if len(linked) == 2 and said.text[linked[0][1] : linked[1][0]].strip():
        return None
    start, end = linked[0][0], linked[-1][1]
    while start < end and unicodedata.category(said.text[start])[0] in "PZ":
        start += 1
    while end > start and unicodedata.category(said.text[end - 1])[0] in "PZ":
        end -= 1
    return (start, end) if start < end else None


def _numbers(kept: Masked, said: Said, before: Sequence[Change]) -> list[Change]:
    """Each number where the model wrote it; else in place of another one, or of the words, that were linked to it."""
    there = [each.span() for each in _DIGITS.finditer(said.text)]
    there = [each for each in there if not _taken(each, before)]
    changes: list[Change] = []
    late: list[Mark] = []
    for mark in kept.marks:
        if mark.kind == "number":
            literal = kept.literal(mark)
            span = next((each for each in there if _value(said.text[slice(*each)]) == _value(literal)), None)
            if span is None:
                late.append(mark)
            else:
                there.remove(span)
                changes.append((*span, _digits(literal) if literal.isascii() else said.text[slice(*span)]))
    for mark in late:
        run, taken = _run(kept, mark, said), [*before, *changes]
        other = next((each for each in there if run is not None and overlap(each, run)), there[0] if there else None)
        if other is not None:  # a number that the sentence does not have was meant for one that it has
            there.remove(other)
            changes.append((*other, _plain(kept.literal(mark))))
        elif run is None or _taken(run, taken):
            changes.append(_between(kept, mark, said, taken))
        else:
            changes.append((*run, _plain(kept.literal(mark))))
    return changes


def _digits(number: str) -> str:
    """Without the sign of a currency, which the model has its own word for."""
    return number.lstrip("$€£¥₹")


def _other(kept: Masked, text: str) -> str | None:
    """A translation without links to put things back by, if it has all that is to be kept."""
    there = [each.span() for each in _DIGITS.finditer(text)]
    changes: list[Change] = []
    for mark in kept.marks:
        literal = kept.literal(mark)
        span = next((each for each in there if _value(text[slice(*each)]) == _value(literal)), None)
        if mark.kind != "number" or span is None:
            return None
        there.remove(span)
        changes.append((*span, _digits(literal) if literal.isascii() else text[slice(*span)]))
    return Edit(text, sorted(changes)).text


def _signs(kept: Masked, said: Said, before: Sequence[Change]) -> list[Change]:
    return [_between(kept, mark, said, before) for mark in kept.marks if mark.kind == "sign"]


def _between(kept: Masked, mark: Mark, said: Said, taken: Sequence[Change]) -> Change:
    """Between two words, where the gap came to lie that it stood in."""
    at = Gaps(said.links, len(said.text)).at(kept.edit.forward(mark.span)[0])
    at = next((end for start, end, _ in taken if start < at < end), at)
    before = " " if at and not said.text[at - 1].isspace() else ""
    after = " " if said.text[at : at + 1].isalnum() else ""
    literal = kept.literal(mark) if mark.kind == "sign" else _plain(kept.literal(mark))
    return at, at, before + literal + after


def _taken(span: Span, changes: Sequence[Change]) -> bool:
    return any(overlap(span, (start, end)) for start, end, _ in changes)


def _value(number: str) -> str:
    """A number in any digits and with any marks between them, to be compared."""
    return "".join(str(unicodedata.decimal(each)) for each in number if each.isdecimal())


def _plain(number: str) -> str:
    """In ASCII digits, which every language reads."""
    return "".join(str(unicodedata.decimal(each)) if each.isdecimal() else each for each in number)
