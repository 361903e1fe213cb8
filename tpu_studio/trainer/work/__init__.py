"""What a model's programs work and hold, counted by walking them as JAX traced them (jaxpr): nothing runs.

`walk` counts the operations of a program and the bytes that are alive in it; `formulas` has what one operation costs,
kernels too, one row each; `model` traces training and evaluation of a model and answers for one example. Used by
`inspect` and `check`; what they answer is kept by `local.modelfacts` and read by the planner.
"""
