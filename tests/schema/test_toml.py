"""Schemas as files: what is saved is loaded again, and a slip of the person editing is named."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import kakuran as kk

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
odd_names = st.sampled_from(
    [
        "a.b",
        'say "hi"',
        "it's",
        "back\\slash",
        "two\nlines",
        "tab\t",
        "職業",
        "年齢 (歳)",
        "é",
        "#",
        "[x]",
        "=",
        " ",
        "\x7f",
    ]
)
names = st.one_of(odd_names, texts.filter(bool))
roles = st.sampled_from(["perturb", "keep"])
missing = st.sampled_from(["error", "category"])
values = st.one_of(
    st.lists(st.one_of(texts, odd_names), min_size=1, max_size=6, unique=True),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6, unique=True),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=6, unique=True),
    st.lists(st.booleans(), min_size=1, max_size=2, unique=True),
)


@st.composite
def trees(draw, leaves):
    """Two layers over the values; groups have names no value has."""
    groups = draw(st.lists(names.filter(lambda name: name not in leaves), min_size=3, max_size=3, unique=True))
    top, *middle = groups
    cut = draw(st.integers(0, len(leaves)))
    children = {group: kids for group, kids in zip(middle, (leaves[:cut], leaves[cut:]), strict=True) if kids}
    return kk.Tree({top: list(children), **children})


@st.composite
def categoricals(draw, name):
    chosen = draw(values)
    tree = draw(st.none() | trees(chosen))
    return kk.Categorical(name, chosen, ordered=draw(st.booleans()), tree=tree, role=draw(roles), missing=draw(missing))


@st.composite
def numerics(draw, name):
    step, span = draw(st.sampled_from([(1, 7), (5, 100), (0.1, 3), (0.25, 1), (0.001, 2), (1e-06, 1)]))
    low = draw(st.integers(-1000, 1000))
    return kk.Numeric(name, low, low + span, step=step, role=draw(roles), missing=draw(missing))


@st.composite
def schemas(draw):
    columns = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    kinds = [draw(st.sampled_from([categoricals, numerics, st.just])) for _ in columns]
    return kk.Schema(
        [kk.Dropped(name) if kind is st.just else draw(kind(name)) for name, kind in zip(columns, kinds, strict=True)]
    )


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(schema=schemas())
def test_what_is_saved_is_loaded_again(schema, tmp_path):
    path = tmp_path / "schema.toml"
    schema.save(path)
    assert kk.Schema.load(path) == schema
    assert [[type(v) for v in a.values] for a in kk.Schema.load(path) if isinstance(a, kk.Categorical)] == [
        [type(v) for v in a.values] for a in schema if isinstance(a, kk.Categorical)
    ]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schema=schemas())
def test_plain_values_make_the_same_schema_again(schema):
    assert kk.Schema.from_dict(schema.to_dict()) == schema


def test_a_tree_whose_groups_are_numbers_is_refused_or_survives_the_file(tmp_path):
    try:
        schema = kk.Schema([kk.Categorical("age", [1, 2, 11], tree=kk.Tree({100: [0, 10], 0: [1, 2], 10: [11]}))])
    except kk.SchemaError:
        return
    schema.save(tmp_path / "schema.toml")
    assert kk.Schema.load(tmp_path / "schema.toml") == schema


def test_the_file_says_what_a_person_needs_to_edit_it(tmp_path):
    path = tmp_path / "schema.toml"
    kk.Schema([kk.Categorical("職業", ["看護師"]), kk.Numeric("age", 0, 120, step=1), kk.Dropped("name")]).save(path)
    text = path.read_text(encoding="utf-8")
    assert '[columns."職業"]' in text
    assert "low = 0\nhigh = 120\nstep = 1\n" in text
    assert all(word in text for word in ('"keep"', '"drop"', '"perturb"', '"category"', "public knowledge"))


def test_settings_at_their_default_are_left_out(tmp_path):
    path = tmp_path / "schema.toml"
    kk.Schema([kk.Categorical("job", ["nurse"])]).save(path)
    assert tomllib.loads(path.read_text())["columns"]["job"] == {"type": "categorical", "values": ["nurse"]}


def test_columns_keep_their_order(tmp_path):
    schema = kk.Schema([kk.Dropped(name) for name in ("z", "a", "m")])
    schema.save(tmp_path / "schema.toml")
    assert kk.Schema.load(tmp_path / "schema.toml").names == ("z", "a", "m")


def test_a_path_may_be_text(tmp_path):
    kk.Schema([kk.Dropped("x")]).save(str(tmp_path / "schema.toml"))
    assert kk.Schema.load(str(tmp_path / "schema.toml")).names == ("x",)


def test_a_file_with_windows_line_ends_is_read(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_bytes(b'[columns.age]\r\ntype = "numeric"\r\nlow = 0\r\nhigh = 9\r\nstep = 1\r\n')
    assert kk.Schema.load(path)["age"] == kk.Numeric("age", 0, 9, step=1)


def test_turning_a_described_column_into_a_dropped_one_needs_only_its_role(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text('[columns.age]\ntype = "numeric"\nlow = 0\nhigh = 9\nstep = 1\nrole = "drop"\n')
    assert kk.Schema.load(path)["age"] == kk.Dropped("age")


NUMBER = 'type = "numeric"\nlow = 0\nhigh = 9\nstep = 1\n'
CATEGORY = 'type = "categorical"\nvalues = ["x", "y"]\n'


@pytest.mark.parametrize(
    ("body", "setting"),
    [
        (NUMBER + "lows = 3", "'lows'"),
        (NUMBER + 'values = ["x"]', "'values'"),
        (CATEGORY + "low = 0", "'low'"),
        (CATEGORY + 'Missing = "category"', "'Missing'"),
        (NUMBER.replace("low = 0", 'low = "0"'), "low"),
        (NUMBER.replace("low = 0", "low = true"), "low"),
        (NUMBER.replace("low = 0", "low = nan"), "low"),
        (NUMBER.replace("low = 0", "low = 1979-05-27"), "low"),
        (NUMBER.replace("high = 9", "high = inf"), "high"),
        (NUMBER.replace("high = 9", "high = 1" + "0" * 400), "high"),
        (NUMBER.replace("step = 1", "step = 0"), "step"),
        (NUMBER.replace("step = 1", "step = 2"), "steps of 2"),
        (NUMBER.replace("step = 1", ""), "step"),
        (NUMBER.replace("high = 9", "high = -9"), "low must be below high"),
        ('type = "categorical"', "values"),
        (CATEGORY.replace('["x", "y"]', "3"), "values"),
        (CATEGORY.replace('["x", "y"]', '"x"'), "values"),
        (CATEGORY.replace('["x", "y"]', "[]"), "value"),
        (CATEGORY.replace('["x", "y"]', '["x", 1]'), "values"),
        (CATEGORY.replace('["x", "y"]', '[["x"]]'), "values"),
        (CATEGORY.replace('["x", "y"]', "[1979-05-27]"), "values"),
        (CATEGORY.replace('"y"', '"x"'), "'x' is listed twice"),
        (CATEGORY + 'role = "private"', "role must be"),
        (CATEGORY + "role = 3", "role must be"),
        (CATEGORY + 'role = ["keep"]', "role must be"),
        (CATEGORY + 'missing = "yes"', "missing must be"),
        (CATEGORY + "missing = true", "missing must be"),
        (CATEGORY + 'ordered = "no"', "ordered"),
        (CATEGORY + "tree = 3", "tree"),
        (CATEGORY + 'tree = ["x"]', "tree"),
        (CATEGORY + "tree = { g = 3 }", "tree"),
        (CATEGORY + 'tree = { g = "xy" }', "tree"),
        (CATEGORY + 'tree = { g = [["x", "y"]] }', "tree"),
        (CATEGORY + 'tree = { g = ["x"] }', "the tree lacks the value 'y'"),
        (CATEGORY + 'tree = { g = ["x", "y"], h = ["x"] }', "'x' stands under both"),
        (CATEGORY + 'tree = { x = ["y"], y = ["x"] }', "own ancestor"),
        (CATEGORY + 'tree = { g = ["x", "y"], h = [] }', "'h' has no children"),
        (CATEGORY.replace("categorical", "category"), "type must be"),
        ('type = ["numeric"]', "type must be"),
        ("type = 3", "type must be"),
        ("low = 0", "type must be"),
        ("", "type must be"),
    ],
    ids=lambda text: text.replace("\n", " · ")[-60:],
)
def test_a_wrong_setting_is_refused_and_column_and_setting_are_named(body, setting, tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(f"[columns.height]\n{NUMBER}\n[columns.odd]\n{body}\n")
    with pytest.raises(kk.SchemaError) as refusal:
        kk.Schema.load(path)
    assert "column 'odd'" in str(refusal.value)
    assert setting in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "got nothing"),
        ("columns = 3", "expected tables named"),
        (f"[column.age]\n{NUMBER}", "got column"),
        (f"[columns.age]\n{NUMBER}[settings]\nk = 10\n", "settings"),
        (f"version = 1\n[columns.age]\n{NUMBER}", "version"),
        ("[columns]\n", "at least one column"),
        ("[columns]\nage = 3\n", "column 'age': expected a table of settings, got 3"),
        ('[columns.""]\nrole = "drop"\n', "a column needs a name"),
        ("age: numeric\n", "not a TOML file"),
        (f"[columns.age]\n{NUMBER}[columns.age]\n{NUMBER}", "not a TOML file"),
        ("[columns.age]\nlow = 01\n", "not a TOML file"),
    ],
)
def test_a_file_that_is_not_a_schema_is_refused(text, told, tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(text)
    with pytest.raises(kk.SchemaError) as refusal:
        kk.Schema.load(path)
    assert told in str(refusal.value)


@pytest.mark.parametrize("text", ["", "columns = 3", "age: numeric", "[settings]\n"])
def test_the_refusal_of_a_file_names_the_file(text, tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(text)
    with pytest.raises(kk.SchemaError, match=str(path)):
        kk.Schema.load(path)


def test_a_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_bytes("[columns.é]\n".encode("latin-1"))
    with pytest.raises(kk.SchemaError, match="not a TOML file"):
        kk.Schema.load(path)


def test_a_missing_file_is_refused_and_the_way_to_make_one_is_told(tmp_path):
    with pytest.raises(kk.SchemaError, match=r"no such schema file; make one with `kakuran schema infer`"):
        kk.Schema.load(tmp_path / "schema.toml")


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(kk.SchemaError, match=str(tmp_path)):
        kk.Schema.load(tmp_path)


def test_a_schema_is_written_as_text_and_read_from_it_and_text_that_is_no_schema_is_refused(tmp_path):
    schema = kk.Schema([kk.Numeric("age", 0, 120, step=1), kk.Dropped("名前")], about="age")
    schema.save(tmp_path / "schema.toml")
    assert schema.to_toml() == (tmp_path / "schema.toml").read_text(encoding="utf-8")
    assert kk.Schema.from_toml(schema.to_toml()) == schema
    for text in ("[columns", "x = 1", "[columns.age]\ntype = 'tall'"):
        with pytest.raises(kk.SchemaError):
            kk.Schema.from_toml(text)
