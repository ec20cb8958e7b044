"use strict";
/* A decision tree as nested lists: every node with the shares of the classes in it. */
const Tree = (() => {
  const { element, say, number, percent, either } = Page;

  function draw(found, names) {
    const classes = found.classes.map((label) => names.label(found.target, label));
    const shares = Object.entries(found.importances)
      .filter(([, share]) => share > 0.005)
      .sort(([, a], [, b]) => b - a)
      .map(([name, share]) => `${names.title(name)} ${percent(share)}`);
    const bits = Object.entries(found.bits)
      .sort(([, a], [, b]) => b - a)
      .map(([name, told]) => `${names.title(name)} ${told.toFixed(3)}`);
    return [
      Panels.key(classes),
      found.root.children ? null : element("p", {}, say("tree.alone")),
      bits.length ? element("p", { class: "small" }, say("tree.bits", { bits: bits.join(" · ") })) : null,
      element("ul", { class: "tree" }, branch(found.root, say("tree.all"), classes, names)),
      shares.length ? element("p", { class: "small" }, say("tree.matters", { shares: shares.join(" · ") })) : null,
    ].filter(Boolean);
  }

  function branch(node, condition, classes, names) {
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
            element("p", { class: "asks" }, names.title(node.question)),
            element(
              "ul",
              {},
              node.children.map((child, side) => branch(child, conditionOf(node, side, names), classes, names)),
            ),
          ]
        : null,
    );
  }

  /** What leads to one side of a split: a number or date up to or above an edge, or one of some answers. */
  function conditionOf({ question, sides }, side, names) {
    if (Questions.isTyped(names.question(question))) {
      const words = say(side ? "tree.above" : "tree.to", { edge: sides[0].at(-1).split("–").at(-1) });
      const missing = sides[side].filter((label) => label === "missing").map((label) => names.label(question, label));
      return either([...(sides[side].length > missing.length ? [words] : []), ...missing]);
    }
    return either(sides[side].map((label) => names.label(question, label)));
  }

  return Object.freeze({ draw });
})();
