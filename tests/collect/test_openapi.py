"""The description of the API is of this API."""

import json
from contextlib import closing
from importlib import resources

from jsonschema import Draft202012Validator

from kakuran.collect.databases import open_store
from kakuran.collect.openapi import document
from kakuran.collect.server import create_app

from .sheets import batch, sheet


def test_the_file_that_ships_is_what_the_code_describes():
    shipped = json.loads((resources.files("kakuran.collect") / "openapi.json").read_text(encoding="utf-8"))
    made = document()
    assert shipped | {"info": None} == made | {"info": None}


def test_every_route_is_described_and_every_description_is_routed(survey, tmp_path):
    with closing(open_store(tmp_path / "answers.db", survey)) as store:
        routes = create_app(survey, store, "a token that nobody uses").routes
    routed = {(route.path, method.lower()) for route in routes for method in route.methods - {"HEAD"}}
    described = {(path, method) for path, methods in document(survey)["paths"].items() for method in methods}
    assert described == routed | {("/api/responses", "post"), ("/api/responses/batch", "post")}


def test_the_server_describes_its_own_survey(form_site, survey):
    told = form_site.get("/openapi.json").json()
    assert told == json.loads(json.dumps(document(survey)))


def test_what_the_server_takes_fits_the_description_and_what_it_refuses_does_not(survey):
    body = document(survey)["paths"]["/api/responses"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    one = Draft202012Validator(body)
    assert one.is_valid(sheet(survey))
    assert not one.is_valid(sheet(survey, answers={"job": "pirate", "age": 4}))
    assert not one.is_valid(sheet(survey, version="another"))
    many = document(survey)["paths"]["/api/responses/batch"]["post"]["requestBody"]["content"]["application/json"]
    assert Draft202012Validator(many["schema"]).is_valid(batch(survey, 4))
