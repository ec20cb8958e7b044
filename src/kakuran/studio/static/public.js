"use strict";
/* Say what is public: a card a column, and the schema beside them as TOML, always the same thing said twice. */
const Public = (() => {
  const { element, say, counted, number, plain } = Page;
  const { field, input, select, segments, button } = Parts;

  function draw(studio) {
    const { state } = studio;
    return [
      element("p", { class: "lead" }, say("public.lead")),
      unconfirmed(studio),
      element(
        "div",
        { class: "sides" },
        element(
          "div",
          { class: "cards" },
          state.opened.names.map((name) => card(studio, name)),
        ),
        toml(studio),
      ),
      element("div", { class: "buttons next" }, button("next", say("next.choose"), () => studio.go("choose"), "primary")),
    ];
  }

  function unconfirmed(studio) {
    const columns = studio.state.read_off;
    if (!columns.length) return null;
    return element(
      "section",
      { class: "notice", "aria-label": say("public.warning") },
      element("p", {}, counted("public.unsure", columns.length, { columns: columns.join(", ") })),
      button("confirm-all", say("public.all"), () => studio.change("confirm", { columns, public: true })),
    );
  }

  function card(studio, name) {
    const { state } = studio;
    const [said, seen] = [state.columns[name], state.opened.cards[name]];
    const id = `column-${state.opened.names.indexOf(name)}`;
    const edit = (changes) => studio.change("edit", { column: name, changes });
    const isDropped = said.role === "drop";
    const misfit = state.misfits.find(({ column }) => column === name);
    return element(
      "section",
      { class: `card column ${isDropped ? "dropped" : ""}`, "aria-labelledby": `${id}-title` },
      element("h2", { id: `${id}-title` }, name),
      element("p", { class: "small" }, facts(seen)),
      picture(id, said, seen, state, edit, name),
      segments(
        `${id}-role`,
        say("role"),
        ["perturb", "keep", "drop"].map((role) => [role, say(`role.${role}`), say(`role.${role}.help`)]),
        said.role ?? "perturb",
        (role) => edit({ role: role === "perturb" ? null : role }),
      ),
      isDropped ? null : domain(id, said, seen, state.drafted[name], state.offers, edit),
      misfit ? element("p", { class: "error" }, misfit.message) : null,
      state.read_off.includes(name)
        ? element(
            "p",
            { class: "unsure" },
            element("span", {}, say("public.read")),
            button(`${id}-confirm`, say("public.confirm"), () =>
              studio.change("confirm", { columns: [name], public: true }),
            ),
          )
        : null,
    );
  }

  const facts = ({ distinct, missing }) =>
    [counted("distinct", distinct, { count: number(distinct) }), missing ? say("missing", { count: number(missing) }) : ""]
      .filter(Boolean)
      .join(" · ");

  function picture(id, said, seen, state, edit, name) {
    if (!seen.edges?.length || said.type === "categorical") return Pictures.values(seen, state.opened.rows);
    const bands = said.bands;
    const points = bands ?? (said.type === "numeric" ? [said.low, said.high] : [seen.edges[0], seen.edges.at(-1)]);
    if (!points.every(Number.isFinite)) return Pictures.values(seen, state.opened.rows);
    const names = bands ? bands.map((edge) => say("edge", { edge: plain(edge) })) : [say("low"), say("high")];
    const moved = (to) => (said.type === "numeric" ? edit(bands ? inBands(to) : { low: to[0], high: to[1] }) : null);
    return Pictures.numbers(seen, { id, points, names, step: said.step ?? 1, moved }, say("histogram", { column: name }));
  }

  /** Bands say where a number begins and ends, too. */
  const inBands = (bands) => ({ bands, low: null, high: null });

  function domain(id, said, seen, drafted, offers, edit) {
    const canBeWords = seen.values !== null;
    const canBeNumbers = Boolean(seen.edges?.length);
    const can = [said.type, drafted, canBeWords && "categorical", canBeNumbers && "numeric"];
    const kinds = [...new Set(can.filter(Boolean))];
    return element(
      "div",
      { class: "domain" },
      kinds.length > 1
        ? field(
            `${id}-kind`,
            say("kind"),
            select(
              kinds.map((kind) => [kind, say(`kind.${kind}`)]),
              said.type,
              (type) => edit({ type }),
            ),
          )
        : null,
      said.type === "numeric" ? bounds(id, said, offers, edit) : null,
      said.type === "categorical" ? words(id, said, edit) : null,
      said.type === "date" ? dates(id, said, edit) : null,
      element(
        "label",
        { class: "check" },
        element("input", {
          type: "checkbox",
          id: `${id}-missing`,
          checked: said.missing === "category" || Boolean(said.missing_codes),
          disabled: Boolean(said.missing_codes),
          onchange: (event) => edit({ missing: event.target.checked ? "category" : null }),
        }),
        say("missing.category"),
      ),
    );
  }

  function bounds(id, said, offers, edit) {
    const asNumber = (event) => (event.target.value.trim() === "" ? null : Number(event.target.value));
    const asNumbers = (event) => {
      const found = event.target.value.split(/[\s,;]+/).filter(Boolean).map(Number);
      return found.length ? found : null;
    };
    const listed = (name, changes) =>
      field(
        `${id}-${name}`,
        say(name),
        input((said[name] ?? []).join(", "), { onchange: (event) => edit(changes(asNumbers(event))) }),
      );
    const [low, high] = said.bands ? [said.bands[0], said.bands.at(-1)] : [said.low, said.high];
    const banded = (bands) => (bands ? inBands(bands) : { bands, low, high });
    return [
      element(
        "div",
        { class: "bounds" },
        (said.bands ? ["step"] : ["low", "high", "step"]).map((name) =>
          field(
            `${id}-${name}`,
            say(name),
            input(said[name] ?? "", {
              inputmode: "decimal",
              size: 6,
              onchange: (event) => edit({ [name]: asNumber(event) }),
            }),
          ),
        ),
      ),
      offers.bands ? listed("bands", banded) : null,
      offers.missing_codes ? listed("missing_codes", (codes) => ({ missing_codes: codes })) : null,
    ];
  }

  function dates(id, said, edit) {
    const day = (name) =>
      field(
        `${id}-${name}`,
        say(`date.${name}`),
        input(said[name], { type: "date", onchange: (event) => edit({ [name]: event.target.value || null }) }),
      );
    const periods = ["day", "week", "month", "quarter", "year"].map((one) => [one, say(`period.${one}`)]);
    return [
      element("div", { class: "bounds two" }, day("low"), day("high")),
      field(
        `${id}-step`,
        say("step.date"),
        select(periods, said.step ?? "day", (step) => edit({ step })),
      ),
    ];
  }

  function words(id, said, edit) {
    const isText = said.values.every((value) => typeof value === "string");
    const box = element("textarea", {
      rows: Math.min(said.values.length, 6),
      spellcheck: "false",
      onchange: (event) => {
        const lines = event.target.value.split("\n").filter(Boolean);
        edit({ values: isText ? lines : lines.map(JSON.parse) });
      },
    });
    box.defaultValue = said.values.map((value) => (isText ? value : JSON.stringify(value))).join("\n");
    return [
      field(`${id}-values`, say("values"), box),
      element(
        "label",
        { class: "check" },
        element("input", {
          type: "checkbox",
          id: `${id}-ordered`,
          checked: said.ordered === true,
          onchange: (event) => edit({ ordered: event.target.checked ? true : null }),
        }),
        say("ordered"),
      ),
    ];
  }

  function toml(studio) {
    const box = element("textarea", { rows: 24, spellcheck: "false", class: "toml" });
    box.defaultValue = studio.state.toml;
    return element(
      "aside",
      { class: "card", "aria-labelledby": "toml-title" },
      element("h2", { id: "toml-title" }, say("toml")),
      field("toml", say("toml.label"), box),
      element(
        "div",
        { class: "buttons" },
        button("toml-apply", say("toml.apply"), () =>
          studio.change("write", { toml: document.getElementById("toml").value }),
        ),
        button("toml-save", say("save"), () => Parts.save("schema.toml", studio.state.toml, "text/plain")),
      ),
    );
  }

  return Object.freeze({ draw });
})();
