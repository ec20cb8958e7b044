"""Attributes as plain values: what TOML files and manifests hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kakuran.errors import SchemaError
from kakuran.schema.attribute import Attribute, Categorical, Dropped, Numeric
from kakuran.schema.tree import Tree

_FIELDS = {
    "categorical": {"type", "values", "ordered", "tree", "role", "missing"},
    "numeric": {"type", "low", "high", "step", "role", "missing"},
}


def describe(attribute: Attribute) -> dict[str, Any]:
    """An attribute as plain values."""
    if isinstance(attribute, Dropped):
        return {"role": "drop"}
    fields: dict[str, Any]
    if isinstance(attribute, Categorical):
        fields = {"type": "categorical", "values": list(attribute.values)}
        if attribute.ordered:
            fields["ordered"] = True
        if attribute.tree is not None:
            fields["tree"] = {parent: list(kids) for parent, kids in attribute.tree.children.items()}
    else:
        fields = {"type": "numeric", "low": attribute.low, "high": attribute.high, "step": attribute.step}
    if attribute.role != "perturb":
        fields["role"] = attribute.role
    if attribute.missing != "error":
        fields["missing"] = attribute.missing
    return fields


def attribute_of(name: str, fields: Mapping[str, Any]) -> Attribute:
    """The inverse of `describe`."""
    if not isinstance(fields, Mapping):
        raise SchemaError(f"column {name!r}: expected a table of settings, got {fields!r}")
    if fields.get("role") == "drop":
        return Dropped(name)
    kind = fields.get("type")
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise SchemaError(f'column {name!r}: type must be "categorical" or "numeric", got {kind!r}')
    unknown = set(fields) - _FIELDS[kind]
    if unknown:
        known = ", ".join(sorted(_FIELDS[kind]))
        raise SchemaError(f"column {name!r}: unknown setting {sorted(unknown)[0]!r}; a {kind} column has {known}")
    settings = {key: value for key, value in fields.items() if key != "type"}
    if "tree" in settings:
        try:
            settings["tree"] = Tree(settings["tree"])
        except SchemaError as error:
            raise SchemaError(f"column {name!r}: {error}") from error
    try:
        return Categorical(name, **settings) if kind == "categorical" else Numeric(name, **settings)
    except TypeError as error:
        needed = "values" if kind == "categorical" else "low, high and step"
        raise SchemaError(f"column {name!r}: a {kind} column needs {needed}") from error
