"""Links between parties: within one process, or over mutual TLS with certificates that each makes and the plan pins.

Of every message a link writes down who sent it, of what kind, how long, and its digest; never what it said.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import os
import socket
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from errno import EADDRINUSE
from pathlib import Path
from queue import Empty, Queue
from selectors import EVENT_READ, DefaultSelector
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias, TypeVar, cast

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID

from kakuran.errors import ProtocolError
from kakuran.sockets import client_of, in_address, listen_on
from kakuran.vertical.messages import HEADER_SIZE, Message, Refusal, decode, encode, in_one_line, read_header
from kakuran.vertical.plan import VerticalPlan
from kakuran.words import Phrase

_LIFETIME = datetime.timedelta(days=730)


def own_key(plan: Path, party: str) -> Path:
    """Where a party's key is unless it says otherwise: beside the plan."""
    return plan.parent / f"{party}.key"


def make_key(path: Path, party: str) -> str:
    """Write a new private key with its self-signed certificate where only the owner can read it.

    Returns the certificate (base64 of DER), which belongs in the plan.
    """
    key = Ed25519PrivateKey.generate()
    certificate = _self_signed(key, party)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ProtocolError(
            Phrase("{path}: there is a key already; take it with --key {path}, or move it away", path=path)
        ) from None
    except OSError as error:
        raise ProtocolError(
            Phrase("{path}: the key cannot be written: {why}", path=path, why=error.strerror)
        ) from error
    with os.fdopen(descriptor, "wb") as file:
        file.write(secret + certificate.public_bytes(serialization.Encoding.PEM))
    return _as_text(certificate)


def certificate_in(path: Path) -> str:
    """The certificate (base64 of DER) beside a private key."""
    try:
        return _as_text(x509.load_pem_x509_certificate(path.read_bytes()))
    except (OSError, ValueError, x509.InvalidVersion) as error:
        raise ProtocolError(
            Phrase("{path}: not a key made by `kakuran vertical init`: {error}", path=path, error=str(error))
        ) from error


def der(certificate: str) -> bytes:
    """A pinned certificate as the bytes TLS compares; refuses text that is none."""
    try:
        content = base64.b64decode(certificate, validate=True)
        x509.load_der_x509_certificate(content)
    except (ValueError, x509.InvalidVersion) as error:
        raise ProtocolError(Phrase("the plan holds something that is not a certificate; make it anew")) from error
    return content


def _self_signed(key: Ed25519PrivateKey, party: str) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, party[:64])])
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, None)
    )


def _as_text(certificate: x509.Certificate) -> str:
    return base64.b64encode(certificate.public_bytes(serialization.Encoding.DER)).decode()


@dataclass(frozen=True)
class Entry:
    """One message."""

    direction: Literal["sent", "received"]
    kind: str
    size: int
    digest: str


@dataclass
class Transcript:
    """All messages of one link, in order; the peer holds the same with the directions swapped."""

    peer: str
    entries: list[Entry] = field(default_factory=list)

    def note(self, direction: Literal["sent", "received"], kind: str, frame: bytes) -> None:
        """Write down a frame."""
        self.entries.append(Entry(direction, kind, len(frame), hashlib.sha256(frame).hexdigest()))

    def digest(self, *, we_first: bool) -> bytes:
        """A digest of all that was said, equal on both sides while no message is on its way."""
        sides = ("sent", "received") if we_first else ("received", "sent")
        said = ("".join(entry.digest for entry in self.entries if entry.direction == side) for side in sides)
        return hashlib.sha256("\0".join(said).encode()).digest()

    @property
    def bytes_sent(self) -> int:
        """Bytes that went out."""
        return sum(entry.size for entry in self.entries if entry.direction == "sent")

    @property
    def bytes_received(self) -> int:
        """Bytes that came in."""
        return sum(entry.size for entry in self.entries if entry.direction == "received")

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "peer": self.peer,
            "bytes_sent": self.bytes_sent,
            "bytes_received": self.bytes_received,
            "messages": [[e.direction, e.kind, e.size, e.digest] for e in self.entries],
        }


M = TypeVar("M", bound=Message)
T = TypeVar("T")


class Link(ABC):
    """A two-way line to one peer; whoever waits longer than `timeout` seconds for a message gives up."""

    def __init__(self, peer: str, timeout: float) -> None:
        self.peer = peer
        self.timeout = timeout
        self.transcript = Transcript(peer)

    def send(self, message: Message) -> None:
        """Send a message, or fail within the time limit."""
        frame = encode(message)
        self._write(frame)
        self.transcript.note("sent", type(message).__name__, frame)

    def receive(self, kind: type[M], *, patience: float = 1, most: int | None = None) -> M:
        """The next message, which must be of this kind and at most so long; wait `patience` times as long as usual."""
        frame = self._read(self.timeout * patience, kind, most)
        message = decode(frame)
        self.transcript.note("received", type(message).__name__, frame)
        if isinstance(message, Refusal):
            said = in_one_line(message.reason, 200)
            raise ProtocolError(Phrase("{peer} stopped: {reason}", peer=self.peer, reason=said))
        return cast(M, message)

    def check_due(self, got: type[Message], size: int, expected: type[Message], most: int | None) -> None:
        """Refuse what is not due now, or longer than what is; whoever stops may say so at any time."""
        if got not in (expected, Refusal):
            raise ProtocolError(
                Phrase(
                    "expected {kind} from {peer}, got {found}",
                    kind=expected.__name__,
                    peer=self.peer,
                    found=got.__name__,
                )
            )
        if most is not None and got is expected and size > most:
            raise ProtocolError(
                Phrase(
                    "{peer} sent {found} of {size:,} bytes where at most {most:,} are due",
                    peer=self.peer,
                    found=got.__name__,
                    size=size,
                    most=most,
                )
            )

    def swap(self, message: M, *, speaks_first: bool, patience: float = 1, most: int | None = None) -> M:
        """Send a message and receive the peer's of the same kind; in turns, so that neither blocks the other."""
        if speaks_first:
            self.send(message)
        theirs = self.receive(type(message), patience=patience, most=most)
        if not speaks_first:
            self.send(message)
        return theirs

    def refuse(self, reason: str) -> None:
        """Tell the peer that this is the end, if it still listens."""
        with suppress(ProtocolError):
            self.send(Refusal(reason[:1000]))

    def silent(self, seconds: float) -> ProtocolError:
        """The error for a peer that does not answer in time."""
        return ProtocolError(
            Phrase(
                "{peer} has been silent for {seconds:.3g} s; start all sides again to resume",
                peer=self.peer,
                seconds=seconds,
            )
        )

    def gone(self) -> ProtocolError:
        """The error for a peer that is no longer there."""
        return ProtocolError(Phrase("{peer} closed the connection; start all sides again to resume", peer=self.peer))

    @abstractmethod
    def close(self) -> None:
        """Hang up."""

    @abstractmethod
    def _write(self, frame: bytes) -> None: ...

    @abstractmethod
    def _read(self, seconds: float, expected: type[Message], most: int | None) -> bytes: ...


def give_up(links: Mapping[str, Link]) -> None:
    """Tell the others that we stop, and never why: a peer that chose the records would learn from it; and hang up."""
    for link in links.values():
        link.refuse("it cannot go on")
        link.close()


def with_each(links: Mapping[str, Link], talk: Callable[[str], T]) -> dict[str, T]:
    """Talk to every peer at the same time; if one talk fails, hang up on all."""
    with ThreadPoolExecutor(max(1, len(links))) as pool:
        talks = {peer: pool.submit(talk, peer) for peer in links}
        done, _ = wait(talks.values(), return_when=FIRST_EXCEPTION)
        failed = next((future.exception() for future in done if future.exception() is not None), None)
        if failed is not None:
            give_up(links)
            raise failed
        return {peer: future.result() for peer, future in talks.items()}


Pipe: TypeAlias = "Queue[bytes | None]"


class MemoryLink(Link):
    """One end of a pair of queues."""

    def __init__(self, peer: str, timeout: float, incoming: Pipe, outgoing: Pipe) -> None:
        super().__init__(peer, timeout)
        self._incoming, self._outgoing = incoming, outgoing

    def close(self) -> None:
        """Hang up."""
        self._outgoing.put(None)

    def _write(self, frame: bytes) -> None:
        self._outgoing.put(frame)

    def _read(self, seconds: float, expected: type[Message], most: int | None) -> bytes:
        try:
            frame = self._incoming.get(timeout=seconds)
        except Empty:
            raise self.silent(seconds) from None
        if frame is None:
            self._incoming.put(None)
            raise self.gone()
        self.check_due(*read_header(frame[:HEADER_SIZE]), expected, most)
        return frame


def linked_pair(first: str, second: str, timeout: float = 60.0) -> tuple[Link, Link]:
    """A line between two parties: the first's end and the second's."""
    there: Pipe = Queue()
    back: Pipe = Queue()
    return MemoryLink(second, timeout, back, there), MemoryLink(first, timeout, there, back)


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
            raise ProtocolError(
                Phrase("{key}: is not the key whose certificate the plan pins for {party}", key=key, party=party)
            )
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
            raise ProtocolError(
                Phrase("the plan pins a certificate that cannot be used ({why})", why=error.reason)
            ) from error
        return context

    def peer_behind(self, connection: ssl.SSLSocket) -> str:
        """Whose certificate, byte by byte, the other side showed."""
        shown = connection.getpeercert(binary_form=True)
        for name, pinned in self.pinned.items():
            if shown == pinned:
                return name
        raise ProtocolError(Phrase("the other side shows a certificate the plan does not pin"))


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
            return ProtocolError(
                Phrase("{peer} does not accept our certificate; compare the plans' fingerprints", peer=self.peer)
            )
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
            is_taken = error.errno == EADDRINUSE
            reason = Phrase("it is in use; choose another --port") if is_taken else error.strerror or str(error)
            raise ProtocolError(
                Phrase("cannot listen on {host}:{port}: {reason}", host=in_address(host), port=port, reason=reason)
            ) from error
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
        raise ProtocolError(
            Phrase(
                "nobody came within {patience:g} s; waited for {peers}",
                patience=patience,
                peers=", ".join(sorted(peers)),
            )
        )

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
            Phrase(
                "{where} shows a certificate the plan does not pin; it is not {peers}",
                where=where,
                peers=" or ".join(sorted(peers)),
            )
        ) from error
    except OSError as error:
        connection.close()
        raise ProtocolError(Phrase("no TLS connection to {where}: {error}", where=where, error=str(error))) from error


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
                    Phrase(
                        "cannot reach {host}:{port}: {why}; has the party there started, on this port?",
                        host=in_address(host),
                        port=port,
                        why=error.strerror or str(error),
                    )
                ) from error
            time.sleep(0.2)
