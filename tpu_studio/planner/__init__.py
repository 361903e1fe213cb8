"""Pure decisions about a job: what "auto" becomes and why, how long it takes, what it costs, whether it fits.

`make.make_plan` is the door. Nothing here reads a file, asks a clock or knows a framework; the quick look at the
data, a short timing of real steps, the time and the computer's size are handed in.
"""
