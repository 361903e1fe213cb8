"""The life of a run on a rented machine: decide (pure), act through ports, record (docs/cloud.md)."""
