"""What an error text means: any log of a TPU, a framework, a notebook or the cloud → causes, best first.

    text = log_text(raw bytes)      decoded, of 10 MB at most, without keys, colours and what cannot be seen
    explain(text) → Explanation     causes with the lines that show them, and lines that are no error

The knowledge is `resources/explain/*.toml`: rules with a source and a text that each must recognise (`rules`).
"""

from tpu_studio.domain.explaining.causes import Cause, Explanation, Harmless, explain
from tpu_studio.domain.explaining.logtext import LARGEST, LogText, log_text
from tpu_studio.domain.explaining.rules import Rule, rules

__all__ = ["LARGEST", "Cause", "Explanation", "Harmless", "LogText", "Rule", "explain", "log_text", "rules"]
