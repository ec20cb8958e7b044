"""Words of the library that a report says in other languages, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Translate: TypeAlias = Callable[[str], str]
"""Given a text, tells what to write instead of it: something else for a phrase, any other text as it is."""


class Phrase(str):
    """A text in English that remembers what it was made of, so that it can be said again in another language.

    Parameters
    ----------
    template : the text, with places to fill in, as for `str.format`
    **values : what fills them; phrases among them are said in the other language, too

    Examples
    --------
    >>> from kakuran.phrases import Phrase
    >>> found = Phrase("{steps} steps from {start}", steps=4, start=Phrase("the perturbed counts"))
    >>> found, found.said_with({"{steps} steps from {start}": "{start}から {steps} ステップ"})
    ('4 steps from the perturbed counts', 'the perturbed countsから 4 ステップ')
    """

    template: str
    values: dict[str, Any]

    def __new__(cls, template: str, **values: Any) -> Phrase:
        """Fill in the values."""
        made = super().__new__(cls, template.format(**values))
        made.template, made.values = template, values
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (self.template,), self.values

    def said_with(self, templates: dict[str, str]) -> str:
        """The text with other words: by its template, or as it is where there are none."""
        values = {
            name: value.said_with(templates) if isinstance(value, Phrase) else value
            for name, value in self.values.items()
        }
        return templates.get(self.template, self.template).format(**values)
