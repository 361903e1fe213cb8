"""Run in the engine: what JAX's own reader and TensorFlow's description say of a trace of ours, as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from jax.profiler import ProfileData
from tensorflow.tsl.profiler.protobuf import xplane_pb2

found = ProfileData.from_file(sys.argv[1])
planes = {
    plane.name: {
        line.name: [[event.name, round(event.start_ns), round(event.duration_ns)] for event in line.events]
        for line in plane.lines
    }
    for plane in found.planes
}
whole = xplane_pb2.XSpace.FromString(Path(sys.argv[1]).read_bytes())
categories = {
    metadata.name: [stat.str_value for stat in metadata.stats if stat.str_value]
    for plane in whole.planes
    for metadata in plane.event_metadata.values()
}
numbers = {
    name: {field.name: field.number for field in getattr(xplane_pb2, name).DESCRIPTOR.fields}
    for name in ("XSpace", "XPlane", "XLine", "XEvent", "XEventMetadata", "XStatMetadata", "XStat")
}
print(json.dumps({"planes": planes, "categories": categories, "numbers": numbers}))
