"""How parties find each other, and the first words of a run.

Each listens for those after it in the plan and connects to those before it; then all say that they have the same
kakuran, the same plan and the same purpose, and how far they got before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kakuran.errors import ProtocolError
from kakuran.randomness import Randomness
from kakuran.sockets import in_address
from kakuran.vertical.earlier import EarlierRuns
from kakuran.vertical.messages import Hello, in_one_line
from kakuran.vertical.plan import Limits, VerticalPlan
from kakuran.vertical.transport import Identity, Link, Listener, connect
from kakuran.words import Phrase

_PATIENCE = 5
"""How many times longer we wait for the first word of a party that may still be waiting for others."""


@dataclass(frozen=True)
class Greeting:
    """A name for the run that all parties share, and the stages each has completed before."""

    run: str
    stages: Mapping[str, Mapping[str, str]]

    def common(self, stage: str, parties: tuple[str, ...]) -> bool:
        """Whether all these parties completed a stage, and the same one."""
        tags = {self.stages[party].get(stage) for party in parties}
        return len(tags) == 1 and None not in tags


def greet(links: Mapping[str, Link], plan: VerticalPlan, me: str, purpose: str, stages: Mapping[str, str]) -> Greeting:
    """Exchange hellos with everybody; refuses whoever runs something else."""
    if set(links) != set(plan.names) - {me}:
        raise ProtocolError(
            Phrase(
                "{me} must be linked to {others}, not {links}",
                me=me,
                others=", ".join(n for n in plan.names if n != me),
                links=list(links),
            )
        )
    nonce = Randomness.secure().words(4).tobytes()
    hello = Hello(me, version("kakuran"), plan.fingerprint, purpose, nonce, json.dumps(dict(stages)))
    for link in links.values():
        link.send(hello)
    patience = 1 if len(links) == 1 else _PATIENCE
    theirs = {peer: _checked(link.receive(Hello, patience=patience), hello, peer) for peer, link in links.items()}
    nonces = sorted([nonce, *(answer.nonce for answer in theirs.values())])
    completed = {me: dict(stages)} | {peer: _stages(answer) for peer, answer in theirs.items()}
    return Greeting(hashlib.sha256(b"".join(nonces)).hexdigest(), completed)


def _checked(theirs: Hello, ours: Hello, peer: str) -> Hello:
    party, version, fingerprint, purpose = (
        in_one_line(text, 100) for text in (theirs.party, theirs.version, theirs.fingerprint, theirs.purpose)
    )
    if theirs.party != peer:
        raise ProtocolError(Phrase("expected {peer}, but {party} answered", peer=peer, party=party))
    if theirs.version != ours.version:
        raise ProtocolError(
            Phrase(
                "{peer} runs kakuran {version}, we run {own}; install the same kakuran on both sides",
                peer=peer,
                version=version,
                own=ours.version,
            )
        )
    if theirs.fingerprint != ours.fingerprint:
        raise ProtocolError(
            Phrase(
                "{peer} has another plan: its fingerprint is {fingerprint}, ours {own}; agree on one file",
                peer=peer,
                fingerprint=fingerprint,
                own=ours.fingerprint,
            )
        )
    if theirs.purpose != ours.purpose:
        raise ProtocolError(
            Phrase("{peer} wants to {purpose}, we want to {own}", peer=peer, purpose=purpose, own=ours.purpose)
        )
    return theirs


def _stages(hello: Hello) -> dict[str, str]:
    try:
        return {str(stage): str(tag) for stage, tag in json.loads(hello.stages).items()}
    except (ValueError, AttributeError, RecursionError):
        raise ProtocolError(Phrase("{party} sent a malformed Hello", party=hello.party)) from None


@dataclass(frozen=True)
class Meeting:
    """Where a party listens, whom it connects to, and how long it waits.

    Parameters
    ----------
    key : Path
        This party's key file.
    listen : tuple[str, int] | None
        Host and port for the parties after it; None if there are none.
    addresses : Sequence[tuple[str, int]]
        Host and port of every party before it, in any order.
    timeout : float
        Seconds to wait for a message.
    patience : float
        Seconds to wait for somebody to come or to answer at first.

    Examples
    --------
    >>> from pathlib import Path
    >>> from kakuran.vertical import Meeting
    >>> Meeting(Path("shop.key"), addresses=[("bank.example", 7117)]).listen is None
    True
    """

    key: Path
    listen: tuple[str, int] | None = None
    addresses: Sequence[tuple[str, int]] = ()
    timeout: float = 60.0
    patience: float = 300.0


def recognise(plan: VerticalPlan, me: str, memory: Path | None, fingerprint: str | None = None) -> None:
    """Refuse a plan that is new to us, unless its fingerprint is given as the others read it out, or not as we agreed.

    Whoever passes the plan on can put other certificates into it and read along; a fingerprint that came by another
    way shows it. It is remembered, so that it is asked for once. The others may change the plan and read out what it
    has become: what is ours in it is compared with what we agreed to by `agree`, which remembers it in the same file.

    Parameters
    ----------
    memory : Path | None
        The file a `Party` remembers its runs in.
    fingerprint : str | None
        What the others say the plan's fingerprint is, over the telephone say; blanks, hyphens and case do not matter.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.vertical import recognise
    >>> columns = {"bank": ["age"], "shop": ["visits"]}
    >>> plan = kk.VerticalPlan.of(columns, target="spending", holder="shop", ids="customer")
    >>> recognise(plan, "bank", None, plan.fingerprint.replace("-", " "))
    """
    earlier = EarlierRuns(memory)
    if fingerprint is not None and _digits(fingerprint) != _digits(plan.fingerprint):
        raise ProtocolError(
            Phrase(
                "the plan here has another fingerprint than {given}: somebody may have changed it on its way. Compare "
                "the plans, and send them by another way",
                given=fingerprint,
            )
        )
    if memory is not None:
        _check_agreed(plan, me, earlier.agreed(plan.terms(me).certificate))
    if earlier.knows(plan.fingerprint):
        return
    if fingerprint is None:
        raise ProtocolError(
            Phrase(
                "this plan, as it is, is new here: have {parties} read its fingerprint out to you, over the telephone "
                "say, and give it once as --fingerprint",
                parties=", ".join(name for name in plan.names if name != me),
            )
        )
    earlier.recognise(plan.fingerprint)


def _check_agreed(plan: VerticalPlan, me: str, agreed: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a plan in which something of ours is not as we agreed to, but for limits that refuse more."""
    found, limits = plan.terms_of(me), [limit.name for limit in fields(Limits)]
    changes = []
    for ours in agreed:  # one key may be for several plans
        weaker = plan.limits.weaker_than(Limits(**{name: ours[name] for name in limits}))
        changed = [name for name in found if (name in weaker if name in limits else found[name] != ours[name])]
        changes.append([f"{name}: {_said(found[name])}, not {_said(ours[name])}" for name in changed])
    if [] in changes:
        return
    raise ProtocolError(
        Phrase(
            "this plan has {me} agree to what it did not agree to here ({what}). Ask who changed it; if it is meant, "
            "agree to it by `kakuran vertical init --key` with our key and the columns we bring",
            me=me,
            what="; ".join(changes[0]) if changes else Phrase("nothing is remembered for our key"),
        )
    )


def _said(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _digits(fingerprint: str) -> str:
    return "".join(fingerprint.split()).replace("-", "").lower()


@contextmanager
def meet(
    plan: VerticalPlan, me: str, meeting: Meeting, notify: Callable[[str], object] = lambda _: None
) -> Iterator[dict[str, Link]]:
    """Links to all other parties of the plan, closed at the end.

    Examples
    --------
    The bank, which comes first in the plan, listens; ``with meet(plan, "bank", Meeting(key, ("0.0.0.0", 7117))) as
    links: fit = Party("bank", plan, frame).fit(links)``. Who cannot be met is told before anything is sent:

    >>> from pathlib import Path
    >>> import kakuran as kk
    >>> from kakuran.vertical import Meeting, meet
    >>> columns = {"bank": ["age"], "shop": ["visits"]}
    >>> plan = kk.VerticalPlan.of(columns, target="spending", holder="shop", ids="customer")
    >>> with meet(plan, "bank", Meeting(Path("bank.key"))) as links:
    ...     pass
    Traceback (most recent call last):
    kakuran.errors.ProtocolError: bank comes before shop in the plan, so it needs a port to listen on
    """
    plan.check_complete()
    place = plan.names.index(plan.terms(me).name)
    before, after = plan.names[:place], plan.names[place + 1 :]
    if meeting.addresses and not before:
        raise ProtocolError(
            Phrase("{me} comes first in the plan: it waits for the others (`serve`) and needs no address", me=me)
        )
    if len(meeting.addresses) != len(before):
        raise ProtocolError(
            Phrase(
                "{me} comes after {others} in the plan: it goes to them (`join`) and needs {count} HOST:PORT, "
                "got {found}",
                me=me,
                others=", ".join(before),
                count=len(before),
                found=len(meeting.addresses),
            )
        )
    if after and meeting.listen is None:
        raise ProtocolError(
            Phrase(
                "{me} comes before {others} in the plan, so it needs a port to listen on",
                me=me,
                others=", ".join(after),
            )
        )
    identity = Identity.under(plan, me, meeting.key)
    links: dict[str, Link] = {}
    with ExitStack() as stack:
        listener = None
        if after and meeting.listen is not None:
            listener = stack.enter_context(Listener(identity, *meeting.listen, timeout=meeting.timeout))
            notify(f"listening on {in_address(meeting.listen[0])}:{listener.port} for {', '.join(after)}")
        for host, port in meeting.addresses:
            waiting = set(before) - links.keys()
            link = connect(identity, host, port, waiting, timeout=meeting.timeout, patience=meeting.patience)
            stack.callback(link.close)
            links[link.peer] = link
        while listener is not None and (waiting := set(after) - links.keys()):
            link = listener.accept(waiting, patience=meeting.patience, turned_away=notify)
            stack.callback(link.close)
            links[link.peer] = link
            notify(f"{link.peer} is here")
        yield links
