"""The kit loads fast: neither numpy nor pyqtgraph before the first plot is shown."""

import subprocess
import sys

CODE = """
import sys
import pkgutil, importlib, tpu_studio.gui.kit as kit
for module in pkgutil.iter_modules(kit.__path__):
    importlib.import_module(f"tpu_studio.gui.kit.{module.name}")
import tpu_studio.gui.plots
print(sorted({"numpy", "pyqtgraph"} & set(sys.modules)))
"""


def test_no_kit_module_loads_numpy_or_pyqtgraph():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
