"""What the collect commands share: the survey with its store, and what to tell of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kakuran.cli.console import answer_text, say
from kakuran.errors import counted, needing

if TYPE_CHECKING:
    from kakuran.collect import Survey
    from kakuran.collect.serving import Serving
    from kakuran.collect.store import Store


@contextmanager
def opened(path: Path, database: str | None) -> Iterator[tuple[Survey, Store]]:
    """The survey in a file and the store that goes with it."""
    from kakuran.collect import Survey

    with needing("collecting a survey", "collect"):
        from kakuran.collect.store import open_store
    survey = Survey.load(path)
    with closing(open_store(database or path.with_suffix(".db"), survey)) as store:
        yield survey, store


def run_server(survey: Survey, store: Store, serving: Serving, token: str) -> None:
    """Print the addresses, then serve until told to stop."""
    from kakuran.collect.pages import fingerprints
    from kakuran.collect.server import create_app

    server = serving.server(create_app(survey, store, token, limits=serving.limits))
    with serving.listen() as listening:
        address = serving.address(listening)
        say(f"survey {survey.id}, version {survey.version}: {_promise(survey)}")
        for version, count in other_versions(survey, store).items():
            say(f"the database holds {counted(count, 'record')} of version {version}, counted apart", "warning")
        say(f"perturb.js {fingerprints()['perturb.js']}")
        answer_text(f"respondents  {address}/")
        answer_text(f"dashboard    {address}/dashboard#{token}")
        try:
            server.run([listening])
        except KeyboardInterrupt:  # uvicorn has stopped in good order and passes the signal on
            say("stopped; everything acknowledged is stored")


def facts(survey: Survey, store: Store) -> dict[str, Any]:
    """How the survey stands."""
    from kakuran.collect import exports

    n = store.count()
    stands = exports.standing(store, n)
    return {
        "id": survey.id,
        "version": survey.version,
        "state": store.state,
        "n": n,
        "expected_n": survey.expected_n,
        "minimum_n": survey.minimum_n,
        "k": survey.k,
        "k_reached": survey.plan_for(exports.crowd(stands["cohorts"], n)).k if n else None,
        "exported": stands["cohorts"],
        "missing_for_export": stands["missing"],
        "epsilon": survey.plan.epsilon,
        "unused_invitations": store.unused_invitations() if survey.invitations else None,
        "other_versions": other_versions(survey, store),
    }


def warn_of_small_k(survey: Survey, n: int) -> None:
    """Say so while fewer have answered than the promise needs."""
    if survey.expected_n is not None and 0 < n < survey.expected_n:
        say(
            f"{n:,} of the expected {survey.expected_n:,} have answered: k is "
            f"{survey.plan_for(n).k:.3g} so far, not {survey.k:g}, and a release says so",
            "warning",
        )


def other_versions(survey: Survey, store: Store) -> dict[str, int]:
    """Records of other versions, where there are any."""
    return {version: count for version, count in store.counts().items() if version != survey.version and count}


def _promise(survey: Survey) -> str:
    promise = f"every answer sheet is {survey.plan.epsilon:.3g}-locally differentially private"
    if survey.k is None:
        return promise
    return f"{promise}; nobody is linked above 1/{survey.k:g} once {survey.expected_n:,} have answered"
