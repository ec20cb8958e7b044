"use strict";
/* Read: a release, questions by pointing, and for every answer its picture, its table and the code that makes it. */
const Reading = (() => {
  const { element, say, number } = Page;
  const { field, input, select, button, code, save, browser } = Parts;
  const KINDS = ["crosstab", "share", "mean", "quantile", "regress", "tree", "synthesise"];
  const asked = { kind: "crosstab", columns: [], by: "", value: "", where: "", unweighed: false };

  async function open(studio, path) {
    try {
      studio.opened = await Calls.callLong("read", { path }, studio.busy);
      studio.answer = null;
      Object.assign(asked, { kind: "crosstab", columns: [], by: "", value: "", where: "", unweighed: false });
      studio.calm();
      return true;
    } catch (fault) {
      studio.complain(fault);
      return false;
    }
  }

  function draw(studio) {
    return [
      element("p", { class: "lead" }, say("read.lead")),
      studio.opened ? asking(studio) : null,
      studio.answer ? answer(studio) : null,
      choosing(studio),
    ];
  }

  function choosing(studio) {
    const start = async (path) => {
      if (await open(studio, path)) {
        await studio.draw();
        document.getElementById("asking-title").focus();
      }
    };
    return element(
      "section",
      { class: "card", "aria-labelledby": "choosing-title" },
      element("h2", { id: "choosing-title" }, studio.opened ? say("read.another") : say("read.title")),
      element(
        "form",
        {
          class: "line",
          onsubmit: (event) => {
            event.preventDefault();
            start(document.getElementById("release").value);
          },
        },
        field("release", say("read.path"), input(studio.opened?.path ?? studio.made?.release)),
        element("button", { class: "primary", type: "submit" }, say("load.open")),
      ),
      browser("browser", start, studio.complain, studio.state.opened?.named), // the table itself is no release
    );
  }

  function asking(studio) {
    const { opened } = studio;
    const columns = Object.entries(opened.columns).filter(([, said]) => said && said.role !== "drop");
    const numbers = columns.filter(([, said]) => said.type === "numeric");
    const words = columns.filter(([, said]) => said.type === "categorical");
    const whole = columns.filter(([, said]) => !mayLack(said));
    const among = { mean: numbers, quantile: numbers, share: words, tree: words, regress: whole }[asked.kind] ?? columns;
    const names = among.map(([name]) => name);
    const every = columns.map(([name]) => name);
    const set = (changes) => {
      Object.assign(asked, changes);
      studio.draw();
    };
    const column = (place, label, options, isNeeded = true) => {
      const listed = isNeeded ? options : ["", ...options];
      if (!listed.includes(asked.columns[place])) asked.columns[place] = first(place, options);
      return field(
        `ask-${place}`,
        label,
        select(
          listed.map((name) => [name, name || say("about.nothing")]),
          asked.columns[place],
          (name) => set({ columns: asked.columns.map((one, at) => (at === place ? name : one)) }),
        ),
      );
    };
    /** What a release is about comes first, and across of others; two columns are asked for together. */
    const first = (place, options) => {
      const { about } = opened;
      const [one, other] = [options.find((name) => name !== about) ?? options[0], options[1] ?? ""];
      if (asked.kind === "crosstab") return [one, options.includes(about) && about !== one ? about : other, ""][place];
      return options.includes(about) ? about : options[0];
    };
    const by = () =>
      field(
        "ask-by",
        say("ask.by"),
        select(
          ["", ...every].map((name) => [name, name || say("about.nothing")]),
          asked.by,
          (name) => set({ by: name }),
        ),
      );
    const put = async (event) => {
      event.preventDefault();
      const { kind, where, unweighed } = asked;
      const given = { kind, where, unweighed, by: [asked.by], columns: asked.columns, value: value(opened) };
      try {
        studio.answer = await Calls.callLong("ask", given, studio.busy);
        studio.calm();
        await studio.draw();
        const shown = document.getElementById("answer"); // not where somebody has gone elsewhere meanwhile
        shown?.focus({ preventScroll: true });
        shown?.scrollIntoView({ block: "start" });
      } catch (fault) {
        studio.complain(fault);
      }
    };
    const fields = {
      crosstab: () => [
        column(0, say("rows"), names),
        column(1, say("columns"), names, false),
        column(2, say("ask.third"), names, false),
        condition(set),
      ],
      share: () => [column(0, say("ask.column"), names), valueOf(opened, set), by(), condition(set)],
      mean: () => [column(0, say("ask.column"), names), by(), condition(set)],
      quantile: () => [column(0, say("ask.column"), names), by(), condition(set)],
      tree: () => [column(0, say("ask.target"), names)],
      regress: () => [
        column(0, say("ask.target"), names),
        explaining([...whole, ...words.filter(([, said]) => mayLack(said))].map(([name]) => name), set),
        numbers.some(([, said]) => mayLack(said)) ? element("p", { class: "small" }, say("ask.lacking")) : null,
      ],
      synthesise: () => [],
    };
    const facts = {
      records: number(opened.records),
      k: Page.plain(opened.k),
      certainty: Page.plain(opened.certainty ?? 1),
      epsilon: opened.epsilon === null ? "∞" : number(opened.epsilon, 2),
      central: opened.central === null ? "–" : number(opened.central, 2),
    };
    const isWeighed = Object.values(opened.columns).some((said) => said?.role === "weight");
    const canAsk = asked.kind === "synthesise" || names.length > 0;
    return element(
      "form",
      { class: "card", "aria-labelledby": "asking-title", onsubmit: put },
      element("h2", { id: "asking-title", tabindex: -1 }, opened.path.split(/[/\\]/).at(-1)),
      element("p", {}, say(opened.certainty ? "read.found.certain" : "read.found", facts)),
      opened.seeded ? element("p", { class: "notice" }, say("read.seeded")) : null,
      element(
        "div",
        { class: "line" },
        field(
          "kind",
          say("ask.kind"),
          select(
            KINDS.map((kind) => [kind, say(`ask.${kind}`)]),
            asked.kind,
            (kind) => set({ kind, columns: [], value: "" }),
          ),
        ),
        canAsk ? fields[asked.kind]() : element("p", {}, say("ask.none")),
      ),
      isWeighed && asked.kind !== "synthesise" ? weighing(set) : null,
      canAsk ? element("button", { class: "primary", type: "submit", id: "ask" }, say("ask")) : null,
    );
  }

  const mayLack = (said) => said.missing === "category" || Boolean(said.missing_codes);

  /** Records stand for others where there is a weight, unless each is to be counted once. */
  const weighing = (set) => {
    const told = (event) => set({ unweighed: event.target.checked });
    const box = element("input", { type: "checkbox", id: "unweighed", checked: asked.unweighed, onchange: told });
    return element("label", { class: "check" }, box, say("ask.unweighed"));
  };

  const condition = (set) =>
    field(
      "where",
      say("ask.where"),
      input(asked.where, { placeholder: "25 <= age <= 40", onchange: (event) => set({ where: event.target.value }) }),
    );

  const value = (opened) => {
    const values = opened.columns[asked.columns[0]]?.values ?? [];
    return values.find((one) => String(one) === asked.value) ?? values[0];
  };

  function valueOf(opened, set) {
    const values = opened.columns[asked.columns[0]]?.values ?? [];
    return field(
      "ask-value",
      say("ask.value"),
      select(
        values.map((one) => [String(one), String(one)]),
        String(value(opened)),
        (one) => set({ value: one }),
      ),
    );
  }

  function explaining(names, set) {
    const others = names.filter((name) => name !== asked.columns[0]);
    return element(
      "fieldset",
      { class: "checks" },
      element("legend", {}, say("ask.explaining")),
      others.map((name, place) =>
        element(
          "label",
          { class: "check" },
          element("input", {
            type: "checkbox",
            id: `explains-${place}`,
            checked: asked.columns.slice(1).includes(name),
            onchange: (event) => {
              const rest = asked.columns.slice(1).filter((one) => one && one !== name);
              set({ columns: [asked.columns[0], ...rest, ...(event.target.checked ? [name] : [])] });
            },
          }),
          name,
        ),
      ),
    );
  }

  function answer(studio) {
    const { html, csv, python, command, is_at_end: isAtEnd } = studio.answer;
    const shown = Parts.reported(element("div", { class: "answer" }), html);
    const picture = shown.querySelector("img");
    const drawing = () => atob(picture.src.split(",")[1]);
    const bytes = () => Uint8Array.from(drawing(), (sign) => sign.charCodeAt(0));
    return element(
      "section",
      { class: "card", id: "answer", tabindex: -1, "aria-label": say("answer") },
      shown,
      isAtEnd ? element("p", { class: "small" }, say("answer.end")) : null,
      Parts.folded(
        "answer-words",
        say("answer.words"),
        element(
          "dl",
          { class: "meanings" },
          ["interval", "naive", "unclear", "margins"].map((word) => [
            element("dt", {}, say(`word.${word}`)),
            element("dd", {}, say(`word.${word}.means`)),
          ]),
        ),
      ),
      element(
        "div",
        { class: "buttons" },
        picture ? button("save-picture", say("save.picture"), () => save("answer.svg", bytes(), "image/svg+xml")) : null,
        button("save-table", say("save.table"), () => save("answer.csv", `\ufeff${csv}`, "text/csv")), // for a Japanese Excel
      ),
      code("ask-python", say("script.python"), python, "answer.py"),
      code("ask-command", say("script.commands"), command, "answer.sh"),
    );
  }

  return Object.freeze({ draw, open });
})();
