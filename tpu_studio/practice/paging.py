"""One page of a list, the way Google's services cut them."""

from __future__ import annotations

from tpu_studio.practice.errors import GoogleError
from tpu_studio.practice.routing import Request
from tpu_studio.practice.state import Record


def page(request: Request, key: str, items: list[Record], *, most: int, usual: int = 0) -> dict[str, object]:
    """``{key: [...], "nextPageToken": …}``; what is empty is left out.

    Args:
        most: The service's largest page; *usual* what it gives when not asked for a size (0: *most*).

    Raises:
        GoogleError: 400 for a page token that isn't ours or a page size that is no number.
    """
    token, asked = request.one("pageToken"), request.one("pageSize")
    try:
        start, size = int(token.removeprefix("at-") or 0), int(asked or 0)
        if start < 0 or size < 0 or (token and not token.startswith("at-")):
            raise ValueError(token)
    except ValueError as error:
        raise GoogleError(400, "INVALID_ARGUMENT", "Invalid value for page size or page token.") from error
    size = min(size or usual or most, most)
    reply: dict[str, object] = {}
    if shown := items[start : start + size]:
        reply[key] = shown
    if start + size < len(items):
        reply["nextPageToken"] = f"at-{start + size}"
    return reply
