"""The practice cloud: Google's own REST on a loopback port, with machines that are processes (docs/cloud.md)."""
