"""Cloud Quotas v1 and v1beta: limits by place, and requests for more."""

from __future__ import annotations

from tpu_studio.practice.quota_limits import COMPUTE, TPU, applying, limit

__all__ = ["COMPUTE", "TPU", "applying", "limit"]
