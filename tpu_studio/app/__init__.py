"""The window's program: builds every object, connects them, and knows everything. Nothing imports it."""
