"""Billable resources: everything that may cost money."""
