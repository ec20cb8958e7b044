"""Links over TLS 1.3, both sides showing a certificate the plan pins. One port a party."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from errno import EADDRINUSE
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from types import TracebackType
from typing import Self

from kakuran.errors import ProtocolError
from kakuran.sockets import client_of, in_address, listen_on
from kakuran.vertical.keys import certificate_in, der
from kakuran.vertical.messages.codec import HEADER_SIZE, read_header
from kakuran.vertical.messages.types import Message
from kakuran.vertical.plan import VerticalPlan
from kakuran.vertical.transport.link import Link

_HANDSHAKE_SECONDS = 5.0
_KNOCKING, _KNOCKING_FROM_ONE_ADDRESS = 128, 16
"""Handshakes that go on at once."""
_SLOWEST_LINE = 50_000
"""Bytes a second below which a peer counts as stalled."""


@dataclass(frozen=True)
class Identity:
    """Who we are (a key file), and the certificates by which we know the others."""

    party: str
    key: Path
    pinned: Mapping[str, bytes]

    @classmethod
    def under(cls, plan: VerticalPlan, party: str, key: Path) -> Self:
        """The identity of a party of a plan; refuses a key that is not the one the plan pins for it."""
        pinned = {terms.name: der(terms.certificate) for terms in plan.parties}
        if der(certificate_in(key)) != pinned[plan.terms(party).name]:
            raise ProtocolError(f"{key}: is not the key whose certificate the plan pins for {party}")
        return cls(party, key, {name: held for name, held in pinned.items() if name != party})

    def context(self, side: ssl._SSLMethod, peers: Collection[str]) -> ssl.SSLContext:
        """Settings that let nobody in but these peers."""
        context = ssl.SSLContext(side)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False  # names are not what identifies a peer: its pinned certificate is
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_cert_chain(self.key)
        try:
            context.load_verify_locations(cadata=b"".join(self.pinned[peer] for peer in peers))
        except ssl.SSLError as error:
            raise ProtocolError(f"the plan pins a certificate that cannot be used ({error.reason})") from error
        return context

    def peer_behind(self, connection: ssl.SSLSocket) -> str:
        """Whose certificate, byte by byte, the other side showed."""
        shown = connection.getpeercert(binary_form=True)
        for name, pinned in self.pinned.items():
            if shown == pinned:
                return name
        raise ProtocolError("the other side shows a certificate the plan does not pin")


class TLSLink(Link):
    """A connection on which the handshake is done."""

    def __init__(self, connection: ssl.SSLSocket, peer: str, timeout: float) -> None:
        super().__init__(peer, timeout)
        self._connection = connection

    def close(self) -> None:
        """Hang up."""
        with suppress(OSError):
            self._connection.close()

    def _write(self, frame: bytes) -> None:
        try:
            self._connection.settimeout(self.timeout + len(frame) / _SLOWEST_LINE)
            self._connection.sendall(frame)
        except TimeoutError:
            raise self.silent(self.timeout) from None
        except OSError as error:
            raise self._lost(error) from None

    def _read(self, seconds: float, expected: type[Message], most: int | None) -> bytes:
        header = self._read_exactly(HEADER_SIZE, seconds)
        kind, length = read_header(header)
        self.check_due(kind, length, expected, most)  # before room is made for it: some kinds may be long
        return header + self._read_exactly(length, self.timeout + length / _SLOWEST_LINE)

    def _read_exactly(self, count: int, seconds: float) -> bytes:
        deadline, content = time.monotonic() + seconds, bytearray()
        while len(content) < count:
            try:
                self._connection.settimeout(max(deadline - time.monotonic(), 0.001))
                received = self._connection.recv(min(count - len(content), 1 << 20))
            except TimeoutError:
                raise self.silent(seconds) from None
            except OSError as error:
                raise self._lost(error) from None
            if not received:
                raise self.gone()
            content += received
        return bytes(content)

    def _lost(self, error: OSError) -> ProtocolError:
        if isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or ""):
            return ProtocolError(f"{self.peer} does not accept our certificate; compare the plans' fingerprints")
        return self.gone()


@dataclass(frozen=True)
class _Knock:
    """Somebody whose handshake is not done yet."""

    connection: ssl.SSLSocket
    client: str
    deadline: float


class Listener:
    """Waits on one port for the peers of a plan; whoever else knocks is sent away and told nothing.

    Handshakes go on side by side, so that strangers who say nothing keep nobody waiting. Where too many knock at once,
    whoever has knocked longest is sent away; one address cannot crowd out the others.
    """

    def __init__(self, identity: Identity, host: str, port: int, *, timeout: float) -> None:
        self._identity, self._timeout = identity, timeout
        self._context = identity.context(ssl.PROTOCOL_TLS_SERVER, identity.pinned)
        self._knocking: list[_Knock] = []
        try:
            self._socket = listen_on(host, port)
        except OSError as error:
            reason = "it is in use; choose another --port" if error.errno == EADDRINUSE else error.strerror or error
            raise ProtocolError(f"cannot listen on {in_address(host)}:{port}: {reason}") from error
        self._socket.setblocking(False)
        self._selector = DefaultSelector()
        self._selector.register(self._socket, EVENT_READ)

    @property
    def port(self) -> int:
        """The port we listen on."""
        return int(self._socket.getsockname()[1])

    def accept(
        self, peers: Collection[str], *, patience: float, turned_away: Callable[[str], object] = lambda _: None
    ) -> Link:
        """A link to whichever of the peers comes first within so many seconds."""
        end = time.monotonic() + patience
        while (now := time.monotonic()) < end:
            for late in [knock for knock in self._knocking if knock.deadline <= now]:
                self._turn_away(late, "said nothing we could use in time", turned_away)
            next_look = min([end, *(knock.deadline for knock in self._knocking)])
            for key, _ in self._selector.select(next_look - now):
                if key.data is None:
                    self._open_the_door(turned_away)
                elif (link := self._shake_hands(key.data, peers, turned_away)) is not None:
                    return link
        raise ProtocolError(f"nobody came within {patience:g} s; waited for {', '.join(sorted(peers))}")

    def _open_the_door(self, turned_away: Callable[[str], object]) -> None:
        try:
            connection, address = self._socket.accept()
        except OSError:  # gone before we looked
            return
        connection.setblocking(False)
        try:
            secured = self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        except OSError:
            connection.close()
            return
        client = client_of(address[0])
        from_there = [knock for knock in self._knocking if knock.client == client]
        if len(from_there) >= _KNOCKING_FROM_ONE_ADDRESS:
            self._turn_away(from_there[0], "too many knock from there", turned_away)
        elif len(self._knocking) >= _KNOCKING:
            self._turn_away(self._knocking[0], "too many knock", turned_away)
        knock = _Knock(secured, client, time.monotonic() + _HANDSHAKE_SECONDS)
        self._knocking.append(knock)
        self._selector.register(secured, EVENT_READ, knock)

    def _shake_hands(self, knock: _Knock, peers: Collection[str], turned_away: Callable[[str], object]) -> Link | None:
        """The link to a peer whose handshake is done with what it has sent by now."""
        if knock not in self._knocking:  # turned away a moment ago
            return None
        try:
            knock.connection.do_handshake()
            peer = self._identity.peer_behind(knock.connection)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return None
        except (OSError, ProtocolError) as error:
            self._turn_away(knock, str(getattr(error, "reason", None) or error), turned_away)
            return None
        if peer not in peers:
            self._turn_away(knock, f"{peer} is not whom we wait for", turned_away)
            return None
        self._let_go(knock)
        return TLSLink(knock.connection, peer, self._timeout)

    def _turn_away(self, knock: _Knock, reason: str, turned_away: Callable[[str], object]) -> None:
        self._let_go(knock)
        knock.connection.close()
        turned_away(f"turned away {knock.client}: {reason}")

    def _let_go(self, knock: _Knock) -> None:
        self._selector.unregister(knock.connection)
        self._knocking.remove(knock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._selector.close()
        for open_socket in (self._socket, *(knock.connection for knock in self._knocking)):
            open_socket.close()


def connect(
    identity: Identity, host: str, port: int, peers: Collection[str], *, timeout: float, patience: float
) -> Link:
    """A link to the peer listening there; keeps trying for so many seconds, as it may not be up yet."""
    context = identity.context(ssl.PROTOCOL_TLS_CLIENT, peers)
    connection, where = _reach(host, port, patience), f"{in_address(host)}:{port}"
    try:
        connection.settimeout(max(_HANDSHAKE_SECONDS, timeout))
        return _linked(identity, context.wrap_socket(connection), timeout)
    except ssl.SSLCertVerificationError as error:
        connection.close()
        raise ProtocolError(
            f"{where} shows a certificate the plan does not pin; it is not {' or '.join(sorted(peers))}"
        ) from error
    except OSError as error:
        connection.close()
        raise ProtocolError(f"no TLS connection to {where}: {error}") from error


def _linked(identity: Identity, connection: ssl.SSLSocket, timeout: float) -> Link:
    """A link over a connection whose handshake is done; hangs up on whom the plan does not pin."""
    try:
        return TLSLink(connection, identity.peer_behind(connection), timeout)
    except ProtocolError:
        connection.close()
        raise


def _reach(host: str, port: int, patience: float) -> socket.socket:
    deadline = time.monotonic() + patience
    while True:
        try:
            return socket.create_connection((host, port), timeout=max(deadline - time.monotonic(), 1.0))
        except OSError as error:
            if time.monotonic() > deadline:
                raise ProtocolError(
                    f"cannot reach {in_address(host)}:{port}: {error.strerror or error}; has the party there started, "
                    "on this port?"
                ) from error
            time.sleep(0.2)
