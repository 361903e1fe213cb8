"""Google Cloud: sign-in, account checks, machines, bucket, shut-off timers, prices. Implements workflow's cloud ports.

Knows no practice cloud: base URLs and credentials come in a `Connection` (docs/cloud.md).
"""
