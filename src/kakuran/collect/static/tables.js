"use strict";
/* The tables about questions that can be chosen: two against each other, and what predicts one. */
const Tables = (() => {
  const { element, say } = Page;
  const { askJson, asQuery } = Asking;
  const SELDOM = 10000; // milliseconds: they are drawn again at most this often

  let [survey, names, complain] = [];
  let drawn = { n: null, at: 0 }; // how many answers they are about, and since when
  const chosen = {}; // which questions they are about: rows, columns, target

  /** `names` speaks the survey's words, `complain` is told what goes wrong. */
  function begin(asked, words, trouble) {
    [survey, names, complain] = [asked, words, trouble];
    const byKind = [...survey.questions].sort((one, other) => one.kind.localeCompare(other.kind)); // categories first
    [chosen.rows, chosen.columns, chosen.target] = [byKind[0], byKind[1], byKind[0]].map((question) => question?.name);
  }

  const cards = () => [crosstabCard(), treeCard()];

  /** Draw them, where they are about fewer answers than there are. */
  async function show(summary) {
    if (summary.suppressed || drawn.n === summary.n || Date.now() - drawn.at < SELDOM) return;
    drawn = { n: summary.n, at: Date.now() };
    await Promise.all([showCrosstab(), showTree()]);
  }

  /** Draw them next time, whatever they are about. */
  function outdate() {
    drawn = { n: null, at: 0 };
  }

  function picker(key, offered, changed) {
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
        offered.map((name) => element("option", { value: name, selected: chosen[key] === name }, names.title(name))),
      ),
    );
  }

  const tellCell = (words) => (document.getElementById("cell").textContent = words);

  function crosstabCard() {
    const all = survey.questions.map(({ name }) => name);
    return element(
      "section",
      { id: "crosstab", class: "card", "aria-labelledby": "crosstab-title", hidden: true },
      element("h2", { id: "crosstab-title" }, say("crosstab.title")),
      all.length < 2
        ? element("p", {}, say("none"))
        : [
            element(
              "div",
              { class: "pickers" },
              picker("rows", all, showCrosstab),
              picker("columns", all, showCrosstab),
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
      if (chosen.rows === rows && chosen.columns === columns && !found.suppressed)
        Heatmap.draw(heatmap, found, names, tellCell);
    } catch (fault) {
      complain(fault);
    }
  }

  function treeCard() {
    const targets = survey.questions.filter(({ kind }) => kind === "categorical").map(({ name }) => name);
    const isPossible = targets.length > 0 && survey.questions.length > 1;
    return element(
      "section",
      { id: "tree", class: "card", "aria-labelledby": "tree-title", hidden: true },
      element("h2", { id: "tree-title" }, say("tree.title")),
      isPossible
        ? [
            element("div", { class: "pickers" }, picker("target", targets, showTree)),
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
      grown.replaceChildren(...Tree.draw(found, names));
    } catch (fault) {
      complain(fault);
    }
  }

  return Object.freeze({ begin, cards, show, outdate });
})();
