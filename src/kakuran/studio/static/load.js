"use strict";
/* Load: choose a table, see how it was read, its first rows, and what is odd about it, with remedies. */
const Load = (() => {
  const { element, say, counted, number } = Page;
  const { field, input, button, table, folded, browser } = Parts;
  const TOLD = ["delimiter", "encoding", "decimal", "thousands", "names"];

  function draw(studio) {
    const { opened } = studio.state;
    const next = () => button("next", say("next.public"), () => studio.go("public"), "primary");
    return [
      opened
        ? [seen(studio, opened), odd(studio), Public.offer(studio), element("div", { class: "buttons next" }, next())]
        : element("p", { class: "lead" }, say("load.lead")),
      choosing(studio),
    ];
  }

  function choosing(studio) {
    const { opened, folder } = studio.state;
    const given = (name) => document.getElementById(name)?.value ?? "";
    const open = async (named) => {
      const told = Object.fromEntries(TOLD.map((name) => [name, given(`told-${name}`)]).filter(([, value]) => value));
      const isSame = opened && named === opened.named;
      const sheet = given("told-sheet");
      await studio.change("open", { named, sql: given("sql"), told: { ...(isSame ? told : {}), sheet } });
      if (document.activeElement === document.body) document.getElementById("seen-title")?.focus(); // not gone elsewhere
    };
    return element(
      "section",
      { class: "card", "aria-labelledby": "choosing-title" },
      element("h2", { id: "choosing-title" }, opened ? say("load.another") : say("load.title")),
      element(
        "form",
        {
          class: "line",
          onsubmit: (event) => {
            event.preventDefault();
            open(given("named"));
          },
        },
        field("named", say("load.path"), input(opened?.named, { placeholder: `${folder}/…` }), say("load.path.help")),
        element("button", { class: "primary", type: "submit" }, say("load.open")),
      ),
      browser("browser", (path) => open(path), studio.complain),
      folded(
        "sql",
        say("load.sql"),
        field("sql", say("load.sql.label"), sqlBox(opened?.sql), say("load.sql.help")),
        field("told-sheet", say("load.sheet"), input(opened?.told.sheet)),
      ),
    );
  }

  function sqlBox(sql) {
    const box = element("textarea", { rows: 3, spellcheck: "false" });
    box.defaultValue = sql ?? "";
    return box;
  }

  function seen(studio, opened) {
    const facts = { rows: number(opened.rows), columns: number(opened.names.length) };
    return element(
      "section",
      { class: "card", "aria-labelledby": "seen-title" },
      element("h2", { id: "seen-title", tabindex: -1 }, opened.named.split(/[/\\]/).at(-1)),
      element("p", {}, say("load.found", facts), opened.is_whole ? "" : ` ${say("load.first")}`),
      "delimiter" in opened.told ? written(studio, opened) : null,
      table(say("load.rows"), opened.names, opened.first_rows),
      element("p", { class: "small" }, say("load.private")),
    );
  }

  /** How a CSV file is written, as was found; to be corrected here. */
  function written(studio, { named, sql, told }) {
    const names = { delimiter: told.delimiter === "\t" ? "tab" : told.delimiter };
    const again = () =>
      studio.change("open", {
        named,
        sql,
        told: Object.fromEntries(TOLD.map((name) => [name, document.getElementById(`told-${name}`).value])),
      });
    return element(
      "div",
      { class: "told" },
      TOLD.map((name) =>
        field(
          `told-${name}`,
          say(`told.${name}`),
          input(names[name] ?? told[name] ?? "", { placeholder: say(`told.${name}.usual`), size: 8 }),
        ),
      ),
      button("again", say("load.again"), again),
    );
  }

  function odd(studio) {
    const { odd: found } = studio.state;
    if (!found.length) return null;
    const said = ({ kind, column, count }) =>
      say(`odd.${kind}`, { column, count: Number.isFinite(count) ? Page.plain(count) : "" });
    return element(
      "section",
      { class: "card", "aria-labelledby": "odd-title" },
      element("h2", { id: "odd-title" }, counted("odd.title", found.length, { count: number(found.length) })),
      element(
        "ul",
        { class: "odd" },
        found.map((one, place) =>
          element(
            "li",
            {},
            element("p", {}, said(one)),
            element(
              "div",
              { class: "buttons" },
              one.remedies.map(({ kind, changes }) =>
                button(`odd-${place}-${kind}`, say(`remedy.${kind}`, { count: one.count }), () =>
                  studio.change("edit", { column: one.column, changes }),
                ),
              ),
            ),
          ),
        ),
      ),
    );
  }

  return Object.freeze({ draw });
})();
