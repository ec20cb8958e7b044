"use strict";
/* What the dashboard shows of a summary: the promise, every question as a picture and as a table, the history. */
const Panels = (() => {
  const { element, say, counted, number, plain, factorOf, percent } = Page;

  function promise(survey, summary) {
    const k = { k: plain(survey.k), n: number(survey.expected_n), now: number(summary.k, 1) };
    const linked = survey.trust ? null : element("p", {}, survey.k ? say("meaning.k", k) : say("meaning.now", k));
    return [
      element("h2", { id: "promise-title" }, say("meaning.title")),
      linked,
      element("p", {}, say("meaning.epsilon", { factor: factorOf(summary.epsilon), epsilon: number(summary.epsilon, 2) })),
      survey.trust && element("p", {}, say("meaning.trust", { ...k, certainty: plain(survey.certainty) })),
      summary.suppressed
        ? null
        : element(
            "p",
            { class: "small legend" },
            element("span", { class: "swatch estimate" }),
            element("span", { class: "swatch naive" }),
            say("meaning.reading", { level: percent(summary.level) }),
          ),
    ].filter(Boolean);
  }

  function suppressed(summary) {
    const values = { minimum: number(summary.minimum_n), n: number(summary.n) };
    return element(
      "section",
      { class: "card" },
      element("h2", {}, say("suppressed.title")),
      element("p", {}, counted("suppressed.body", summary.n, values)),
      element("progress", { max: summary.minimum_n, value: summary.n, "aria-label": say("suppressed.title") }),
    );
  }

  /** Signs of made-up answers; nothing where there are none. */
  function impossible(summary, names) {
    if (!summary.impossible.length) return [];
    const said = ({ columns, records }) =>
      records
        ? say("impossible.repeated", { times: number(records) })
        : say("impossible.question", { question: names.title(columns[0]) });
    return [
      element(
        "section",
        { class: "card notice", "aria-labelledby": "impossible-title" },
        element("h2", { id: "impossible-title" }, say("impossible.title")),
        summary.impossible.map((one) => element("p", {}, said(one))),
        element("p", { class: "small" }, say("impossible.body", { looks: number(1000) })),
      ),
    ];
  }

  /** What an export leaves out, and how many answers it still needs. */
  function leftOut({ cohorts, waiting, missing }, isOpen) {
    const values = { waiting: number(waiting), missing: number(missing) };
    if (missing === null && !cohorts.length) return say("export.once");
    if (missing === null) return waiting ? counted("export.late", waiting, values) : "";
    if (!missing) return "";
    if (!cohorts.length) return counted(isOpen ? "export.first" : "export.closed", missing, values);
    return waiting ? counted("export.waiting", waiting, values) : "";
  }

  function question(summary, one, names) {
    const rows = one.labels.map((label, place) => ({
      isMissing: label === "missing",
      label: names.label(one.name, label),
      estimate: one.estimate[place] / summary.n,
      low: one.low[place] / summary.n,
      high: one.high[place] / summary.n,
      naive: one.naive[place] / summary.n,
    }));
    const draw = Questions.isTyped(names.question(one.name)) ? Charts.columns : Charts.bars;
    const title = names.title(one.name);
    return element(
      "section",
      { class: "card", "aria-label": title },
      element("h2", {}, title),
      draw(element("div", { class: "chart" }), say("chart", { question: title }), rows),
      one.influence && element("p", { class: "small" }, say("influence", { people: number(one.influence, 1) })),
      asTable(
        one.name,
        title,
        [say("answer"), say("estimate"), say("interval"), say("naive")],
        rows.map((row) => [
          row.label,
          percent(row.estimate, 1),
          `${percent(row.low, 1)} – ${percent(row.high, 1)}`,
          percent(row.naive, 1),
        ]),
        say("method", { method: one.method }),
      ),
    );
  }

  /** The same numbers as text; whether it stands open survives the next refresh. */
  const opened = new Set();
  function asTable(key, caption, header, rows, note) {
    return element(
      "details",
      {
        "data-key": key,
        open: opened.has(key),
        ontoggle: (event) => (event.target.open ? opened.add(key) : opened.delete(key)),
      },
      element("summary", {}, say("table")),
      element(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
        element(
          "table",
          {},
          element("caption", {}, caption),
          element(
            "thead",
            {},
            element(
              "tr",
              {},
              header.map((name) => element("th", { scope: "col" }, name)),
            ),
          ),
          element(
            "tbody",
            {},
            rows.map(([name, ...cells]) =>
              element(
                "tr",
                {},
                element("th", { scope: "row" }, name),
                cells.map((cell) => element("td", {}, cell)),
              ),
            ),
          ),
        ),
      ),
      note ? element("p", { class: "small" }, note) : null,
    );
  }

  function history(summary, names) {
    const sizes = summary.history.map(({ n }) => n);
    const titles = summary.questions.map(({ name }) => names.title(name));
    const series = titles.map((_, place) => summary.history.map(({ widths }) => widths[place]));
    return [
      element("h2", { id: "history-title" }, say("history.title")),
      element("p", { class: "small" }, say("history.body")),
      key(titles),
      Charts.lines(element("div", { class: "chart" }), say("history.body"), say("history.n"), sizes, series),
      asTable(
        "history",
        say("history.title"),
        [say("history.n"), ...titles],
        sizes.map((size, at) => [number(size), ...series.map((values) => number(values[at] * 100, 1))]),
      ),
    ];
  }

  /** Which colour is what. */
  function key(names) {
    return element(
      "ul",
      { class: "key" },
      names.map((name, place) => element("li", {}, element("span", { class: `swatch line-${place % 6}` }), name)),
    );
  }

  return Object.freeze({ promise, suppressed, impossible, leftOut, question, history, key });
})();
