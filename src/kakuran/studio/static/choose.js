"use strict";
/* Choose: what is promised and what that costs, while the slider moves; a rehearsal for the steward's eyes only. */
const Choose = (() => {
  const { element, say, number, percent } = Page;
  const { field, input, select, segments, button } = Parts;
  const PAUSE = 120; // milliseconds that a slider must stand still
  const STEPS = 100; // of the slider
  const ORDER = ["1", "2", "3", "all", "weighed"]; // of designs: as they are, not by what they lose, so that none jumps
  const REST = 400; // milliseconds without another change before what takes longer is asked
  const ask = Object.fromEntries(["choice", "beside", "curve", "risk"].map((call) => [call, Calls.latest(call)]));
  let timer;
  let looks = 0;
  let isStale = false; // whether the curve and the risk are of something else by now
  let pair = [null, null];
  let last = {}; // what was found last, to be shown until something else is: of which table, the choice, curve and risk
  let rehearsed = null; // what came back from the last rehearsal, and of what

  function draw(studio) {
    look(studio, true);
    if (last.named !== studio.state.opened.named) last = { named: studio.state.opened.named };
    const [curve, risk] = ["curve", "risk"].map((id) =>
      element("section", { id, class: "card", "aria-labelledby": `${id}-title` }),
    );
    if (last.points) drawCurve(curve, last.points, last.found);
    if (last.before) drawRisk(risk, last.before, last.found);
    return [
      element("p", { class: "lead" }, say("choose.lead")),
      controls(studio),
      Public.offer(studio),
      element("div", { id: "choice", "aria-live": "polite" }, last.found ? meaning(studio, last.found) : null),
      element("div", { id: "beside" }, last.both ? beside(studio, last.both) : null),
      element("div", { class: "halves" }, curve, risk),
      rehearsal(studio),
      element(
        "div",
        { class: "buttons next" },
        button("next", say("next.release"), () => studio.go("release"), "primary"),
      ),
    ];
  }

  function controls(studio) {
    const { k, opened, wishes, columns } = studio.state;
    const { about } = wishes;
    const most = Math.max(Math.min(1000, opened.rows), 3);
    const at = (value) => Math.round((Math.log(value / 2) / Math.log(most / 2)) * STEPS);
    const of = (place) => nice(2 * (most / 2) ** (place / STEPS));
    const told = columnsTold(columns);
    const wish = async (changes, withCurve = true) => {
      if (await studio.change("wish", { wishes: changes }, false)) look(studio, withCurve);
    };
    const reach = (k) => slider.setAttribute("aria-valuetext", `k = ${number(k)}`);
    const slider = element("input", {
      type: "range",
      min: 0,
      max: STEPS,
      oninput: (event) => {
        const value = of(Number(event.target.value));
        document.getElementById("k").value = value;
        reach(value);
        clearTimeout(timer);
        timer = setTimeout(() => wish({ k: value }, false), PAUSE);
      },
    });
    slider.value = at(k);
    return element(
      "section",
      { class: "card controls", "aria-labelledby": "promise-title" },
      element("h2", { id: "promise-title" }, say("choose.promise")),
      element(
        "div",
        { class: "k" },
        field("k-slider", say("k.label"), slider, say("k.help")),
        field(
          "k",
          "k",
          input(k, {
            inputmode: "decimal",
            size: 6,
            onchange: (event) => {
              const value = Number(event.target.value);
              slider.value = at(value);
              reach(value);
              clearTimeout(timer);
              wish({ k: value });
            },
          }),
        ),
      ),
      wishes.rows_a_person > 1 ? null : surely(studio, wish),
      element(
        "div",
        { class: "line" },
        segments(
          "purpose",
          say("purpose"),
          about
            ? ["one-way", "two-way"].map((one) => [one, say(`purpose.about.${one}`, { about })])
            : ["one-way", "two-way", "three-way"].map((one) => [one, say(`purpose.${one}`)]),
          about && wishes.purpose === "three-way" ? "two-way" : (wishes.purpose ?? "two-way"),
          (purpose) => wish({ purpose }),
        ),
        field(
          "about",
          say("about"),
          select([["", say("about.nothing")], ...told.map((name) => [name, name])], about ?? "", (name) => {
            pair = [null, name]; // to be rehearsed with what it is about
            const purpose = name ? (about ? wishes.purpose : "one-way") : null; // first by one other column
            studio.change("wish", { wishes: { about: name || null, purpose } });
          }),
          say("about.help"),
        ),
      ),
      about && told.length > 2 ? others(studio, about, told) : null,
    );
  }

  /** Whether k holds in every draw, or with a probability that takes less noise. */
  function surely({ state }, wish) {
    const certainty = state.certainty_offered;
    return element(
      "div",
      { class: "field" },
      segments(
        "certainty",
        say("certainty"),
        [
          ["every", say("certainty.every")],
          ["certain", say("certainty.certain", { certainty: Page.plain(certainty) })],
        ],
        state.wishes.certainty ? "certain" : "every",
        (chosen) => wish({ certainty: chosen === "certain" ? certainty : null }),
      ),
      element("p", { class: "help" }, say("certainty.help")),
    );
  }

  /** All that nobody will study left out with one click. */
  function others(studio, about, told) {
    const by = told.filter((name) => name !== about).map((name) => [name, name]);
    const chosen = select(by, by[0][0], () => {});
    return element(
      "div",
      { class: "offer" },
      element("span", {}, say("only.help", { about })),
      element(
        "div",
        { class: "line" },
        field("only-by", say("only.by"), chosen),
        button("only", say("only"), () => studio.change("only", { columns: [about, chosen.value] })),
      ),
    );
  }

  const columnsTold = (columns) =>
    Object.entries(columns)
      .filter(([, { role, perturb }]) => !role || role === "perturb" || perturb)
      .map(([name]) => name);

  /** A round number nearby: 2 digits are enough for a promise. */
  const nice = (value) => Number(value.toPrecision(value < 10 ? 1 : 2));

  /** Ask again and show it where the page has its place for it by then: it may have been drawn anew meanwhile. */
  async function look(studio, withCurve) {
    const at = (id) => document.getElementById(id) ?? element("div");
    const turn = ++looks;
    isStale ||= withCurve;
    try {
      const found = await ask.choice({});
      if (!found) return;
      found.designs.sort((one, other) => ORDER.indexOf(one.key) - ORDER.indexOf(other.key));
      studio.calm();
      last.found = found;
      at("choice").replaceChildren(...meaning(studio, found));
      at("beside").className = "old";
      document.getElementById("rehearsed")?.replaceWith(cameBack(studio));
      if (!withCurve) await new Promise((done) => setTimeout(done, REST));
      if (turn !== looks) return;
      const both = await ask.beside({});
      if (!both) return;
      last.both = both;
      at("beside").className = "";
      at("beside").replaceChildren(...beside(studio, both));
      const points = isStale || !at("curve").points ? await ask.curve({}) : at("curve").points;
      if (!points) return;
      last.points = points;
      drawCurve(at("curve"), points, found);
      const before = isStale || !at("risk").before ? await ask.risk({}) : at("risk").before;
      if (!before) return;
      last.before = before;
      drawRisk(at("risk"), before, found);
      isStale = false;
    } catch (fault) {
      at("choice").replaceChildren();
      studio.complain(fault);
    }
  }

  const meaning = (studio, found) => [promise(found, studio.state.wishes.about), ...found.scattered.map(warning), designs(studio, found)];

  /** k in every draw and with certainty: both errors, and both ε. */
  function beside(studio, both) {
    if (!both.length) return [];
    const ways = Math.min(columnsTold(studio.state.columns).length, 3);
    const worst = Math.max(...both.flatMap(errors), 0.01);
    const epsilon = (value) => (value === null ? "∞" : number(value, 2));
    const card = (one) => {
      const name = one.certainty
        ? say("certainty.certain", { certainty: Page.plain(one.certainty) })
        : say("certainty.every");
      const epsilons = { epsilon: epsilon(one.epsilon), central: epsilon(one.central) };
      const details = [
        element("p", { class: "small" }, say("beside.epsilons", epsilons)),
        one.is_capped ? element("p", { class: "small" }, say("beside.capped")) : null,
      ];
      return comparable(one, name, details, worst, ways);
    };
    return [
      element(
        "section",
        { class: "card", "aria-labelledby": "beside-title" },
        element("h2", { id: "beside-title" }, say("beside")),
        element("div", { class: "designs" }, both.map(card)),
      ),
    ];
  }

  const errors = (one) => [one.one_way, one.two_way, one.three_way];

  const warning = (words) => element("p", { class: "notice" }, words);

  function promise(found, about) {
    const taken = found.designs.find(({ is_chosen }) => is_chosen);
    const fact = (name, value, help) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, value), element("dd", { class: "help" }, help));
    return element(
      "section",
      { class: "card", "aria-label": say("choose.means") },
      element(
        "dl",
        { class: "facts" },
        fact(
          "k",
          number(found.k, found.k % 1 ? 1 : 0),
          say(found.certainty ? "k.means.certain" : "k.means", {
            k: number(found.k, found.k % 1 ? 1 : 0),
            certainty: Page.plain(found.certainty ?? 1),
          }),
        ),
        fact(say("local"), found.epsilon === null ? "∞" : number(found.epsilon, 2), say("epsilon.means")),
        fact(
          say("central"),
          found.central === null ? "∞" : number(found.central, 2),
          say("central.means"),
        ),
        found.tables.map(({ ways, count, error }) =>
          fact(
            about && ways > 1 ? say(`table.about.${ways}`, { about }) : say(`table.${ways}`),
            taken ? percent(taken[`${["one", "two", "three"][ways - 1]}_way`], 1) : "–",
            say("table.means", { count: number(count), error: number(error) }),
          ),
        ),
      ),
      found.verdict ? element("p", {}, say("verdict", { what: found.verdict })) : null,
    );
  }

  function designs(studio, found) {
    const { tell } = studio.state.wishes;
    const ways = Math.min(columnsTold(studio.state.columns).length, 3);
    const worst = Math.max(...found.designs.flatMap(errors), 0.01);
    const choose = async (key) => {
      const wanted = key === "auto" ? null : key === "all" ? "all" : Number(key);
      if (await studio.change("wish", { wishes: { tell: wanted } }, false)) look(studio, false);
    };
    const chosen = tell == null || tell === "auto" ? "auto" : String(tell);
    return element(
      "section",
      { class: "card", "aria-labelledby": "designs-title" },
      element("h2", { id: "designs-title" }, say("designs")),
      element("p", { class: "small" }, say("designs.help")),
      segments(
        "design",
        say("designs.choose"),
        [
          ["auto", say("design.auto")],
          ...found.designs
            .filter(({ key }) => key !== "weighed" && !(key === "all" && studio.state.wishes.about))
            .map(({ key }) => [key, say(key === "all" ? "design.all" : `design.${key}`)]),
        ],
        chosen,
        choose,
      ),
      element("div", { class: "designs" }, found.designs.map((one) => design(one, worst, ways))),
      fewer(studio, found),
    );
  }

  /** What three columns together are for, and what two would gain: one click from the one to the other. */
  function fewer(studio, { designs: found }) {
    const { about, purpose } = studio.state.wishes;
    const [three, two] = ["3", "2"].map((key) => found.find((one) => one.key === key));
    if (!about || purpose === "one-way" || !three?.is_chosen || !(two?.two_way < three.two_way)) return null;
    const facts = { about, before: percent(three.two_way, 1), after: percent(two.two_way, 1) };
    return element(
      "p",
      { class: "offer" },
      element("span", {}, say("fewer", facts)),
      button("take-fewer", say("fewer.take"), () => studio.change("wish", { wishes: { purpose: "one-way", tell: null } })),
    );
  }

  function design(one, worst, ways) {
    const sets = one.sets > 1 ? say("design.sets", { sets: number(one.sets) }) : say("design.whole");
    return comparable(one, named(one), [element("p", { class: "small" }, sets)], worst, ways);
  }

  /** Something to choose, with what it is expected to lose. */
  function comparable(one, name, details, worst, ways) {
    const rows = ["one_way", "two_way", "three_way"].slice(0, ways).map((way) => {
      const bar = element("span", { class: `bar ${one.is_chosen ? "chosen" : ""}` });
      bar.style.setProperty("--share", one[way] / worst);
      return element(
        "li",
        {},
        bar,
        element("span", { class: "name" }, say(`wrong.${way}`)),
        element("span", { class: "count" }, percent(one[way], 1)),
      );
    });
    return element(
      "section",
      { class: `design ${one.is_chosen ? "chosen" : ""}`, "data-key": one.key, "aria-label": name },
      element("h3", {}, name, one.is_chosen ? element("span", { class: "badge" }, say("design.chosen")) : null),
      details,
      element("ul", { class: "values" }, rows),
    );
  }

  const named = ({ key }) => say(`design.${key}`);

  function drawCurve(frame, points, found) {
    frame.points = points;
    const lines = found.designs.map(({ key, is_chosen }) => ({ key, place: ORDER.indexOf(key), isChosen: is_chosen }));
    frame.replaceChildren(
      element("h2", { id: "curve-title" }, say("curve")),
      element("p", { class: "small" }, say("curve.help")),
      element(
        "ul",
        { class: "key" },
        found.designs.map((one) =>
          element("li", {}, element("span", { class: `swatch line-${ORDER.indexOf(one.key)}` }), named(one)),
        ),
      ),
      Pictures.curve(points, lines, found.k, say("curve")),
    );
  }

  function drawRisk(frame, before, found) {
    const { uniques, prosecutor, worst } = before;
    frame.before = before;
    frame.replaceChildren(
      element("h2", { id: "risk-title" }, say("risk")),
      element("p", { class: "small" }, say("risk.help")),
      Pictures.risk([
        { label: say("risk.uniques"), share: uniques, kind: "before" },
        { label: say("risk.average"), share: prosecutor, kind: "before" },
        { label: say("risk.worst"), share: worst, kind: "before" },
        { label: say("risk.after"), share: 1 / found.k, kind: "after" },
      ]),
    );
  }

  function rehearsal(studio) {
    const told = columnsTold(studio.state.columns);
    if (told.length < 2) return null;
    const about = studio.state.wishes.about;
    const other = about && told.includes(about) ? about : told[1];
    pair = [told.includes(pair[0]) ? pair[0] : told.find((one) => one !== other), told.includes(pair[1]) ? pair[1] : other];
    const pick = (place, label) =>
      field(
        `pair-${place}`,
        label,
        select(
          told.map((name) => [name, name]),
          pair[place],
          (name) => (pair[place] = name),
        ),
      );
    const rehearse = async () => {
      try {
        await studio.settled();
        const [[down, across], asked] = [pair, saidOf(studio)];
        const narrow = matchMedia("(max-width: 48rem)").matches;
        const found = await Calls.callLong("rehearse", { down, across, narrow }, studio.busy);
        rehearsed = { ...found, asked, named: studio.state.opened.named };
        document.getElementById("rehearsed")?.replaceWith(cameBack(studio));
        studio.calm();
      } catch (fault) {
        studio.complain(fault);
      }
    };
    return element(
      "section",
      { class: "card", id: "rehearsal", "aria-labelledby": "rehearsal-title" },
      element("h2", { id: "rehearsal-title" }, say("rehearsal")),
      element("p", { class: "small" }, say("rehearsal.help")),
      element(
        "div",
        { class: "line" },
        pick(0, say("rows")),
        pick(1, say("columns")),
        button("rehearse", say("rehearse"), rehearse),
      ),
      cameBack(studio),
    );
  }

  /** All that a rehearsal follows from. */
  const saidOf = ({ state }) => JSON.stringify([state.k, state.toml]);

  /** The last rehearsal of this table; one of what was said earlier does not pass for one of what is said now. */
  function cameBack(studio) {
    const frame = element("div", { id: "rehearsed", class: "answer", "aria-live": "polite" });
    if (rehearsed?.named !== studio.state.opened.named) return frame;
    const isOld = rehearsed.asked !== saidOf(studio);
    const shown = Parts.reported(element("div", { class: isOld ? "old" : null }), rehearsed.html);
    shown.append(element("p", {}, say("rehearsal.wrong", { share: percent(rehearsed.wrong, 1) })));
    if (rehearsed.unclear) shown.append(element("p", { class: "small" }, say("rehearsal.hatched")));
    if (isOld) frame.append(element("p", { class: "notice" }, say("rehearsal.old")));
    frame.append(shown);
    return frame;
  }

  return Object.freeze({ draw });
})();
