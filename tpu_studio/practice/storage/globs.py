"""``matchGlob``: ``*`` and ``?`` stop at a slash, ``**`` does not; ``[a-z]``, ``[!a]``, ``{one,two}``. Pure."""

from __future__ import annotations

import re


class BadGlob(ValueError):
    pass


def compile_glob(glob: str) -> re.Pattern[str]:
    """Raises: BadGlob."""
    out: list[str] = []
    depth = at = 0
    while at < len(glob):
        sign = glob[at]
        at += 1
        if sign == "*":
            if glob[at : at + 1] == "*":
                at += 1
                out.append(".*")
            else:
                out.append("[^/]*")
        elif sign == "?":
            out.append("[^/]")
        elif sign == "[":
            close = glob.find("]", at + 1)
            if close < 0:
                raise BadGlob("[ is not closed")
            inside = glob[at:close].replace("\\", "\\\\").replace("[", "\\[")
            negated = inside[0] in "!^"
            out.append(f"[^{inside[1:]}]" if negated else f"[{inside}]")
            at = close + 1
        elif sign == "{":
            depth += 1
            out.append("(?:")
        elif sign == "}" and depth:
            depth -= 1
            out.append(")")
        elif sign == "," and depth:
            out.append("|")
        elif sign == "\\" and at < len(glob):
            out.append(re.escape(glob[at]))
            at += 1
        else:
            out.append(re.escape(sign))
    if depth:
        raise BadGlob("{ is not closed")
    try:
        return re.compile("".join(out), re.DOTALL)
    except re.error as error:
        raise BadGlob(str(error)) from error
