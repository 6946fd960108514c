"""Vocabularies: text ↔ ids, with the span of characters that each id stands for."""

from regard.source.vocabulary.core import Kind, Tokens, Vocabulary
from regard.source.vocabulary.learn import learn
from regard.source.vocabulary.vary import Vary

__all__ = ["Kind", "Tokens", "Vary", "Vocabulary", "learn"]
