"""One view-model a page: a frozen state in an `Observable`, and commands. No Qt, no widgets, no network of its own."""
