"""The gallery of models."""
