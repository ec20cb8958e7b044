"""Several parties in one process, each in a thread of its own: for trying out and for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import combinations
from typing import Any, TypeVar

from kakuran.errors import ProtocolError, check_is
from kakuran.vertical.fit import VerticalFit
from kakuran.vertical.party import Party
from kakuran.vertical.plan import VerticalPlan
from kakuran.vertical.transport.link import Link, linked_pair

T = TypeVar("T")


def fit_vertically(frames: Mapping[str, Any], plan: VerticalPlan, *, timeout: float = 60.0) -> dict[str, VerticalFit]:
    """Fit a plan with all parties in this process; the same code as over the network, but for the wire.

    Parameters
    ----------
    frames
        Every party's table.
    plan
        What they agree on.
    timeout
        Seconds a party waits for a message.

    Returns
    -------
    dict
        Every party's own view of the fit.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.samples import companies
    >>> bank, shop = companies(400)
    >>> plan = kk.VerticalPlan.of(
    ...     {"bank": ["income", "age", "savings"], "shop": ["visits", "basket", "coupons"]},
    ...     target="spending", holder="shop", ids="customer",
    ... )
    >>> fits = kk.fit_vertically({"bank": bank, "shop": shop}, plan)
    >>> fits["bank"].chosen == fits["shop"].chosen
    True
    """
    check_is(frames, Mapping, "one table a party, by its name")
    check_is(plan, VerticalPlan, "VerticalPlan.load reads one, VerticalPlan.of makes one")
    if missing := [name for name in plan.names if name not in frames]:
        raise ProtocolError(f"no table is given for {', '.join(missing)}, which the plan names")
    parties = {name: Party(name, plan, frame) for name, frame in frames.items()}
    return side_by_side(list(plan.names), lambda name, links: parties[name].fit(links), timeout=timeout)


def side_by_side(names: list[str], run: Callable[[str, dict[str, Link]], T], *, timeout: float = 60.0) -> dict[str, T]:
    """Run every party in a thread, linked to all others; raises the error that came first in what it means."""
    links: dict[str, dict[str, Link]] = {name: {} for name in names}
    for one, other in combinations(names, 2):
        links[one][other], links[other][one] = linked_pair(one, other, timeout)
    with ThreadPoolExecutor(len(names)) as pool:
        runs = {name: pool.submit(run, name, links[name]) for name in names}
        wait(runs.values())
    errors = [error for future in runs.values() if (error := future.exception()) is not None]
    if errors:
        # One party's trouble makes the others stop with a ProtocolError; the trouble itself says more.
        raise next((error for error in errors if not isinstance(error, ProtocolError)), errors[0])
    return {name: future.result() for name, future in runs.items()}
