"""How parties find each other: each listens for those after it in the plan and connects to those before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from kakuran.errors import ProtocolError
from kakuran.sockets import in_address
from kakuran.vertical.plan import VerticalPlan
from kakuran.vertical.transport import Identity, Link, Listener, connect


@dataclass(frozen=True)
class Meeting:
    """Where a party listens, whom it connects to, and how long it waits.

    Parameters
    ----------
    key
        This party's key file.
    listen
        Host and port for the parties after it; None if there are none.
    addresses
        Host and port of every party before it, in any order.
    timeout
        Seconds to wait for a message.
    patience
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
        raise ProtocolError(f"{me} comes first in the plan: it waits for the others (`serve`) and needs no address")
    if len(meeting.addresses) != len(before):
        raise ProtocolError(
            f"{me} comes after {', '.join(before)} in the plan: it goes to them (`join`) and needs {len(before)} "
            f"HOST:PORT, got {len(meeting.addresses)}"
        )
    if after and meeting.listen is None:
        raise ProtocolError(f"{me} comes before {', '.join(after)} in the plan, so it needs a port to listen on")
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
