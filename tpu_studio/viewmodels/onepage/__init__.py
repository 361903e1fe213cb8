"""A run as one HTML file that opens offline in any browser: what it reached, curves, plan, cost, how to repeat it.

`page.page_of` reads a run; `page.compose` makes the file of what the Run page knows already. What may not leave this
computer is cut out in one place, `private`, where every text passes on its way into the file.
"""

ENDINGS = (".html", ".htm")  # of such a file
