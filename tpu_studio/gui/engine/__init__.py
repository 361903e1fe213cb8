"""The training engine on screen: its panel in Settings, and the dialog when a run needs it."""
