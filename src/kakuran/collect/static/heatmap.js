"use strict";
/* Two questions together: a table whose cells are coloured by their share and walked through with the arrow keys. */
const Heatmap = (() => {
  const { element, say, percent } = Page;

  /** Draw into a frame; `tell` is called with the words for the cell that is looked at. */
  function draw(frame, found, names, tell) {
    const focused = frame.contains(document.activeElement) ? document.activeElement.closest("td") : null;
    const at = focused && [Number(focused.dataset.row), Number(focused.dataset.column)];
    const most = Math.max(...found.estimate.flat(), 1);
    const share = (value) => percent(value / found.n, 1);
    const labels = [found.rows, found.columns].map(({ name, labels: each }) =>
      each.map((label) => names.label(name, label)),
    );
    const isModel = found.rests_on === "model";
    const said = (row, column) =>
      say(isModel ? "crosstab.cell.model" : "crosstab.cell", {
        row: labels[0][row],
        column: labels[1][column],
        estimate: share(found.estimate[row][column]),
        low: share(found.low[row][column]),
        high: share(found.high[row][column]),
        naive: isModel ? "" : share(found.naive[row][column]),
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
          onfocus: () => tell(said(row, column)),
          onmouseenter: () => tell(said(row, column)),
        },
        share(found.estimate[row][column]),
      );
      made.style.setProperty("--share", found.estimate[row][column] / most);
      return made;
    };
    frame.replaceChildren(
      element(
        "div",
        { class: "scroll" },
        element(
          "table",
          { class: "heatmap", onkeydown: walk },
          element("caption", {}, `${names.title(found.rows.name)} × ${names.title(found.columns.name)}`),
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
      isModel ? element("p", { class: "small" }, say("crosstab.model")) : "",
      found.unclear.flat().some(Boolean) ? element("p", { class: "small" }, say("crosstab.unclear")) : "",
    );
    if (at) frame.querySelector("td[tabindex='0']")?.focus({ preventScroll: true });
  }

  /** Arrow keys walk through the cells; only one of them is a stop of the Tab key. */
  function walk(event) {
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

  return Object.freeze({ draw });
})();
