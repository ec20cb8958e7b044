"""The HTTP API, described for programs (OpenAPI 3.1); for a survey at hand down to the values of its questions."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, TypeAlias

from kakuran.collect.messages import KINDS, LARGEST_BATCH, MEDIA_TYPE, UUID4
from kakuran.collect.survey import Survey
from kakuran.schema import Date

JsonObject: TypeAlias = dict[str, Any]
_TEXT: JsonObject = {"type": "string"}
_COUNT: JsonObject = {"type": "integer", "minimum": 0}
_STATE: JsonObject = {"type": "string", "enum": ["open", "closed"]}
_ID: JsonObject = {
    "type": "string",
    "pattern": f"^{UUID4}$",
    "description": "A random UUID (version 4), made by the client.",
}
_OBJECT: JsonObject = {"type": "object"}
_REFUSALS = (
    "malformed bad-invitation too-slow conflict wrong-version closed too-large wrong-media-type invalid "
    "busy too-many-requests not-kept"
)


def document(survey: Survey | None = None) -> JsonObject:
    """The description of the API; of a survey's own, if one is given."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "kakuran collector",
            "version": version("kakuran"),
            "summary": "Answers that were perturbed before they were sent; statistics reconstructed from them.",
            "description": "Errors are problem details (RFC 9457); their types are pages under /problems/.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": _public() | _submitting(survey) | _admin(survey) | _pages(),
        "components": {
            "schemas": {"Problem": _problem()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _submitting(survey: Survey | None) -> JsonObject:
    return {
        "/api/responses": {
            "post": _operation(
                "submit",
                "Store one answer sheet, perturbed by the sender. Sent again with the same id it is stored once.",
                {201: _json("Stored.", _members(id=_ID)), 200: _json("It was stored before.", _members(id=_ID))},
                _REFUSALS,
                requestBody=_body(_sheet(survey)),
            )
        },
        "/api/responses/batch": {
            "post": _operation(
                "submitBatch",
                f"Store up to {LARGEST_BATCH:,} answer sheets, all or none; those stored before count as replayed.",
                {200: _json("All are stored.", _members(accepted=_COUNT, replayed=_COUNT))},
                _REFUSALS,
                requestBody=_body(_batch(survey)),
            )
        },
    }


def _public() -> JsonObject:
    status = _members(state=_STATE, n={"type": ["integer", "null"], "description": "null while there are too few"})
    return {
        "/api/survey": _get("survey", "What is asked, and how each answer is to be perturbed.", _OBJECT, "not-kept"),
        "/api/status": _get("status", "Whether answers are taken, and how many there are.", status, "not-kept"),
        "/healthz": _get("health", "The server runs.", _members(status=_TEXT)),
        "/readyz": _get("ready", "Answers can be stored.", _members(status=_TEXT), "not-kept"),
        "/metrics": {"get": _operation("metrics", "Prometheus metrics.", {200: _media("Metrics.", "text/plain")})},
        "/openapi.json": _get("openapi", "This description.", _OBJECT),
    }


def _admin(survey: Survey | None) -> JsonObject:
    names = {"type": "string"} if survey is None else {"enum": [question.name for question in survey.questions]}
    formats = _parameter("format", {"enum": ["csv", "html", "parquet"]})
    language = _parameter("lang", _TEXT | {"description": "Of the report; English where there is none in it."})
    formats_and_language = [formats, language | {"required": False}]
    kinds = ("application/vnd.apache.parquet", "application/zip", "text/html")
    exported = {200: _media("A release, in random order, or its report.", *kinds)}
    state = {200: _json("Done.", _members(state=_STATE))}
    return {
        "/api/admin/summary": _statistic("summary", "Estimated distributions of all questions."),
        "/api/admin/crosstab": _statistic(
            "crosstab", "Two questions against each other.", _parameter("rows", names), _parameter("columns", names)
        ),
        "/api/admin/tree": _statistic("tree", "A decision tree for a question.", _parameter("target", names)),
        "/api/admin/export": {
            "get": _guarded("export", "The records so far.", exported, "no-records not-installed", formats_and_language)
        },
        "/api/admin/close": {"post": _guarded("close", "Take no more answers.", state)},
        "/api/admin/reopen": {"post": _guarded("reopen", "Take answers again.", state)},
    }


def _pages() -> JsonObject:
    html = {200: _media("A page.", "text/html")}
    file = {"name": "file", "in": "path", "required": True, "schema": _TEXT}
    name = {"name": "name", "in": "path", "required": True, "schema": {"enum": list(KINDS)}}
    static = {200: _media("A file.", "text/javascript", "text/css")}
    return {
        "/": {"get": _operation("respondentPage", "The survey for people.", html)},
        "/dashboard": {"get": _operation("dashboardPage", "The statistics for the survey owner.", html)},
        "/static/{file}": {"get": _operation("staticFile", "What pages load.", static, "not-found", parameters=[file])},
        "/problems/{name}": {"get": _operation("problem", "A problem.", html, "not-found", parameters=[name])},
    }


def _sheet(survey: Survey | None) -> JsonObject:
    members = {"id": _ID, "version": _version(survey), "answers": _answers(survey), **_told(survey)}
    if survey is None or survey.invitations:
        members["invitation"] = _TEXT | {"description": "Good for one answer sheet."}
    return _strict(members, required=["id", "version", "answers", *(_told(survey) if survey else ())])


def _batch(survey: Survey | None) -> JsonObject:
    ids = {"type": "array", "items": _ID, "minItems": 1, "maxItems": LARGEST_BATCH, "uniqueItems": True}
    columns = {"type": "object", "description": "For each question a list of answers, one an id; null where untold."}
    if survey is not None:
        untold = [{"type": "null"}] if survey.plan.layout.told else []
        lists = {
            question.name: {"type": "array", "items": {"anyOf": [_answer(survey, question.name), *untold]}}
            for question in survey.questions
        }
        columns |= _strict(lists, required=list(lists))
    told = {name: {"type": "array", "items": one} for name, one in _told(survey).items()}
    return _strict(
        {"ids": ids, "version": _version(survey), "answers": columns, **told},
        required=["ids", "version", "answers", *(told if survey else ())],
    )


def _told(survey: Survey | None) -> JsonObject:
    """Which questions were drawn, where not everybody is asked all."""
    if survey is None:
        return {"told": _TEXT | {"description": "The question set that was drawn, where a survey has several."}}
    return {"told": {"enum": [tell.named for tell in survey.plan.tells]}} if survey.plan.layout.told else {}


def _answers(survey: Survey | None) -> JsonObject:
    if survey is None:
        return {"type": "object", "description": "For each question of the survey the perturbed answer."}
    answers = {question.name: _answer(survey, question.name) for question in survey.questions}
    if survey.plan.layout.told:
        described = {"description": "The perturbed answers to the questions that were drawn, and no others."}
        return _strict(answers, required=[]) | described
    return _strict(answers, required=list(answers))


def _answer(survey: Survey, name: str) -> JsonObject:
    """What the question's mechanism can release; null where it may be missing."""
    attribute = survey.schema[name]
    names, may_be_missing = attribute.names_of(survey.plan.reach(name)), attribute.missing == "category"
    if names is not None:
        return {"enum": [*names, *([None] if may_be_missing else [])]}
    if isinstance(attribute, Date):
        return {"type": ["string", "null"] if may_be_missing else "string", "format": "date"}
    beyond = survey.plan.reach(name) * attribute.step
    kind = "integer" if attribute.is_whole else "number"
    kinds = [kind, "null"] if may_be_missing else kind
    return {"type": kinds, "minimum": attribute.low - beyond, "maximum": attribute.high + beyond}


def _version(survey: Survey | None) -> JsonObject:
    return _TEXT if survey is None else {"const": survey.version}


def _problem() -> JsonObject:
    members = {"type": {"enum": [f"/problems/{name}" for name in KINDS]}, "title": _TEXT, "detail": _TEXT}
    return _members(**members, status={"type": "integer"})


def _statistic(name: str, summary: str, *parameters: JsonObject) -> JsonObject:
    answer = {200: _json("Estimates, or that there are too few answers.", _OBJECT)}
    return {"get": _guarded(name, summary, answer, parameters=parameters)}


def _guarded(
    name: str, summary: str, answers: dict[int, JsonObject], problems: str = "", parameters: Sequence[JsonObject] = ()
) -> JsonObject:
    every = f"unauthorised invalid not-kept {problems}"
    return _operation(name, summary, answers, every, parameters=list(parameters), security=[{"token": []}])


def _get(name: str, summary: str, schema: JsonObject, problems: str = "") -> JsonObject:
    return {"get": _operation(name, summary, {200: _json("The answer.", schema)}, problems)}


def _operation(name: str, summary: str, answers: dict[int, JsonObject], problems: str = "", **more: Any) -> JsonObject:
    by_status: dict[int, list[str]] = {}
    for problem in dict.fromkeys(problems.split()):
        by_status.setdefault(KINDS[problem].status, []).append(problem)
    refusals = {status: _refusal(status, names) for status, names in by_status.items()}
    responses = {str(status): answer for status, answer in (answers | refusals).items()}
    return {"operationId": name, "summary": summary, "responses": responses} | {
        key: it for key, it in more.items() if it
    }


def _refusal(status: int, names: Sequence[str]) -> JsonObject:
    refusal = _media("; ".join(f"{KINDS[name].title} ({name})" for name in names), MEDIA_TYPE)
    refusal["content"][MEDIA_TYPE] = {"schema": {"$ref": "#/components/schemas/Problem"}}
    if status in (429, 503):
        refusal["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}}
    return refusal


def _json(description: str, schema: JsonObject) -> JsonObject:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _media(description: str, *kinds: str) -> JsonObject:
    return {"description": description, "content": {kind: {} for kind in kinds}}


def _body(schema: JsonObject) -> JsonObject:
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _parameter(name: str, schema: JsonObject) -> JsonObject:
    return {"name": name, "in": "query", "required": True, "schema": schema}


def _members(**members: JsonObject) -> JsonObject:
    return {"type": "object", "properties": members, "required": list(members)}


def _strict(members: JsonObject, *, required: list[str]) -> JsonObject:
    return {"type": "object", "properties": members, "required": required, "additionalProperties": False}
