"""Serving: the LibreTranslate API and what goes beyond it, over bundles. It knows tasks and texts, not tensors."""
