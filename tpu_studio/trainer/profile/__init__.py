"""A profile of some steps: where their time goes, told in shares.

``profiling`` is asked by the loop and brackets whole calls with the framework's own profiler (``trainer.frameworks``);
``__main__`` reads what that wrote, in a process of its own, for a large trace takes seconds of Python: ``xspace`` knows
the file, ``shares`` what it means. The raw trace stays in the run's folder, as `xprof --logdir` opens it.
"""
