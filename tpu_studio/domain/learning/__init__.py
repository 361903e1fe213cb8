"""Learn: chapters and glossary as data, and how far a person is, as a fold over what really happened. No Qt."""
