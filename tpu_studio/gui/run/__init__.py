"""The Run page: live dashboard, report when the run is over, and "Try the model"."""
