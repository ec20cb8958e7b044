"""Listening on an address of either kind, IPv4 or IPv6."""

from __future__ import annotations

import ipaddress
import socket

ANYWHERE = ("0.0.0.0", "::")  # noqa: S104 - to recognise them


def listen_on(host: str, port: int, backlog: int | None = None) -> socket.socket:
    """A socket that listens; ``::`` listens on all addresses, those of IPv4 too where the system can do both.

    Parameters
    ----------
    host : a name, or an address, that of IPv6 in brackets or not
    port : 0 takes a free one
    backlog : how many connections may wait
    """
    host = bare_host(host)
    if ":" not in host:
        return socket.create_server((host, port), backlog=backlog)
    does_both = host in ANYWHERE and socket.has_dualstack_ipv6()
    return socket.create_server((host, port), family=socket.AF_INET6, backlog=backlog, dualstack_ipv6=does_both)


def bare_host(host: str) -> str:
    """A host without the brackets that an address has around one of IPv6."""
    return host.removeprefix("[").removesuffix("]")


def in_address(host: str) -> str:
    """A host as it stands before a colon and a port."""
    return f"[{bare_host(host)}]" if ":" in host else host


def client_of(address: str) -> str:
    """Whose address it is: one of IPv4 as such, also where a socket for both kinds writes it as one of IPv6."""
    try:
        mapped = ipaddress.IPv6Address(address).ipv4_mapped
    except ValueError:
        return address
    return address if mapped is None else str(mapped)
