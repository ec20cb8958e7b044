"use strict";
/* Say what is public: a card a column, and the schema beside them as TOML, always the same thing said twice. */
const Public = (() => {
  const { element, say, counted, number, percent, plain } = Page;
  const { field, input, select, segments, button } = Parts;

  const MANY = 30; // values from which on a column may say whose a row is
  const MUCH = 5; // times as wide as the first band the last one is where bands grow
  const POOR = 0.1; // by how much a typical cell is off where nobody should miss that bands would do better
  const ask = Calls.latest("bands");
  let offered = {}; // bands that were offered last, to be shown until others are: of which table, and which
  const refused = new Map(); // what was typed and cannot be, and why, by the field's id

  function draw(studio) {
    const { state } = studio;
    return [
      element("p", { class: "lead" }, say("public.lead")),
      Parts.folded(
        "roles",
        say("roles"),
        element(
          "dl",
          { class: "meanings" },
          ["perturb", "keep", "drop", "weight", "person"].map((role) => [
            element("dt", {}, say(`role.${role}`)),
            element("dd", {}, say(`role.${role}.help`)),
          ]),
        ),
      ),
      unconfirmed(studio),
      spent(state.wishes.private),
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
      button("find-privately", say("public.privately"), () => studio.change("privately", {})),
      element("p", { class: "small" }, say("public.privately.help")),
    );
  }

  const spent = (budget) => (budget ? element("p", { class: "small" }, say("public.spent", { epsilon: plain(budget[0]), delta: budget[1] })) : null);

  /** What bands would gain, which takes a moment: of all columns here, and of each where its card has left room. */
  function offer(studio) {
    const frame = element("div", { id: "bands-offer" });
    const { opened } = studio.state;
    frame.replaceChildren(...bandingAll(studio, lastOffered(studio)));
    ask({}).then(
      (proposals) => {
        if (!proposals) return;
        offered = { named: opened.named, proposals };
        frame.replaceChildren(...bandingAll(studio, proposals));
        for (const [place, name] of opened.names.entries())
          document.getElementById(`column-${place}-bands-offer`)?.replaceChildren(...banding(studio, name));
      },
      () => null, // it was only an offer
    );
    return frame;
  }

  const lastOffered = ({ state: { opened, columns } }) =>
    (offered.named === opened.named ? offered.proposals : []).filter(
      ({ column }) => columns[column]?.type === "numeric" && !columns[column].bands, // read again, the table may have others
    );

  function bandingAll(studio, every) {
    const proposals = every.filter(({ before }) => before > POOR);
    if (!proposals.length) return [];
    const columns = proposals.map(({ column }) => column);
    const worst = (name) => percent(Math.max(...proposals.map((one) => one[name])));
    const facts = { columns: columns.join(", "), before: worst("before"), after: worst("after") };
    return [
      element(
        "section",
        { class: "notice", "aria-label": say("bands") },
        element("p", {}, counted("bands.all", columns.length, facts)),
        element("ul", { class: "small" }, proposals.map((one) => element("li", {}, `${one.column}: ${edges(one.changes)} (${held(one.shares)})`))),
        button("make-all-bands", say("remedy.bands"), () => studio.change("band", { columns })),
      ),
    ];
  }

  const edges = ({ bands }) => bands.map(plain).join(" – ");

  const held = (shares) => shares.map((share) => (share > 0 && share < 0.005 ? `<${percent(0.01)}` : percent(share))).join(" – ");

  /** A number in bands, with what that gains, where they would begin and who is in them, for a click. */
  function banding(studio, name) {
    const proposal = lastOffered(studio).find(({ column }) => column === name);
    if (!proposal) return [];
    const { column, count, before, after, changes, shares, heap } = proposal;
    const id = `column-${studio.state.opened.names.indexOf(column)}`;
    const make = (bands) => studio.change("edit", { column, changes: bands });
    const facts = { column, count, before: percent(before, 1), after: percent(after, 1), edges: edges(changes) };
    return [
      element(
        "div",
        { class: "offer" },
        element("span", {}, say("bands.gain", facts)),
        shares.length ? element("span", {}, say("bands.held", { shares: held(shares) })) : null,
        heap === null ? null : element("span", {}, say("bands.heap", { value: plain(heap) })),
        button(`${id}-make-bands`, say("remedy.bands"), () => make(changes)),
      ),
    ];
  }

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
    const written = typing(studio, name);
    const isPerson = state.wishes.person === name;
    const role = isPerson ? "person" : (said.role ?? "perturb");
    const isDropped = said.role === "drop";
    const misfit = state.misfits.find(({ column }) => column === name);
    return element(
      "section",
      { class: `card column ${isDropped ? "dropped" : ""}`, "aria-labelledby": `${id}-title` },
      element("h2", { id: `${id}-title` }, name),
      element("p", { class: "small" }, facts(seen)),
      state.remarks[name] ? element("p", { class: "small remark" }, say("remark", { remark: state.remarks[name] })) : null,
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
      role === "weight" ? classes(id, said, edit, written) : null,
      isDropped || role === "weight" ? null : domain(id, said, seen, state.drafted[name], edit, written),
      element("div", { id: `${id}-bands-offer` }, banding(studio, name)),
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
    const grows = points[0] >= 0 && points.length > 2 && points.at(-1) - points.at(-2) >= MUCH * (points[1] - points[0]);
    return Pictures.numbers(seen, { id, points, names, step: said.step ?? 1, moved, shown: plain, grows }, label);
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

  /** A field whose words are kept where they cannot be, with what is wrong below them. */
  function typing(studio, column) {
    return (id, label, value, changes, attributes = {}, help = "") => {
      const key = `${studio.state.opened.named} ${id}`;
      const refusal = refused.get(key);
      const tell = async (event) => {
        const text = event.target.value;
        const keep = (why) => refused.set(key, { text, value, why });
        refused.delete(key);
        try {
          const found = changes(text);
          await studio.change("edit", { column, changes: found }, true, (fault) =>
            fault instanceof Calls.Refused ? keep(fault.message) : studio.complain(fault),
          );
        } catch (fault) {
          if (!(fault instanceof Misread)) throw fault;
          keep(fault.message);
          studio.draw();
        }
      };
      const isRefused = refusal?.value === value;
      const control = input(isRefused ? refusal.text : value, { ...attributes, onchange: tell });
      if (!isRefused) return field(id, label, control, help);
      control.setAttribute("aria-invalid", "true");
      return field(id, label, control, element("span", { class: "error" }, refusal.why));
    };
  }

  class Misread extends Error {}

  function classes(id, said, edit, written) {
    const told = (text) => inClasses(numbersIn(text) ?? said.classes);
    return element(
      "div",
      { class: "domain" },
      written(`${id}-classes`, say("classes"), said.classes.join(", "), told, {}, say("classes.help")),
      check(`${id}-perturb`, say("classes.perturb"), said.perturb === true, (is) => edit({ perturb: is ? true : null })),
    );
  }

  const numbersIn = (text) => {
    const found = text.split(/[\s,;]+/).filter(Boolean).map(numberIn);
    return found.length ? found : null;
  };

  const numberIn = (text) => {
    const found = Number(text);
    if (!Number.isFinite(found)) throw new Misread(say("number.none", { text }));
    return found;
  };

  const check = (id, label, checked, told, disabled = false) =>
    element(
      "label",
      { class: "check" },
      element("input", { type: "checkbox", id, checked, disabled, onchange: (event) => told(event.target.checked) }),
      label,
    );

  function domain(id, said, seen, drafted, edit, written) {
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
      said.type === "numeric" ? bounds(id, said, written) : null,
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

  function bounds(id, said, written) {
    const asNumber = (text) => (text.trim() === "" ? null : numberIn(text.trim()));
    const listed = (name, changes) =>
      written(`${id}-${name}`, say(name), (said[name] ?? []).join(", "), (text) => changes(numbersIn(text)));
    const [low, high] = said.bands ? [said.bands[0], said.bands.at(-1)] : [said.low, said.high];
    const banded = (bands) => (bands ? inBands(bands) : { bands, low, high });
    const missing = (codes) => {
      const inside = (codes ?? []).find((code) => low <= code && code <= high);
      if (inside === undefined) return { missing_codes: codes };
      throw new Misread(say("codes.inside", { code: plain(inside), low: plain(low), high: plain(high) }));
    };
    return [
      element(
        "div",
        { class: "bounds" },
        (said.bands ? ["step"] : ["low", "high", "step"]).map((name) =>
          written(`${id}-${name}`, say(name), String(said[name] ?? ""), (text) => ({ [name]: asNumber(text) }), {
            inputmode: "decimal",
            size: 6,
          }),
        ),
      ),
      listed("bands", banded),
      listed("missing_codes", missing),
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
