"use strict";
/* Small pictures, drawn to the width they are given: what a column holds, and what k costs. */
const Pictures = (() => {
  const { element, drawn, number, percent } = Page;
  const MOST_ROWS = 8;
  const NEAR = 52; // pixels within which two numbers would touch
  const LETTER = 8; // pixels of a digit, about

  /** A picture that is drawn again whenever its frame changes width. */
  function fitted(frame, draw) {
    let [wide, last] = [0, 0];
    const fit = () => {
      const isHeld = frame.contains(document.activeElement); // drawn anew, a handle would slip out of one's hand
      if (wide > 0 && wide !== last && !isHeld) frame.replaceChildren(draw((last = wide)));
    };
    new ResizeObserver(([{ contentRect }]) => {
      wide = Math.floor(contentRect.width);
      fit();
    }).observe(frame);
    frame.addEventListener("focusout", () => requestAnimationFrame(fit));
    return frame;
  }

  const svg = (width, height, label, ...parts) =>
    drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, parts);

  const text = (x, y, words, attributes = {}) => drawn("text", { x, y, class: "faint", ...attributes }, words);

  /** Values with the records that have them, the most frequent first. */
  function values(card, rows) {
    const most = Math.max(...card.bars.map(([, count]) => count), 1);
    const more = Math.max(card.bars.length - MOST_ROWS, 0) + card.others;
    return element(
      "div",
      {},
      element(
        "ul",
        { class: "values" },
        card.bars.slice(0, MOST_ROWS).map(([label, count]) => {
          const bar = element("span", { class: "bar" });
          bar.style.setProperty("--share", count / most);
          return element(
            "li",
            {},
            bar,
            element("span", { class: "name" }, label),
            element("span", { class: "count" }, percent(count / rows, 1)),
          );
        }),
      ),
      more ? element("p", { class: "small" }, Page.counted("values.more", more, { count: number(more) })) : null,
    );
  }

  /**
   * Numbers as columns, with handles at what the schema says of them: its bounds, or the edges of its bands. Handles
   * are dragged or moved with the arrow keys; `moved` is told where they are in the end. Where bands grow, small numbers
   * have more room than large ones, so that each edge can be taken hold of.
   */
  function numbers(card, { id, points, names, step, moved, shown, grows = false }, label) {
    const [least, most] = [card.edges[0], card.edges.at(-1)];
    const [from, to] = [Math.min(least, points[0]), Math.max(most, points.at(-1))];
    const room = Math.max(to - from, step) * 0.12;
    const [first, last] = [grows ? from : from - room, to + room];
    const [bent, straight] = grows ? [Math.sqrt, (part) => part ** 2] : [(part) => part, (part) => part];
    const highest = Math.max(...card.heights, 1);
    const [top, tall] = [18, 84];
    return fitted(element("div", { class: "chart numbers" }), (width) => {
      const [left, right] = [12, width - 12];
      const along = (value) => left + bent(Math.max((value - first) / (last - first), 0)) * (right - left);
      const back = (x) => first + straight(Math.max((x - left) / (right - left), 0)) * (last - first);
      const columns = card.heights.map((count, place) => {
        const [start, end] = [along(card.edges[place]), along(card.edges[place + 1])];
        const height = (count / highest) * tall;
        return drawn("rect", {
          x: start,
          y: top + tall - height,
          width: Math.max(end - start - 1, 1),
          height,
          class: "column",
        });
      });
      const picture = svg(width, top + tall + 30, label, columns, [
        drawn("line", { x1: left, x2: right, y1: top + tall, y2: top + tall, class: "grid" }),
      ]);
      picture.setAttribute("role", "group");
      const handles = points.map((value, place) => {
        const side = place === 0 ? "end" : place === points.length - 1 ? "start" : "middle";
        return handle(picture, { id: `${id}-handle-${place}`, value, name: names[place], side, along, back, step, top, tall, shown }, (now) => {
          const others = points.map((other, at) => (at === place ? now : other));
          if (others.every((other, at) => !at || other > others[at - 1])) moved(others);
          else moved(points);
        });
      });
      picture.append(...handles);
      const apart = points.map(along);
      for (const [place, one] of handles.entries()) {
        const isEnd = place === 0 || place === points.length - 1;
        const ending = Math.max(shown(points.at(-1)).length * LETTER - NEAR / 2, NEAR / 2);
        const room = Math.min(apart[place] - apart[place - 1], apart.at(-1) - apart[place] - ending);
        one.firstChild.classList.toggle("crowded", !isEnd && room < NEAR);
      }
      return picture;
    });
  }

  function handle(picture, { id, value, name, side, along, back, step, top, tall, shown }, dropped) {
    let [said, now] = [value, value];
    const words = text(0, top + tall + 18, "", { "text-anchor": side === "middle" ? "middle" : side === "end" ? "start" : "end" });
    const grip = drawn("g", {
      id,
      class: "handle",
      role: "slider",
      tabindex: 0,
      "aria-label": name,
      "aria-valuenow": value,
      "aria-valuetext": shown(value),
    });
    grip.append(
      drawn("line", { y1: top - 6, y2: top + tall, x1: 0, x2: 0 }),
      drawn("rect", { x: -14, y: top - 14, width: 28, height: tall + 24, class: "reach" }),
      drawn("circle", { cx: 0, cy: top - 6, r: 7 }),
    );
    /** Round numbers, no finer than a hand can choose: a whole number of steps that is a power of ten. */
    const atHand = (given) => {
      const power = 10 ** Math.floor(Math.log10(Math.max(back(along(given) + 1) - given, step)));
      return Number.isInteger(power / step) ? power : step;
    };
    const put = (given) => {
      now = rounded(given, atHand(given));
      const x = along(now);
      grip.setAttribute("transform", `translate(${x} 0)`);
      words.setAttribute("x", x);
      words.textContent = shown(now);
      grip.setAttribute("aria-valuenow", now);
      grip.setAttribute("aria-valuetext", shown(now));
      grip.classList.toggle("moved", now !== said);
    };
    const drop = () => {
      if (now === said) return;
      said = now;
      grip.classList.remove("moved");
      dropped(now);
    };
    put(value);
    grip.addEventListener("pointerdown", (event) => {
      grip.setPointerCapture(event.pointerId);
      const box = picture.getBoundingClientRect();
      const drag = (moving) => put(back(moving.clientX - box.left));
      grip.addEventListener("pointermove", drag);
      grip.addEventListener(
        "pointerup",
        () => {
          grip.removeEventListener("pointermove", drag);
          drop();
        },
        { once: true },
      );
      event.preventDefault();
      grip.focus();
    });
    grip.addEventListener("keydown", (event) => {
      const many = event.shiftKey ? 10 : 1;
      const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 10, PageDown: -10 }[event.key];
      if (event.key === "Enter") drop();
      if (!by) return;
      event.preventDefault();
      put(now + by * many * atHand(now));
    });
    grip.addEventListener("blur", drop);
    return drawn("g", {}, words, grip);
  }

  /** The nearest of the numbers that lie whole steps apart, without the dust of floating point. */
  const rounded = (value, step) => Number((Math.round(value / step) * step).toPrecision(12));

  /** Errors of designs over k, which grows by factors; the k that is chosen stands out. */
  function curve(points, lines, k, label) {
    const highest = Math.max(...points.flatMap(({ errors }) => Object.values(errors)), 0.01);
    const [left, right, top, tall, bottom] = [48, 28, 12, 190, 40];
    return fitted(element("div", { class: "chart" }), (width) => {
      const [first, last] = [points[0].k, points.at(-1).k].map(Math.log);
      const along = (one) => left + ((Math.log(one) - first) / Math.max(last - first, 1e-9)) * (width - left - right);
      const up = (share) => top + tall * (1 - share / highest);
      const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => part * highest);
      const at = Math.min(Math.max(k, points[0].k), points.at(-1).k);
      return svg(
        width,
        top + tall + bottom,
        label,
        ticks.map((tick) => [
          drawn("line", { x1: left, x2: width - right, y1: up(tick), y2: up(tick), class: "grid" }),
          text(left - 8, up(tick) + 4, percent(tick, highest < 0.1 ? 1 : 0), { "text-anchor": "end" }),
        ]),
        points
          .filter((_, place) => place % Math.ceil((points.length * NEAR) / width) === 0)
          .map(({ k: one }) => text(along(one), top + tall + 18, number(one), { "text-anchor": "middle" })),
        text(left, top + tall + 36, "k"),
        drawn("line", { x1: along(at), x2: along(at), y1: top, y2: top + tall, class: "now" }),
        lines.map(({ key, place, isChosen }) =>
          drawn(
            "g",
            { class: `series line-${place % 6}${isChosen ? " chosen" : ""}` },
            drawn("polyline", {
              points: points
                .filter(({ errors }) => key in errors)
                .map(({ k: one, errors }) => `${along(one)},${up(errors[key])}`)
                .join(" "),
            }),
          ),
        ),
      );
    });
  }

  /** How likely somebody is found, before and after, as two bars with words. */
  function risk(rows) {
    return element(
      "ul",
      { class: "values risk" },
      rows.map(({ label, share, kind }) => {
        const bar = element("span", { class: `bar ${kind}` });
        bar.style.setProperty("--share", Math.max(share, 0.002));
        return element(
          "li",
          {},
          bar,
          element("span", { class: "name" }, label),
          element("span", { class: "count" }, percent(share, share < 0.1 ? 2 : 1)),
        );
      }),
    );
  }

  return Object.freeze({ values, numbers, curve, risk });
})();
