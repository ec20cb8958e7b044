"""Links between parties: within one process, or over mutual TLS with pinned certificates."""

from kakuran.vertical.transport.link import Link, linked_pair, with_each
from kakuran.vertical.transport.tls import Identity, Listener, connect

__all__ = [
    "Identity",
    "Link",
    "Listener",
    "connect",
    "linked_pair",
    "with_each",
]
