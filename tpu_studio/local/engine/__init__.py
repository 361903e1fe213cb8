"""The training engine: an environment of its own with TensorFlow, JAX and Keras, installed on first need.

    engine = Engine(engine_root())
    engine.state()                      missing | installing | broken | outdated | ready, in milliseconds
    engine.install(progress, cancelled) does nothing when a healthy engine is there
    engine.python()                     the interpreter a trainer is started with
    compiler(engine_root())             the same for the TPU compiler, in a folder of its own beside it
    tf_compiler(engine_root())          the same for what lowers TensorFlow for a TPU
    StarterWeights(engine)              the same for weights that models can begin from

Used by the computer place (to start trainers), the Settings page and the `engine` verb. The window's own
process never imports a framework. Why it is built this way: docs/decisions/0001-engine-environment.md.
"""

from tpu_studio.local.engine.engine import Engine, compiler, extra, packages_for, tf_compiler
from tpu_studio.local.engine.progress import Cancelled, Progress, ProgressSink, Step
from tpu_studio.local.engine.spec import EngineSpec
from tpu_studio.local.engine.state import EngineState, Status
from tpu_studio.local.engine.weights import StarterWeights
from tpu_studio.wire.homes import engine_root

__all__ = [
    "Cancelled",
    "Engine",
    "EngineSpec",
    "EngineState",
    "Progress",
    "ProgressSink",
    "StarterWeights",
    "Status",
    "Step",
    "compiler",
    "engine_root",
    "extra",
    "packages_for",
    "tf_compiler",
]
