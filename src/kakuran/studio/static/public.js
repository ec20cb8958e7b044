"use strict";
/* Say what is public: a card a column, and the schema beside them as TOML, always the same thing said twice. */
const Public = (() => {
  const { element, say, counted, number, percent, plain } = Page;
  const { field, input, select, segments, button } = Parts;

  const MANY = 30; // values from which on a column may say whose a row is
  const POOR = 0.1; // by how much a typical cell is off where nobody should miss that bands would do better
  const ask = Calls.latest("bands");

  function draw(studio) {
    const { state } = studio;
    return [
      element("p", { class: "lead" }, say("public.lead")),
      unconfirmed(studio),
      offer(studio),
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

  /** What bands would gain, which takes a moment: of all columns here, and of each where its card has left room. */
  function offer(studio) {
    const frame = element("div", { id: "bands-offer" });
    const { names } = studio.state.opened;
    ask({}).then(
      (proposals) => {
        const poor = (proposals ?? []).filter(({ before }) => before > POOR);
        if (poor.length) frame.replaceChildren(bandingAll(studio, poor));
        for (const proposal of proposals ?? []) {
          const id = `column-${names.indexOf(proposal.column)}`;
          document.getElementById(`${id}-bands-offer`)?.replaceChildren(banding(studio, `${id}-make-bands`, proposal));
        }
      },
      () => null, // it was only an offer
    );
    return frame;
  }

  function bandingAll(studio, proposals) {
    const columns = proposals.map(({ column }) => column);
    const worst = (name) => percent(Math.max(...proposals.map((one) => one[name])));
    const facts = { columns: columns.join(", "), before: worst("before"), after: worst("after") };
    return element(
      "section",
      { class: "notice", "aria-label": say("bands") },
      element("p", {}, counted("bands.all", columns.length, facts)),
      button("make-all-bands", say("remedy.bands"), () => studio.change("band", { columns })),
    );
  }

  /** A number in bands, with what that gains, for a click. */
  const banding = (studio, id, { column, count, before, after, changes }) =>
    element(
      "p",
      { class: "offer" },
      element("span", {}, say("bands.gain", { column, count, before: percent(before, 1), after: percent(after, 1) })),
      button(id, say("remedy.bands"), () => studio.change("edit", { column, changes })),
    );

  /** What may become of a column: only numbers weigh, and whose a row is stands in one with many values. */
  const rolesOf = (seen, role) =>
    [
      "perturb",
      "keep",
      "drop",
      role === "weight" || (seen.edges.length && !seen.are_days && seen.edges[0] >= 0) ? "weight" : null,
      role === "person" || seen.distinct >= MANY ? "person" : null,
    ].filter(Boolean);

  function card(studio, name) {
    const { state } = studio;
    const [said, seen] = [state.columns[name], state.opened.cards[name]];
    const id = `column-${state.opened.names.indexOf(name)}`;
    const edit = (changes) => studio.change("edit", { column: name, changes });
    const isPerson = state.wishes.person === name;
    const role = isPerson ? "person" : (said.role ?? "perturb");
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
        rolesOf(seen, role).map((one) => [one, say(`role.${one}`), say(`role.${one}.help`)]),
        role,
        (now) => edit({ role: now === "perturb" ? null : now }),
      ),
      element("p", { class: "small" }, say(`role.${role}.help`)),
      isPerson ? rowsOf(id, studio) : null,
      role === "weight" ? classes(id, said, edit) : null,
      isDropped || role === "weight" ? null : domain(id, said, seen, state.drafted[name], edit),
      element("div", { id: `${id}-bands-offer` }),
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
    const label = say("histogram", { column: name });
    if (said.type === "date") return Pictures.numbers(seen, days(id, said, edit), label);
    const bands = said.bands ?? said.classes;
    const points = bands ?? (said.type === "numeric" ? [said.low, said.high] : [seen.edges[0], seen.edges.at(-1)]);
    if (!points.every(Number.isFinite) || (seen.are_days && !bands)) return Pictures.values(seen, state.opened.rows);
    const names = bands ? bands.map((edge) => say("edge", { edge: plain(edge) })) : [say("low"), say("high")];
    const said_of = (to) => (said.classes ? inClasses(to) : bands ? inBands(to) : { low: to[0], high: to[1] });
    const moved = (to) => (said.type === "numeric" || said.classes ? edit(said_of(to)) : null);
    return Pictures.numbers(seen, { id, points, names, step: said.step ?? 1, moved, shown: plain }, label);
  }

  /** Handles at the first and the last day, in days since 1970. */
  function days(id, said, edit) {
    const [DAY, names] = [86400000, ["low", "high"]];
    const shown = (day) => new Date(day * DAY).toISOString().slice(0, 10);
    return {
      id,
      points: names.map((name) => Date.parse(said[name]) / DAY),
      names: names.map((name) => say(`date.${name}`)),
      step: 1,
      moved: (to) => edit({ low: shown(to[0]), high: shown(to[1]) }),
      shown,
    };
  }

  /** What stands for each class is its middle, unless somebody writes something else into the schema. */
  const inClasses = (classes) => ({ classes, values: null });

  /** Bands say where a number begins and ends, too. */
  const inBands = (bands) => ({ bands, low: null, high: null });

  function rowsOf(id, studio) {
    const use = (event) => studio.change("wish", { wishes: { rows_a_person: Number(event.target.value) } });
    const rows = input(studio.state.wishes.rows_a_person, { inputmode: "numeric", size: 4, onchange: use });
    return field(`${id}-rows`, say("person.rows"), rows, say("person.rows.help"));
  }

  function classes(id, said, edit) {
    const told = (event) => edit(inClasses(numbersIn(event.target.value) ?? said.classes));
    return element(
      "div",
      { class: "domain" },
      field(`${id}-classes`, say("classes"), input(said.classes.join(", "), { onchange: told }), say("classes.help")),
      check(`${id}-perturb`, say("classes.perturb"), said.perturb === true, (is) => edit({ perturb: is ? true : null })),
    );
  }

  const numbersIn = (text) => {
    const found = text.split(/[\s,;]+/).filter(Boolean).map(Number);
    return found.length ? found : null;
  };

  const check = (id, label, checked, told, disabled = false) =>
    element(
      "label",
      { class: "check" },
      element("input", { type: "checkbox", id, checked, disabled, onchange: (event) => told(event.target.checked) }),
      label,
    );

  function domain(id, said, seen, drafted, edit) {
    const canBeWords = seen.values !== null;
    const canBeNumbers = Boolean(seen.edges?.length) && !seen.are_days;
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
      said.type === "numeric" ? bounds(id, said, edit) : null,
      said.type === "categorical" ? words(id, said, edit) : null,
      said.type === "date" ? dates(id, said, edit) : null,
      check(
        `${id}-missing`,
        say("missing.category"),
        said.missing === "category" || Boolean(said.missing_codes),
        (is) => edit({ missing: is ? "category" : null }),
        Boolean(said.missing_codes),
      ),
    );
  }

  function bounds(id, said, edit) {
    const asNumber = (event) => (event.target.value.trim() === "" ? null : Number(event.target.value));
    const listed = (name, changes) =>
      field(
        `${id}-${name}`,
        say(name),
        input((said[name] ?? []).join(", "), { onchange: (event) => edit(changes(numbersIn(event.target.value))) }),
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
      listed("bands", banded),
      listed("missing_codes", (codes) => ({ missing_codes: codes })),
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
      check(`${id}-ordered`, say("ordered"), said.ordered === true, (is) => edit({ ordered: is ? true : null })),
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

  return Object.freeze({ draw, offer });
})();
