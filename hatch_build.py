"""Put `resources/` into the wheel, below `tpu_studio`. Run by the build, not by us.

An editable install gets none: it reads them at the top of the repository (`tpu_studio.wire.resources`), and a copy
would grow stale.
"""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ResourcesHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard":
            build_data["force_include"]["resources"] = "tpu_studio/resources"
