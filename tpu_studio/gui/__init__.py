"""The window: widgets, pages and plots. The only user of PySide6 and pyqtgraph besides `app`."""
