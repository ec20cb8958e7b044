"""The first words of a run: same kakuran, same plan, same purpose, and how far everybody got before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version

from kakuran.errors import ProtocolError
from kakuran.randomness import Randomness
from kakuran.vertical.messages import Hello
from kakuran.vertical.plan import VerticalPlan
from kakuran.vertical.transport import Link

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
        raise ProtocolError(f"{me} must be linked to {', '.join(n for n in plan.names if n != me)}, not {list(links)}")
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
        text[:100] for text in (theirs.party, theirs.version, theirs.fingerprint, theirs.purpose)
    )
    if theirs.party != peer:
        raise ProtocolError(f"expected {peer}, but {party} answered")
    if theirs.version != ours.version:
        raise ProtocolError(
            f"{peer} runs kakuran {version}, we run {ours.version}; install the same kakuran on both sides"
        )
    if theirs.fingerprint != ours.fingerprint:
        raise ProtocolError(
            f"{peer} has another plan: its fingerprint is {fingerprint}, ours {ours.fingerprint}; agree on one file"
        )
    if theirs.purpose != ours.purpose:
        raise ProtocolError(f"{peer} wants to {purpose}, we want to {ours.purpose}")
    return theirs


def _stages(hello: Hello) -> dict[str, str]:
    try:
        return {str(stage): str(tag) for stage, tag in json.loads(hello.stages).items()}
    except (ValueError, AttributeError, RecursionError):
        raise ProtocolError(f"{hello.party} sent a malformed Hello") from None
