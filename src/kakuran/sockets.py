"""Listening on an address of either kind, IPv4 or IPv6, and knowing who is at the other end."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Sequence

ANYWHERE = ("0.0.0.0", "::")  # noqa: S104 - to recognise them


def listen_on(host: str, port: int, backlog: int | None = None) -> socket.socket:
    """A socket that listens; ``::`` listens on all addresses, those of IPv4 too where the system can do both.

    Parameters
    ----------
    host : str
        A name, or an address, that of IPv6 in brackets or not.
    port : int
        0 takes a free one.
    backlog : int | None
        How many connections may wait.
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


class Proxies:
    """Proxies that are believed when they say whom they speak for.

    Parameters
    ----------
    addresses : Iterable[str]
        Of proxies, or of networks of them, as 10.0.0.0/8.

    Examples
    --------
    >>> proxies = Proxies(["127.0.0.1"])
    >>> proxies.client_behind("127.0.0.1", [b"192.0.2.7, 198.51.100.9"])
    '198.51.100.9'
    >>> proxies.client_behind("127.0.0.1", [b"192.0.2.7, made-up"])
    '127.0.0.1'
    """

    def __init__(self, addresses: Iterable[str]) -> None:
        self._networks = [ipaddress.ip_network(bare_host(address), strict=False) for address in addresses]

    def __contains__(self, address: str) -> bool:
        known = _ip(address)
        return known is not None and any(known in network for network in self._networks)

    def client_behind(self, proxy: str, said: Sequence[bytes]) -> str:
        """Whom a proxy speaks for: the last address in its X-Forwarded-For headers that is no proxy's.

        What stands further to the left is what a client has sent itself. So where the last one is no address, it is
        the proxy's own: a client that can make one up could be somebody new with every request.
        """
        for hop in reversed(b",".join(said).decode("latin1").split(",")):
            address = _ip(_without_port(hop.strip()))
            if address is None:
                break
            if str(address) not in self:
                return str(address)
        return proxy


def _ip(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(client_of(address))
    except ValueError:
        return None


def _without_port(hop: str) -> str:
    """An address without the port that some proxies write behind it, as in 192.0.2.1:80 and [2001:db8::1]:80."""
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop
