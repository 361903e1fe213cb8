"""The window around the pages: sidebar, menus, notices, the command palette, drops, and who is shown when."""
