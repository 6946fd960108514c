"""The names a user may import are those of the list: none comes or goes unnoticed."""

from pathlib import Path

import regard

LISTED = Path(__file__).with_name("public_names.txt").read_text(encoding="utf-8").split()


def test_the_public_names_are_those_of_the_list() -> None:
    assert sorted(regard.__all__) == LISTED


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    for name in regard.__all__:
        assert getattr(regard, name).__doc__
