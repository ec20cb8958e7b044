"use strict";
/*
 * The survey owner's page. It asks for statistics with the token that came behind the # of its address, which no server
 * log ever sees; from then on the token is kept for this tab alone.
 */
(() => {
  const { element, say, spoken, number, plain, percent, either } = Page;
  const TOKEN = "kakuran:token";
  const [SOONEST, LATEST] = [2000, 30000]; // milliseconds between two looks: sooner while answers come in
  const SELDOM = 10000; // the tables below are drawn again at most this often

  let survey;
  let status = { state: "open", n: null };
  let summary = null;
  let pause = SOONEST;
  let timer;
  let isLooking = false;
  let isUnreachable = false;
  let redrawn = 0;
  const chosen = {}; // which questions the tables below are about: rows, columns, target

  const screen = document.getElementById("screen");
  const alertLine = document.getElementById("alert");

  // Asking.

  class Refused extends Error {
    constructor(problem, code) {
      super(problem.detail ?? problem.title ?? String(code));
      this.code = code;
    }
  }

  async function ask(path, options = {}) {
    const reply = await fetch(`api/${path}`, {
      ...options,
      headers: { Authorization: `Bearer ${sessionStorage.getItem(TOKEN)}` },
    });
    if (!reply.ok) throw new Refused(await reply.json().catch(() => ({})), reply.status);
    return reply;
  }

  const askJson = async (path, options) => (await ask(path, options)).json();
  const asQuery = (values) => new URLSearchParams(values).toString();

  function tell(words) {
    alertLine.textContent = words;
    alertLine.classList.toggle("notice", Boolean(words));
  }

  // Names in the survey's own words.

  const questionOf = (name) => survey.questions.find((question) => question.name === name);
  const titleOf = (name) => spoken(questionOf(name).text);

  function labelOf(name, label) {
    const value = questionOf(name).values?.find((one) => String(one.value) === label);
    return value ? spoken(value.label) : label;
  }

  // The page: what never changes is built once, what does is replaced.

  function build() {
    document.title = `${spoken(survey.title)} · ${say("dashboard.title")}`;
    document.getElementById("title").textContent = spoken(survey.title);
    screen.replaceChildren(
      element("div", { id: "suppressed" }),
      element("section", { id: "promise", class: "card", "aria-labelledby": "promise-title" }),
      element("div", { id: "questions", class: "grid" }),
      element("section", { id: "history", class: "card", "aria-labelledby": "history-title" }),
      crosstabCard(),
      treeCard(),
      exportCard(),
    );
    document
      .getElementById("standing")
      .replaceChildren(
        element(
          "p",
          { id: "live", role: "status" },
          element("span", { id: "n" }),
          " ",
          element("span", { id: "n-words" }),
        ),
        element("span", { id: "state", class: "badge" }),
        element("span", { id: "updated", class: "small" }),
        element("button", { id: "toggle", type: "button", class: "secondary", onclick: toggled }),
      );
    showStanding();
    if (summary) showSummary();
  }

  function showStanding() {
    const isOpen = status.state === "open";
    document.getElementById("state").textContent = say(`state.${status.state}`);
    document.getElementById("state").classList.toggle("closed", !isOpen);
    document.getElementById("toggle").textContent = isOpen ? say("close") : say("reopen");
    document.getElementById("toggle").classList.toggle("danger", isOpen);
    if (!summary) return;
    document.getElementById("n").textContent = number(summary.n);
    document.getElementById("n-words").textContent = say("answers");
    const time = new Intl.DateTimeFormat(document.documentElement.lang, { timeStyle: "medium" }).format(new Date());
    document.getElementById("updated").textContent = say("updated", { time });
  }

  function showSummary() {
    showStanding();
    const isKnown = !summary.suppressed;
    for (const id of ["questions", "history", "crosstab", "tree"]) document.getElementById(id).hidden = !isKnown;
    document.getElementById("suppressed").replaceChildren(...(isKnown ? [] : [suppressedCard()]));
    document.getElementById("promise").replaceChildren(...promise());
    if (!isKnown) return;
    const focused = focusedTable();
    document.getElementById("questions").replaceChildren(...summary.questions.map(questionCard));
    document.getElementById("history").replaceChildren(...historyParts());
    if (focused) document.querySelector(focused)?.focus({ preventScroll: true });
  }

  /** Where the focus is among what a refresh replaces, so that it can be put back there. */
  function focusedTable() {
    const details = document.activeElement?.closest("details[data-key]");
    const part = document.activeElement?.matches("summary") ? "summary" : ".scroll";
    return details && `details[data-key="${CSS.escape(details.dataset.key)}"] > ${part}`;
  }

  function suppressedCard() {
    return element(
      "section",
      { class: "card" },
      element("h2", {}, say("suppressed.title")),
      element("p", {}, say("suppressed.body", { minimum: number(summary.minimum_n), n: number(summary.n) })),
      element("progress", { max: summary.minimum_n, value: summary.n, "aria-label": say("suppressed.title") }),
    );
  }

  function promise() {
    const factor = plain(Number(Math.exp(summary.epsilon).toPrecision(2)));
    const k = { k: plain(survey.k), n: number(survey.expected_n), now: number(summary.k, 1) };
    return [
      element("h2", { id: "promise-title" }, say("meaning.title")),
      element("p", {}, survey.k ? say("meaning.k", k) : say("meaning.now", k)),
      element("p", {}, say("meaning.epsilon", { factor, epsilon: number(summary.epsilon, 2) })),
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

  function questionCard(question) {
    const rows = question.labels.map((label, place) => ({
      label: labelOf(question.name, label),
      estimate: question.estimate[place] / summary.n,
      low: question.low[place] / summary.n,
      high: question.high[place] / summary.n,
      naive: question.naive[place] / summary.n,
    }));
    const draw = questionOf(question.name).kind === "numeric" ? Charts.columns : Charts.bars;
    const title = titleOf(question.name);
    return element(
      "section",
      { class: "card", "aria-label": title },
      element("h2", {}, title),
      draw(element("div", { class: "chart" }), `${title} ${say("table")}`, rows),
      asTable(
        question.name,
        title,
        [say("answer"), say("estimate"), say("interval"), say("naive")],
        rows.map((row) => [
          row.label,
          percent(row.estimate, 1),
          `${percent(row.low, 1)} – ${percent(row.high, 1)}`,
          percent(row.naive, 1),
        ]),
        say("method", { method: question.method }),
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

  function historyParts() {
    const sizes = summary.history.map(({ n }) => n);
    const names = summary.questions.map(({ name }) => titleOf(name));
    const series = names.map((_, place) => summary.history.map(({ widths }) => widths[place]));
    return [
      element("h2", { id: "history-title" }, say("history.title")),
      element("p", { class: "small" }, say("history.body")),
      key(names),
      Charts.lines(element("div", { class: "chart" }), say("history.body"), say("history.n"), sizes, series),
      asTable(
        "history",
        say("history.title"),
        [say("history.n"), ...names],
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

  // Two questions together.

  function picker(key, names, changed) {
    return element(
      "label",
      { class: "picker" },
      element("span", {}, say(key === "target" ? "tree.target" : `crosstab.${key}`)),
      element(
        "select",
        {
          id: `pick-${key}`,
          onchange: (event) => {
            chosen[key] = event.target.value;
            changed();
          },
        },
        names.map((name) => element("option", { value: name, selected: chosen[key] === name }, titleOf(name))),
      ),
    );
  }

  function crosstabCard() {
    const names = survey.questions.map(({ name }) => name);
    return element(
      "section",
      { id: "crosstab", class: "card", "aria-labelledby": "crosstab-title", hidden: true },
      element("h2", { id: "crosstab-title" }, say("crosstab.title")),
      names.length < 2
        ? element("p", {}, say("none"))
        : [
            element(
              "div",
              { class: "pickers" },
              picker("rows", names, showCrosstab),
              picker("columns", names, showCrosstab),
            ),
            element("p", { class: "small" }, say("crosstab.body")),
            element("div", { id: "heatmap" }),
            element("p", { id: "cell", class: "cell-said", role: "status" }),
          ],
    );
  }

  async function showCrosstab() {
    const { rows, columns } = chosen;
    if (survey.questions.length < 2) return;
    const heatmap = document.getElementById("heatmap");
    if (rows === columns) return heatmap.replaceChildren(element("p", {}, say("crosstab.same")));
    try {
      const found = await askJson(`admin/crosstab?${asQuery({ rows, columns })}`);
      if (chosen.rows === rows && chosen.columns === columns && !found.suppressed) drawHeatmap(found);
    } catch (fault) {
      complain(fault);
    }
  }

  function drawHeatmap(found) {
    const focused = document.activeElement?.closest("#heatmap td");
    const at = focused && [Number(focused.dataset.row), Number(focused.dataset.column)];
    const most = Math.max(...found.estimate.flat(), 1);
    const share = (value) => percent(value / found.n, 1);
    const labels = [found.rows, found.columns].map(({ name, labels: each }) =>
      each.map((label) => labelOf(name, label)),
    );
    const said = (row, column) =>
      say("crosstab.cell", {
        row: labels[0][row],
        column: labels[1][column],
        estimate: share(found.estimate[row][column]),
        low: share(found.low[row][column]),
        high: share(found.high[row][column]),
        naive: share(found.naive[row][column]),
      });
    const isStop = (row, column) => (at ? at[0] === row && at[1] === column : !row && !column);
    const cell = (row, column) => {
      const made = element(
        "td",
        {
          tabindex: isStop(row, column) ? 0 : -1,
          "data-row": row,
          "data-column": column,
          class: found.unclear[row][column] ? "unclear" : null,
          title: said(row, column),
          onfocus: () => (document.getElementById("cell").textContent = said(row, column)),
          onmouseenter: () => (document.getElementById("cell").textContent = said(row, column)),
        },
        share(found.estimate[row][column]),
      );
      made.style.setProperty("--share", found.estimate[row][column] / most);
      return made;
    };
    document.getElementById("heatmap").replaceChildren(
      element(
        "div",
        { class: "scroll" },
        element(
          "table",
          { class: "heatmap", onkeydown: moveInTable },
          element("caption", {}, `${titleOf(found.rows.name)} × ${titleOf(found.columns.name)}`),
          element(
            "thead",
            {},
            element(
              "tr",
              {},
              element("td", {}),
              labels[1].map((label) => element("th", { scope: "col" }, label)),
            ),
          ),
          element(
            "tbody",
            {},
            labels[0].map((label, row) =>
              element(
                "tr",
                {},
                element("th", { scope: "row" }, label),
                labels[1].map((_, column) => cell(row, column)),
              ),
            ),
          ),
        ),
      ),
      found.unclear.flat().some(Boolean) ? element("p", { class: "small" }, say("crosstab.unclear")) : "",
    );
    if (at) document.querySelector("#heatmap td[tabindex='0']")?.focus({ preventScroll: true });
  }

  /** Arrow keys walk through the cells; only one of them is a stop of the Tab key. */
  function moveInTable(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const from = event.target.closest("td[data-row]");
    if (!step || !from) return;
    const to = event.currentTarget.querySelector(
      `td[data-row="${Number(from.dataset.row) + step[0]}"][data-column="${Number(from.dataset.column) + step[1]}"]`,
    );
    event.preventDefault();
    if (!to) return;
    from.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  }

  // What predicts an answer.

  function treeCard() {
    const names = survey.questions.filter(({ kind }) => kind === "categorical").map(({ name }) => name);
    const isPossible = names.length > 0 && survey.questions.length > 1;
    return element(
      "section",
      { id: "tree", class: "card", "aria-labelledby": "tree-title", hidden: true },
      element("h2", { id: "tree-title" }, say("tree.title")),
      isPossible
        ? [
            element("div", { class: "pickers" }, picker("target", names, showTree)),
            element("p", { class: "small" }, say("tree.body")),
            element("div", { id: "grown", "aria-live": "polite" }),
          ]
        : element("p", {}, say("none")),
    );
  }

  async function showTree() {
    const { target } = chosen;
    const grown = document.getElementById("grown");
    if (!grown) return;
    if (grown.dataset.target !== target) grown.replaceChildren(element("p", {}, say("tree.working")));
    try {
      const found = await askJson(`admin/tree?${asQuery({ target })}`);
      if (chosen.target !== target || found.suppressed) return;
      grown.dataset.target = target;
      grown.replaceChildren(...drawTree(found));
    } catch (fault) {
      complain(fault);
    }
  }

  function drawTree(found) {
    const classes = found.classes.map((label) => labelOf(found.target, label));
    const shares = Object.entries(found.importances)
      .filter(([, share]) => share > 0.005)
      .sort(([, a], [, b]) => b - a)
      .map(([name, share]) => `${titleOf(name)} ${percent(share)}`);
    return [
      key(classes),
      found.root.children ? null : element("p", {}, say("tree.alone")),
      element("ul", { class: "tree" }, branch(found.root, say("tree.all"), classes)),
      shares.length ? element("p", { class: "small" }, say("tree.matters", { shares: shares.join(" · ") })) : null,
    ].filter(Boolean);
  }

  function branch(node, condition, classes) {
    const total = Math.max(
      node.counts.reduce((sum, count) => sum + count, 0),
      1e-9,
    );
    const best = node.counts.indexOf(Math.max(...node.counts));
    const strip = element(
      "span",
      { class: "strip", "aria-hidden": "true" },
      node.counts.map((count, place) => {
        const part = element("span", { class: `line-${place % 6}` });
        part.style.flexGrow = count / total;
        return part;
      }),
    );
    const said = say("tree.leaf", {
      answer: classes[best],
      share: percent(node.counts[best] / total),
      n: number(total),
    });
    return element(
      "li",
      {},
      element(
        "div",
        { class: "node" },
        element("strong", {}, condition),
        strip,
        element("span", { class: "small" }, said),
      ),
      node.children
        ? [
            element("p", { class: "asks" }, titleOf(node.question)),
            element(
              "ul",
              {},
              node.children.map((child, side) => branch(child, conditionOf(node, side), classes)),
            ),
          ]
        : null,
    );
  }

  /** What leads to one side of a split: a number up to or above an edge, or one of some answers. */
  function conditionOf({ question, sides }, side) {
    if (questionOf(question).kind === "numeric") {
      return say(side ? "tree.above" : "tree.to", { edge: sides[0].at(-1).split("–").at(-1) });
    }
    return either(sides[side].map((label) => labelOf(question, label)));
  }

  // Export, closing.

  function exportCard() {
    return element(
      "section",
      { class: "card", "aria-labelledby": "export-title" },
      element("h2", { id: "export-title" }, say("export.title")),
      element("p", { class: "small" }, say("export.body")),
      element(
        "div",
        { class: "buttons" },
        ["csv", "parquet", "html"].map((format) =>
          element(
            "button",
            { type: "button", class: "secondary", onclick: () => download(format) },
            say(`export.${format}`),
          ),
        ),
      ),
    );
  }

  /** A link cannot carry the token, so the file is fetched first and then handed to the browser to save. */
  async function download(format) {
    try {
      const reply = await ask(`admin/export?${asQuery({ format })}`);
      const [, name] = /filename="([^"]+)"/.exec(reply.headers.get("Content-Disposition") ?? "") ?? [];
      const address = URL.createObjectURL(await reply.blob());
      element("a", { href: address, download: name ?? `${survey.id}.${format}` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60000);
      tell("");
    } catch (fault) {
      if (fault instanceof Refused) tell(say("export.failed", { reason: fault.message }));
      else complain(fault);
    }
  }

  function toggled() {
    if (status.state !== "open") return setState("reopen");
    const dialog = document.getElementById("confirm");
    dialog.replaceChildren(
      element("h2", { id: "confirm-title" }, say("close.title")),
      element("p", {}, say("close.body")),
      element(
        "div",
        { class: "buttons" },
        element(
          "button",
          { type: "button", class: "secondary", autofocus: true, onclick: () => dialog.close() },
          say("close.cancel"),
        ),
        element(
          "button",
          {
            type: "button",
            class: "primary",
            onclick: () => {
              dialog.close();
              setState("close");
            },
          },
          say("close.confirm"),
        ),
      ),
    );
    dialog.showModal();
  }

  async function setState(action) {
    try {
      status.state = (await askJson(`admin/${action}`, { method: "POST" })).state;
      showStanding();
    } catch (fault) {
      complain(fault);
    }
  }

  // Looking again and again, more seldom while nothing happens and not at all while nobody looks.

  async function look() {
    if (isLooking) return;
    isLooking = true;
    clearTimeout(timer);
    try {
      status = await askJson("status");
      const isNew = !summary || status.n === null || status.n !== summary.n;
      if (isNew) await refresh();
      else showStanding();
      if (isUnreachable) tell("");
      isUnreachable = false;
    } catch (fault) {
      pause = Math.min(pause * 2, LATEST);
      complain(fault);
      if (fault.code === 401) return;
    } finally {
      isLooking = false;
    }
    if (!document.hidden) timer = setTimeout(look, pause);
  }

  async function refresh() {
    const before = summary;
    summary = await askJson("admin/summary");
    const hasMoved = before?.n !== summary.n;
    pause = hasMoved ? SOONEST : Math.min(pause * 1.5, LATEST);
    if (!hasMoved) return showStanding();
    showSummary();
    if (summary.suppressed || (Date.now() - redrawn < SELDOM && before && !before.suppressed)) return;
    redrawn = Date.now();
    await Promise.all([showCrosstab(), showTree()]);
  }

  function complain(fault) {
    if (fault.code === 401) {
      sessionStorage.removeItem(TOKEN);
      askForToken(say("token.wrong"));
      return;
    }
    isUnreachable = !(fault instanceof Refused);
    tell(isUnreachable ? say("unreachable") : fault.message);
  }

  function askForToken(words) {
    tell(words);
    document.getElementById("standing").replaceChildren();
    screen.replaceChildren(
      element(
        "form",
        {
          class: "card token",
          onsubmit: (event) => {
            event.preventDefault();
            sessionStorage.setItem(TOKEN, document.getElementById("token").value.trim());
            start();
          },
        },
        element("h2", {}, say("token.title")),
        element("label", { class: "asked", for: "token" }, say("token.label")),
        element("p", { class: "help", id: "token-help" }, say("token.help")),
        element("input", {
          id: "token",
          type: "password",
          required: true,
          autocomplete: "off",
          "aria-describedby": "token-help",
        }),
        element("button", { class: "primary", type: "submit" }, say("token.open")),
      ),
    );
  }

  function start() {
    tell("");
    summary = null;
    build();
    look();
  }

  async function open() {
    if (location.hash.length > 1) {
      sessionStorage.setItem(TOKEN, decodeURIComponent(location.hash.slice(1)));
      history.replaceState(null, "", location.pathname + location.search);
    }
    try {
      survey = await (await fetch("api/survey")).json();
    } catch {
      return tell(say("fault.survey"));
    }
    status.state = survey.state;
    const byKind = [...survey.questions].sort((one, other) => one.kind.localeCompare(other.kind)); // categories first
    [chosen.rows, chosen.columns, chosen.target] = [byKind[0], byKind[1], byKind[0]].map((question) => question?.name);
    Page.offerLanguages(survey.languages, () => {
      if (!sessionStorage.getItem(TOKEN)) return askForToken("");
      build();
      redrawn = 0;
      if (summary && !summary.suppressed) Promise.all([showCrosstab(), showTree()]);
    });
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && sessionStorage.getItem(TOKEN)) look();
    });
    document.getElementById("title").textContent = spoken(survey.title);
    if (sessionStorage.getItem(TOKEN)) start();
    else askForToken("");
  }

  open();
})();
