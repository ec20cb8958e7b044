"use strict";
/* Estimates as pictures, each drawn to the width it is given: bars, columns, lines. */
const Charts = (() => {
  const { drawn, number, percent } = Page;

  /** A picture that is drawn again whenever its frame changes width. */
  function fitted(frame, draw) {
    let last = 0;
    new ResizeObserver(([{ contentRect }]) => {
      const width = Math.floor(contentRect.width);
      if (width > 0 && width !== last) frame.replaceChildren(draw((last = width)));
    }).observe(frame);
    return frame;
  }

  function picture(width, height, label, ...parts) {
    return drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, parts);
  }

  const text = (x, y, words, attributes = {}) => drawn("text", { x, y, ...attributes }, words);

  /** A line across, with what it stands for at its left. */
  function gridLine([from, to], y, words) {
    return drawn(
      "g",
      {},
      drawn("line", { x1: from, x2: to, y1: y, y2: y, class: "grid" }),
      text(from - 8, y + 4, words, { class: "faint", "text-anchor": "end" }),
    );
  }

  /** One row an answer: its name and numbers, the estimate with its interval, the naive share below. */
  function bars(frame, label, rows) {
    const largest = Math.max(...rows.flatMap(({ high, naive }) => [high, naive]), 1e-9);
    return fitted(frame, (width) => {
      const along = (share) => (share / largest) * (width - 2) + 1;
      const tall = 50;
      return picture(
        width,
        rows.length * tall,
        label,
        rows.map((row, place) => {
          const top = place * tall;
          return drawn(
            "g",
            {},
            drawn("title", {}, inWords(row)),
            text(0, top + 16, shortened(row.label, width - 150), { class: "name" }),
            drawn(
              "text",
              { x: width, y: top + 16, "text-anchor": "end" },
              drawn("tspan", { class: "value" }, percent(row.estimate, 1)),
              drawn("tspan", { class: "faint", dx: 8 }, interval(row)),
            ),
            drawn("rect", { x: 0, y: top + 23, width: along(row.estimate), height: 11, rx: 2, class: "estimate" }),
            drawn("rect", { x: 0, y: top + 36, width: along(row.naive), height: 4, rx: 2, class: "naive" }),
            whisker([along(row.low), top + 28.5], [along(row.high), top + 28.5]),
          );
        }),
      );
    });
  }

  const interval = ({ low, high }) => `${number(low * 100, 1)}–${percent(high, 1)}`;
  const inWords = (row) => `${row.label}: ${percent(row.estimate, 1)}, ${interval(row)}`;

  /** A name, cut where it would run into the numbers beside it; the table has it whole. */
  function shortened(name, room) {
    const wide = (letter) => (letter.charCodeAt(0) > 0x2e80 ? 15 : 8);
    let left = room;
    const fits = [...name].findIndex((letter) => (left -= wide(letter)) < 8);
    return fits < 0 ? name : `${[...name].slice(0, fits).join("").trimEnd()}…`;
  }

  function whisker([x1, y1], [x2, y2]) {
    const [across, up] = y1 === y2 ? [0, 4] : [4, 0];
    const stroke = (...ends) => drawn("line", { x1: ends[0], y1: ends[1], x2: ends[2], y2: ends[3] });
    return drawn(
      "g",
      { class: "whisker" },
      stroke(x1, y1, x2, y2),
      stroke(x1 - across, y1 - up, x1 + across, y1 + up),
      stroke(x2 - across, y2 - up, x2 + across, y2 + up),
    );
  }

  /** One column an interval of a number. */
  function columns(frame, label, rows) {
    const ticks = steps(Math.max(...rows.flatMap(({ high, naive }) => [high, naive]), 1e-9), 4);
    const largest = ticks.at(-1);
    const [left, top, tall, line] = [44, 10, 200, 18];
    const bottom = rows.some(({ isMissing }) => isMissing) ? 2 * line + 8 : line + 8;
    return fitted(frame, (width) => {
      const each = (width - left) / rows.length;
      const up = (share) => top + tall * (1 - share / largest);
      const often = Math.ceil(46 / each);
      const column = (kind, share, x, wide) =>
        drawn("rect", { x, y: up(share), width: wide, height: top + tall - up(share), rx: 1.5, class: kind });
      return picture(
        width,
        top + tall + bottom,
        label,
        ticks.map((tick) => gridLine([left, width], up(tick), percent(tick))),
        rows.map((row, place) => {
          const middle = left + each * (place + 0.5);
          return drawn(
            "g",
            {},
            drawn("title", {}, inWords(row)),
            column("naive", row.naive, middle - each * 0.36, each * 0.26),
            column("estimate", row.estimate, middle - each * 0.08, each * 0.44),
            whisker([middle + each * 0.14, up(row.low)], [middle + each * 0.14, up(row.high)]),
            row.isMissing ? text(width, top + tall + 2 * line, row.label, { class: "faint", "text-anchor": "end" }) : null,
            place % often || row.isMissing
              ? null
              : text(middle, top + tall + line, row.label, { class: "faint", "text-anchor": "middle" }),
          );
        }),
      );
    });
  }

  /** Lines over a number of answers that grows by factors. */
  function lines(frame, label, unit, sizes, series) {
    const ticks = steps(Math.max(...series.flat(), 1e-9), 5);
    const [left, right, top, tall, bottom] = [40, 28, 12, 200, 42];
    return fitted(frame, (width) => {
      const [first, last] = [sizes[0], sizes.at(-1)].map(Math.log);
      const along = (size) => left + ((Math.log(size) - first) / Math.max(last - first, 1e-9)) * (width - left - right);
      const up = (share) => top + tall * (1 - share / ticks.at(-1));
      return picture(
        width,
        top + tall + bottom,
        label,
        ticks.map((tick) => gridLine([left, width - right], up(tick), number(tick * 100))),
        apart(sizes, along, 58).map((size) =>
          text(along(size), top + tall + 18, number(size), { class: "faint", "text-anchor": "middle" }),
        ),
        text(left, top + tall + 38, unit, { class: "faint" }),
        series.map((values, place) =>
          drawn(
            "g",
            { class: `series line-${place % 6}` },
            drawn("polyline", { points: values.map((value, at) => `${along(sizes[at])},${up(value)}`).join(" ") }),
            values.map((value, at) => drawn("circle", { cx: along(sizes[at]), cy: up(value), r: 3 })),
          ),
        ),
      );
    });
  }

  /** The sizes that can be written without touching the next, the last one first. */
  function apart(sizes, along, room) {
    const kept = [];
    for (const size of [...sizes].reverse()) {
      if (!kept.length || along(kept.at(-1)) - along(size) > room) kept.push(size);
    }
    return kept;
  }

  /** About `count` round numbers from 0 to just above the largest. */
  function steps(largest, count) {
    const raw = largest / count;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one >= raw * 0.999);
    return Array.from({ length: Math.ceil(largest / step - 1e-9) + 1 }, (_, place) => place * step);
  }

  return Object.freeze({ bars, columns, lines });
})();
