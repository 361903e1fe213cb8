"""Settings: appearance, folders, the training engine, consents, about."""
