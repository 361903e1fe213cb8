"""`check`: what a plan's training step would do on a TPU, found on this computer before anything is rented.

`program` reads the question and answers in JSON lines; `tracing` runs the model on the first real batch without
working anything out (shapes, with the person's own file and line); `operations` looks for what a TPU does badly;
`compiling` hands the very step of `step_jax` to the real TPU compiler (libtpu). Runs in an environment of its own
(`engine --install --with tpu-compiler`); without a compiler the first two still answer in the training engine.
"""
