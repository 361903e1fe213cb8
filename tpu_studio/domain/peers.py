"""Whose program is at the other end of a connection that came in over loopback.

Every account of a computer reaches 127.0.0.1, so who may ask a port of ours is looked up when it connects. The system
knows: Linux tells the user of each socket (asked for the one by netlink, sock_diag(7), or read in /proc/net/tcp). macOS
and Windows tell which process has the connection, and whose process it is (psutil, by
proc_pidfdinfo and GetExtendedTcpTable; tried on Linux only).

Root, and whoever the system lets read everything, is let in: it could read our memory as well. A socket that nobody
holds any more (its program has closed it and is gone) belongs to user 0 in the kernel's tables, whoever opened it, and
counts as nobody's.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import sys
from pathlib import Path
from typing import Any

Address = tuple[str, int]

_SYSTEM: str = sys.platform
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_READS = 3  # of a table that others change meanwhile: a row may be skipped
_ROOT = 0
# linux/inet_diag.h: inet_diag_req_v2 and the beginning and end of inet_diag_msg, after an nlmsghdr
_HEADER, _ASKED, _TOLD = struct.Struct("=IHHII"), struct.Struct("=BBBBI"), struct.Struct("=BBBB")
_PORTS, _OWNER = struct.Struct("!HH"), struct.Struct("=II")
_BY_FAMILY, _REQUEST, _ERROR, _SOCK_DIAG = 20, 1, 2, 4
_ANY_STATE, _NO_COOKIE = 0xFFFFFFFF, b"\xff" * 8
_ID_BYTES = 48


def is_ours(peer: Address, here: Address) -> bool | None:
    """Whether the program that has connected from *peer* to our end *here* (both IPv4) runs as us, or as root.

    None: it cannot be told; its end is closed already, or the system does not say.
    """
    if _SYSTEM == "linux":
        user = user_of(peer, here)
        return None if user is None else user in (_ROOT, os.geteuid())
    import psutil

    try:
        return by_processes(holders(peer, here) if _SYSTEM == "win32" else own_holders(peer, here))
    except (OSError, psutil.Error):
        return None


def user_of(peer: Address, here: Address) -> int | None:
    """The user's number of the socket at *peer*; None: no program holds it. Linux."""
    try:
        return asked_of_kernel(peer, here)
    except OSError:  # a container may have no netlink, a kernel no tcp_diag
        return read_in_tables(peer, here)


def asked_of_kernel(peer: Address, here: Address) -> int | None:
    """`user_of` by netlink: one look-up, however many connections there are. Raises OSError: not offered here."""
    ends = _PORTS.pack(peer[1], here[1]) + _padded(peer[0]) + _padded(here[0])
    body = _ASKED.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 0, _ANY_STATE) + ends + bytes(4) + _NO_COOKIE
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as line:
        line.settimeout(5.0)
        line.send(_HEADER.pack(_HEADER.size + len(body), _BY_FAMILY, _REQUEST, 1, 0) + body)
        reply = line.recv(65536)
    kind = _HEADER.unpack_from(reply)[1]
    if kind == _ERROR:
        code = -struct.unpack_from("=i", reply, _HEADER.size)[0]
        if code == errno.ENOENT:
            return None
        raise OSError(code, os.strerror(code))
    at = _HEADER.size + _TOLD.size
    if reply[at : at + 4] != ends[:4]:  # a listener answers for a connection that is not there
        return None
    user, inode = _OWNER.unpack_from(reply, at + _ID_BYTES + 12)  # after expires, rqueue, wqueue
    return user if inode else None


def read_in_tables(peer: Address, here: Address) -> int | None:
    """`user_of` in /proc/net: one line a socket, also that of an IPv6 socket which speaks to an IPv4 address."""
    ends = [_written(peer, mapped).encode() + b" " + _written(here, mapped).encode() for mapped in (False, True)]
    for _ in range(_READS):
        for table, wanted in zip(_TABLES, ends, strict=True):
            try:
                lines = table.read_bytes().splitlines()
            except OSError:
                continue
            fields = next((line.split() for line in lines if wanted in line), None)
            if fields is not None:  # sl local remote state queues timer retransmits uid timeout inode …
                return int(fields[7]) if int(fields[9]) else None
    return None


def _padded(host: str) -> bytes:
    return socket.inet_aton(host) + bytes(12)


def _written(end: Address, mapped: bool) -> str:
    """As in /proc/net/tcp: four bytes as one number of this computer's order, the port in hex."""
    host = f"{struct.unpack('=I', socket.inet_aton(end[0]))[0]:08X}"
    prefix = "0000000000000000" + f"{struct.unpack('=I', bytes(2) + bytes([255, 255]))[0]:08X}" if mapped else ""
    return f"{prefix}{host}:{end[1]:04X}"


# ------------------------------------------------------------------------------------------------ macOS and Windows


def by_processes(pids: list[int]) -> bool | None:
    """Whether one of *pids* is ours; None: none of them tells whose it is."""
    import psutil

    mine, told = psutil.Process().username(), None
    for pid in pids:
        try:
            if psutil.Process(pid).username() == mine:
                return True
            told = False
        except psutil.Error:  # the system tells nobody but its owner
            continue
    return told


def holders(peer: Address, here: Address) -> list[int]:
    """Who has the connection, of all processes of this computer."""
    import psutil

    return [one.pid for one in psutil.net_connections("tcp4") if (one.laddr, one.raddr) == (peer, here) and one.pid]


_recent: list[int] = []  # processes that have come before, the last one first


def own_holders(peer: Address, here: Address) -> list[int]:
    """Who has the connection, of the processes that let us see theirs: our own."""
    import psutil

    for pid in [*_recent, *(pid for pid in reversed(psutil.pids()) if pid not in _recent)]:
        try:
            ends = {(one.laddr, one.raddr) for one in psutil.Process(pid).net_connections("tcp")}
        except psutil.Error:  # another user's
            continue
        if any(_same(laddr, peer) and _same(raddr, here) for laddr, raddr in ends):
            _recent[:] = [pid, *(one for one in _recent if one != pid)][:16]
            return [pid]
    return []


def _same(told: tuple[Any, ...], end: Address) -> bool:
    return len(told) == 2 and told[1] == end[1] and told[0].removeprefix("::ffff:") == end[0]
