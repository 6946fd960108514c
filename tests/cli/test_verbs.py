"""Each verb does what the guide says."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Regard

from regard import config
from regard.task import bundle
from regard.task.translator import CHARACTERS

Learned = Callable[[str], Path]
LINES = ["We live here.", "", "Who are you?", "   ", "Go."]
STDIN = "".join(line + "\n" for line in LINES).encode()


@pytest.fixture
def model(learned: Learned) -> Path:
    return learned("bahdanau")


def test_lines_in_are_lines_out(model: Path, regard: Regard) -> None:
    done = regard("translate", "--model", model, stdin=STDIN)
    assert (done.code, done.err, len(done.lines)) == (0, "", 5)
    assert [bool(line) for line in done.lines] == [True, False, True, False, True]
    assert regard("translate", "--model", model, *LINES).out == done.out
    assert regard("translate", "--model", model, stdin=STDIN.removesuffix(b"\n")).out == done.out
    assert regard("translate", "--model", model, stdin=STDIN.replace(b"\n", b"\r\n")).out == done.out
    assert regard("translate", "--model", model, stdin=b"").out == ""
    assert regard("translate", "--model", model, "").out == "\n"
    assert len(regard("translate", "--model", model, "We\nlive\u2028here.").lines) == 1


def test_thousands_of_lines_keep_their_order(model: Path, regard: Regard) -> None:
    lines = [("", "Go.", "Who are you?", "We live here.", "Tom")[at % 7 % 5] for at in range(3000)]
    done = regard("translate", "--model", model, "--beam", 1, stdin="".join(f"{each}\n" for each in lines).encode())
    known = dict(zip(LINES, regard("translate", "--model", model, "--beam", 1, *LINES).lines, strict=True))
    known["Tom"] = regard("translate", "--model", model, "--beam", 1, "Tom").lines[0]
    assert done.lines == [known[line] for line in lines]


def test_json_is_an_object_a_line(model: Path, regard: Regard) -> None:
    done = regard("translate", "--model", model, "--json", "--best", 3, stdin=STDIN)
    records = [json.loads(line) for line in done.lines]
    assert [record["source"] for record in records] == LINES
    assert [record["text"] for record in records] == regard("translate", "--model", model, stdin=STDIN).lines
    assert [len(record.get("alternatives", [])) for record in records] == [2, 0, 2, 0, 2]
    best = [records[0], *records[0]["alternatives"]]
    assert [one["score"] for one in best] == sorted((one["score"] for one in best), reverse=True)
    assert all(record["log_prob"] <= 0 for record in records)
    assert "\\u" not in done.out  # people read it too


def test_search_can_be_asked_for(model: Path, regard: Regard) -> None:
    def out(*words: object) -> str:
        return regard("translate", "--model", model, *words, stdin=STDIN).out

    assert out("--sample", "--seed", 4) == out("--sample", "--seed", 4) != out("--sample", "--seed", 5)
    assert out("--sample", "--top-k", 1) == out("--beam", 1)
    assert all(not line or line.startswith("मी") for line in out("--prefix", "मी").split("\n"))
    assert out("--length", 0, "--coverage", 0.5, "--beam", 3).count("\n") == 5


def test_what_is_wrong_in_a_line_is_mended_and_told(model: Path, regard: Regard) -> None:
    stdin = b"Go.\nWho \xff are\x01 you?\nGo.\0\n" + b"Go\x02.\n"
    done = regard("translate", "--model", model, "--beam", 1, stdin=stdin)
    assert (done.code, len(done.lines)) == (0, 4)
    assert done.lines[2] == done.lines[0]
    assert done.err == (
        "mended before it was translated: 1 not UTF-8 (first: stdin:2), 1 with a NUL character (first: stdin:3), "
        "2 with control characters (first: stdin:2)\n"
    )
    wrong = regard("translate", "--model", model, stdin="Go.\n".encode("utf-16"))
    assert (wrong.code, wrong.err) == (2, "regard: stdin: is UTF-16; save it as UTF-8\n")


def test_a_line_of_ten_megabytes_is_cut_and_told(model: Path, regard: Regard) -> None:
    stdin = b"x" * 10_000_000 + b"\nGo.\n" + b"We live here. " * 1800
    done = regard("translate", "--model", model, "--beam", 1, stdin=stdin)
    assert (done.code, len(done.lines)) == (0, 3)
    assert done.err == "stdin:1 and 1 more: over 20,000 characters; the rest is not translated\n"
    assert done.lines[0] == "x" * CHARACTERS
    assert regard("translate", "--model", model, "--beam", 1, "x" * 30_000).err.startswith("sentence 1: over 20,000")
    record = json.loads(regard("translate", "--model", model, "--beam", 1, "--json", "x" * 30_000).out)
    assert record["finished"] is False


@pytest.mark.parametrize("name", ["here.png", "here.svg", "here.pdf", "here.html", "here.json", "HERE.JSON"])
@pytest.mark.parametrize("more", [[], ["--all"], ["--target", "आम्ही इथे राहतो."]])
def test_look_writes_each_kind_of_file(
    name: str, more: list[str], learned: Learned, regard: Regard, tmp_path: Path
) -> None:
    done = regard("look", "--model", learned("transformer"), "We live here.", "--out", tmp_path / name, *more)
    assert (done.code, done.out) == (0, "")
    assert f"{tmp_path / name} is written: " in done.err
    content = (tmp_path / name).read_bytes()
    assert content.startswith((b"\x89PNG", b"<?xml", b"%PDF", b"<!doctype html>", b"<!DOCTYPE html>", b"{"))
    if name.lower().endswith(".json"):
        assert len(json.loads(content)["readings"]) == 5
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_look_draws_in_the_terminal(model: Path, regard: Regard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    done = regard("look", "--model", model, "We live here.")
    assert (done.code, done.err) == (0, "")
    assert done.lines[0] == regard("translate", "--model", model, "We live here.").lines[0]
    assert all(word in done.out for word in ("We", "live", "here."))
    assert "\x1b" not in done.out
    given = regard("look", "--model", model, ":smile: [red]here[/red]", "--target", "मी आहे")
    assert ":smile:" in given.out  # said as it is
    assert "[red]here[/red]" in given.out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[" in regard("look", "--model", model, "We live here.").out
    monkeypatch.setenv("NO_COLOR", "1")
    plain = regard("look", "--model", model, "We live here.").out
    assert "8;5;" not in plain
    assert "8;2;" not in plain
    assert regard("look", "--model", model, "We live here.", "--all").code == 0


def test_align_gives_a_line_a_line(model: Path, regard: Regard, table: Path, tmp_path: Path) -> None:
    done = regard("align", "--model", model, table)
    assert (done.code, done.err, len(done.lines)) == (0, "", 60)
    assert regard("align", "--model", model, "-", stdin=table.read_bytes()).out == done.out
    rows = [line.split("\t") for line in table.read_text(encoding="utf-8").splitlines()]
    for name, side in (("a", 0), ("b", 1)):
        (tmp_path / name).write_text("".join(f"{row[side]}\n" for row in rows), encoding="utf-8")
    assert regard("align", "--model", model, "--source", tmp_path / "a", "--target", tmp_path / "b").out == done.out
    records = [json.loads(line) for line in regard("align", "--model", model, table, "--format", "json").lines]
    assert [record["source"]["text"] for record in records] == [row[0] for row in rows]
    found = [[tuple(map(int, link.split("-"))) for link in line.split()] for line in done.lines]
    gold = "".join(" ".join(f"{one + 1}-{other + 1}" for one, other in links) + "\n" for links in found)
    (tmp_path / "gold.txt").write_text(gold, encoding="utf-8")
    judged = regard("align", "--model", model, table, "--gold", tmp_path / "gold.txt")
    assert judged.lines == ["AER          0.0%    of 60 pairs", "precision  100.0%", "recall     100.0%"]


def test_evaluate_and_compare_say_how_good(learned: Learned, model: Path, regard: Regard, table: Path) -> None:
    with table.open("a", encoding="utf-8") as file:
        file.write("no tab\n")
    done = regard("evaluate", "--model", model, "--beam", 1, "--json", table)
    assert (done.code, len(done.lines)) == (0, 1)
    found = json.loads(done.out)
    assert {"model", "bleu", "chrf", "signature", "chrf_signature"} <= found.keys()
    assert found["model"] == str(model)
    assert "1 without a tab" in done.err
    assert "BLEU" in regard("evaluate", "--model", model, "--beam", 1, table).out
    assert regard("evaluate", "--model", model, "--strict", table).code == 2
    two = regard("compare", "--model", model, "--model", learned("blind"), "--beam", 1, table)
    assert (two.code, bool(two.out)) == (0, True)
    record = json.loads(regard("compare", "--model", model, "--model", model, "--beam", 1, "--json", table).out)
    assert record


def test_export_makes_a_bundle_that_translates_alike(model: Path, regard: Regard, tmp_path: Path) -> None:
    for name, more in (("folder", []), ("one.zip", []), ("small", ["--weights", "int8"])):
        done = regard("export", "--model", model, tmp_path / name, *more)
        assert (done.code, done.err) == (0, f"{tmp_path / name} is written\n")
    before = regard("translate", "--model", model, *LINES).out
    assert regard("translate", "--model", tmp_path / "folder", *LINES).out == before
    assert regard("translate", "--model", tmp_path / "one.zip", *LINES).out == before
    assert regard("translate", "--model", tmp_path / "small", *LINES).code == 0
    sizes = [(tmp_path / name / bundle.WEIGHTS).stat().st_size for name in ("small", "folder")]
    assert sizes[0] < 0.4 * sizes[1]
    assert {path.name for path in (tmp_path / "folder").iterdir()} == set(
        zipfile.ZipFile(tmp_path / "one.zip").namelist()
    )


def test_models_lists_what_ships(model: Path, regard: Regard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "shipped", lambda: {"mine": model})
    (line,) = regard("models").lines
    assert line.startswith("mine")
    assert "BLEU" in line
    (record,) = map(json.loads, regard("models", "--json").lines)
    assert record["name"] == "mine"
    assert record["figures"]["dev"]["signature"]
    assert regard("translate", "--model", "mine", "Go.").code == 0
    wrong = regard("translate", "--model", "mnie", "Go.")
    assert "did you mean 'mine'?" in wrong.err


def test_recipes_are_listed_and_printed_in_full(regard: Regard, tmp_path: Path) -> None:
    names = list(config.recipes())
    assert [line.split()[0] for line in regard("recipes").lines] == names
    assert [json.loads(line)["name"] for line in regard("recipes", "--json").lines] == names
    for name in names:
        (tmp_path / "mine.toml").write_text(regard("recipes", name).out, encoding="utf-8")
        assert config.load(str(tmp_path / "mine.toml")) == config.load(name)
        assert json.loads(regard("recipes", name, "--json").out) == config.dump(config.load(name))


def test_train_says_what_it_chose_and_goes_on(
    regard: Regard, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sizes = [
        f"--set={each}"
        for each in ("model.width=16", "model.embedding=16", "data.source.size=99", "data.target.size=99")
    ]
    done = regard("train", table, "--updates", 2, *sizes)
    assert (done.code, done.out) == (0, "")
    assert "recipe small, for 60 rows: " in done.err
    assert "held out to measure on" in done.err
    assert "the bundle is in runs/pairs" in done.err
    assert bundle.card("runs/pairs")["recipe"]["train"]["updates"] == 2
    assert bundle.card("runs/pairs")["recipe"]["train"]["epochs"] == 0
    again = regard("train", table, "--updates", 2, *sizes)
    assert (again.code, "--resume" in again.err) == (2, True)
    longer = regard("train", table, "--updates", 3, "--resume")  # the recipe is the run's own
    assert (longer.code, "going on after update 2" in longer.err) == (0, True)
    assert bundle.card("runs/pairs")["recipe"]["model"]["width"] == 16
    piped = regard("train", "-", "--out", "piped", "--updates", 2, *sizes, stdin=table.read_bytes())
    assert piped.code == 0
    assert "standard input" in piped.err
    other = regard("train", "--out", "pairs.tsv", "--updates", 2, table)
    assert other.code == 2
