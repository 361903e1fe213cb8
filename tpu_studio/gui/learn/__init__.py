"""The Learn page: chapters with live widgets, their steps, the glossary, and the step that goes along."""
