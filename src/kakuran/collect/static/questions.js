"use strict";
/*
 * What people are asked: its field, and the way between answers and their codes 0, 1, 2 …, which are what is perturbed.
 *
 * A survey's columns each have codes of their own. Most are a question; of a question with several answers there may be
 * several, each of which tells some of its options. Who would rather not answer, and whom a question does not apply to,
 * have codes like everybody else.
 */
const Questions = (() => {
  const { element, say, spoken, apart, plain } = Page;
  const MANY = 7; // more answers than this are put into a list to choose from
  const OFF_GRID = 1e-6; // how far a number may lie off its grid, in steps: what floats do, and no more
  const SKIPPED = "skipped"; // given by who would rather not answer
  const NONE = "none"; // given by who chooses none of several

  const isNumber = (question) => question.kind === "numeric";
  const isDate = (question) => question.kind === "date";
  const isTyped = (question) => isNumber(question) || isDate(question);
  const isSeveral = (question) => question.kind === "several";
  const isGroup = (question) => isSeveral(question) || (!isTyped(question) && question.values.length <= MANY);

  /** The questions of some columns: those that tell of the same several answers are one. */
  function together(columns) {
    const askedAs = ({ name, several }) => several?.name ?? name;
    return [...new Set(columns.map(askedAs))].map((name) => {
      const own = columns.filter((column) => askedAs(column) === name);
      const { several } = own[0];
      const whole = several && { name, text: several.text, options: several.options, kind: "several" };
      return { ...own[0], ...whole, columns: own };
    });
  }

  // Dates: days since 1970-01-01, and periods of them, of which the one that holds `low` is 0.

  const DAY = 24 * 60 * 60 * 1000; // in milliseconds
  const MONTHS = { month: 1, quarter: 3, year: 12 };

  /** The day that 2020-04-03 means, or the first of 2020-04 or of 2020; undefined where it means none. */
  function dayOf(text) {
    const [year, month = "01", day = "01"] = /^\d{4}(-\d{2}){0,2}$/.test(text) ? text.split("-") : [];
    const found = Date.parse(`${year}-${month}-${day}T00:00:00Z`) / DAY;
    return Number.isFinite(found) ? found : undefined;
  }

  const written = (day) => new Date(day * DAY).toISOString().slice(0, 10);
  const monthsOf = (day) => 12 * new Date(day * DAY).getUTCFullYear() + new Date(day * DAY).getUTCMonth();

  function periodOf({ low, step }, day) {
    if (!MONTHS[step]) return Math.floor((day - dayOf(low)) / (step === "week" ? 7 : 1));
    return Math.floor(monthsOf(day) / MONTHS[step]) - Math.floor(monthsOf(dayOf(low)) / MONTHS[step]);
  }

  /** The first day of a period; the calendar goes on beyond the bounds. */
  function startOf({ low, step }, period) {
    if (!MONTHS[step]) return dayOf(low) + period * (step === "week" ? 7 : 1);
    const months = (period + Math.floor(monthsOf(dayOf(low)) / MONTHS[step])) * MONTHS[step];
    return Date.UTC(Math.floor(months / 12), months % 12, 1) / DAY;
  }

  /** What the period with this first day is called. */
  function periodInWords({ step }, first) {
    if (step === "week") return `${first} \u2013 ${written(dayOf(first) + 6)}`;
    if (step === "quarter") return `${first.slice(0, 4)}-Q${Math.ceil(Number(first.slice(5, 7)) / 3)}`;
    return first.slice(0, { month: 7, year: 4 }[step]);
  }

  // Codes of a column.

  function pointsOf(column) {
    if (isDate(column)) return periodOf(column, dayOf(column.high)) + 1;
    return isNumber(column) ? Math.round((column.high - column.low) / column.step) + 1 : column.values.length;
  }

  /** How many codes there are: one for every answer, and one for those of whom there is none. */
  const countOf = (column) => pointsOf(column) + Number(Boolean(column.missing));

  /** The answer that has a code, null where it is missing; a released one may lie `reach` codes beyond the bounds. */
  function answerOf(column, code, reach = 0) {
    if (column.missing && code === countOf(column) - 1 + reach) return null;
    if (isDate(column)) return written(startOf(column, code));
    if (!isNumber(column)) return column.values[code]?.value ?? beyond(column, code);
    // Whole numbers of the last digit, so that 3 steps of 0.1 are 0.3.
    const unit = 10 ** Math.max(decimals(column.low), decimals(column.step));
    return (Math.round(column.low * unit) + code * Math.round(column.step * unit)) / unit;
  }

  function beyond({ values, beyond: names }, code) {
    const reach = names.length / 2;
    return names[code < 0 ? code + reach : code - values.length + reach];
  }

  const releasedOf = (column, code) => answerOf(column, code, column.mechanism.half_width ?? 0);

  function decimals(number) {
    const [mantissa, exponent = "0"] = String(number).split("e");
    return Math.max(0, (mantissa.split(".")[1]?.length ?? 0) - Number(exponent));
  }

  const isOutside = (column, answer) => column.outside !== undefined && answer === answerOf(column, column.outside);

  function inWords(column, answer) {
    if (isDate(column) && answer !== null) return periodInWords(column, answer);
    if (isNumber(column) && answer !== null) return [plain(answer), spoken(column.unit)].filter(Boolean).join(" ");
    const code = answer === null ? countOf(column) - 1 : column.values.findIndex(({ value }) => value === answer);
    return code < 0 ? String(answer) : labelOf(column, code); // what lies beyond the values has a name and no label
  }

  /** What the answer with a code is called, where it is no number or date. */
  function labelOf(column, code) {
    if (code === column.outside) return say("outside");
    if (column.missing && code === countOf(column) - 1) return say("skip");
    if (!column.several) return spoken(column.values[code].label);
    const { ticks, options } = column.several;
    const ticked = ticks.filter((_, place) => (code >> place) & 1);
    if (ticks.length === 1) return say(ticked.length ? "several.yes" : "several.no");
    const labels = ticked.map((tick) => apart(spoken(options.find(({ value }) => value === tick).label)));
    return labels.join(say("comma")) || say("several.none");
  }

  // What was given: a code as text, a typed number or date, the places of options, SKIPPED, NONE, or nothing yet.

  /** The codes of what was given, column by column; undefined where it is no answer: no number is rounded to one. */
  function codesOf(question, given = "") {
    const codes = question.columns.map((column) => [column.name, codeOf(question, column, given)]);
    return codes.some(([, code]) => code === undefined) ? undefined : Object.fromEntries(codes);
  }

  function codeOf(question, column, given) {
    if (given === "") return undefined;
    if (given === SKIPPED) return countOf(column) - 1;
    if (isSeveral(question)) {
      const chosen = answersOf(question, given);
      return column.several.ticks.reduce((code, tick, place) => code + (chosen.includes(tick) ? 2 ** place : 0), 0);
    }
    if (isNumber(column) && !isOnGrid(column, given)) return undefined;
    if (isDate(column) && !isWithin(column, given)) return undefined;
    const code = isDate(column)
      ? periodOf(column, dayOf(given))
      : isNumber(column)
        ? Math.round(stepsOf(column, given))
        : Number(given);
    return code >= 0 && code < pointsOf(column) ? code : undefined;
  }

  const stepsOf = (column, given) => (Number(given) - column.low) / column.step;

  function isOnGrid(column, given) {
    const steps = stepsOf(column, given);
    return Math.abs(steps - Math.round(steps)) < OFF_GRID;
  }

  const isWithin = ({ low, high }, given) => dayOf(given) >= dayOf(low) && dayOf(given) <= dayOf(high);

  /** The codes of those whom a question does not apply to. */
  const codesOutside = (question) => Object.fromEntries(question.columns.map(({ name, outside }) => [name, outside]));

  /** The answers given, as far as other questions may depend on them. */
  function answersOf(question, given = "") {
    if (given === "" || given === SKIPPED || given === NONE || isTyped(question)) return [];
    const places = given.split(" ").map(Number);
    return places.map((place) => (isSeveral(question) ? question.options : question.values)[place].value);
  }

  // Fields.

  /** The question with its field, which starts with what was given before; `typed` is called with what is given. */
  function asked(question, id, given, typed, isRouting) {
    const told = spoken(question.help);
    const help = [told && apart(told), hintOf(question)].filter(Boolean).join(" ");
    const hints = [help && `${id}-help`, `${id}-error`].filter(Boolean).join(" ");
    const field = isTyped(question) ? typedField : isSeveral(question) ? severalFields : choosingField(question);
    const heading = { class: "asked", id: `${id}-asked` };
    return element(
      isGroup(question) ? "fieldset" : "div",
      { class: "card", id: `${id}-card`, ...(isGroup(question) ? { "aria-describedby": hints } : {}) },
      isGroup(question)
        ? element("legend", heading, spoken(question.text))
        : element("label", { ...heading, for: id }, spoken(question.text)),
      help ? element("p", { class: "help", id: `${id}-help` }, help) : null,
      isRouting ? element("p", { class: "help" }, say("asked.routing")) : null,
      field(question, { id, given, hints, typed }),
      element("p", { class: "error", id: `${id}-error`, hidden: true }),
    );
  }

  const choosingField = (question) => (isGroup(question) ? choiceFields : listField);

  /** Say at a question that it is still open, and why what was given is no answer, or no longer. */
  function markOpen(question, id, isOpen, given = "") {
    const line = document.getElementById(`${id}-error`);
    line.hidden = !isOpen;
    line.textContent = isOpen ? whyOpen(question, given) : "";
    for (const field of line.parentElement.querySelectorAll("input, select")) {
      if (isOpen) field.setAttribute("aria-invalid", "true");
      else field.removeAttribute("aria-invalid");
    }
  }

  function whyOpen(question, given) {
    if (isDate(question)) return say("error.date", boundsOf(question));
    if (!isNumber(question)) return say("error.choice");
    const [low, high] = [plain(question.low), plain(question.high)];
    const isOff = given !== "" && !isOnGrid(question, given);
    return isOff ? say("error.grid", { first: firstOf(question), high }) : say("error.number", { low, high });
  }

  /** The first numbers that can be answered, short of the last. */
  function firstOf(question) {
    const codes = [0, 1, 2].filter((code) => code === 0 || code < pointsOf(question) - 1);
    return codes.map((code) => plain(answerOf(question, code))).join(say("comma"));
  }

  /** What can be chosen: what is then given, and what it is called. */
  function choicesOf(question) {
    const [listed, more] = isSeveral(question)
      ? [question.options.map(({ label }) => spoken(label)), [[NONE, say("several.none")]]]
      : [question.values.map((_, code) => labelOf(question, code)), []];
    const offered = listed.map((label, place) => [String(place), label]);
    const inside = isSeveral(question) ? offered : offered.filter((_, code) => code !== question.outside);
    return [...inside, ...more, ...(maySkip(question) ? [[SKIPPED, say("skip")]] : [])];
  }

  const maySkip = (question) => question.missing === SKIPPED;

  function choice(label, attributes) {
    const input = element("input", attributes);
    return element("label", { class: "choice" }, input, element("bdi", {}, label));
  }

  function choiceFields(question, { id, given, typed }) {
    return choicesOf(question).map(([value, label], place) =>
      choice(label, {
        type: "radio",
        name: id,
        id: place === 0 ? id : null,
        value,
        required: true,
        checked: given === value,
        onchange: () => typed(value),
      }),
    );
  }

  function listField(question, { id, given, hints, typed }) {
    return element(
      "select",
      { id, required: true, "aria-describedby": hints, onchange: (event) => typed(event.target.value) },
      element("option", { value: "" }, say("choose")),
      choicesOf(question).map(([value, label]) => element("option", { value, selected: given === value }, label)),
    );
  }

  /** Boxes to tick, of which “none” and “no answer” go with no other. */
  function severalFields(question, { id, given = "", typed }) {
    const ticked = given.split(" ");
    const isAlone = ({ value }) => value === NONE || value === SKIPPED;
    const labels = choicesOf(question).map(([value, label], place) =>
      choice(label, {
        type: "checkbox",
        id: place === 0 ? id : null,
        value,
        checked: ticked.includes(value),
        onchange: ({ target }) => changed(target),
      }),
    );
    const boxes = labels.map((label) => label.querySelector("input"));

    function changed(target) {
      for (const box of boxes) if (box !== target && (isAlone(box) || isAlone(target))) box.checked = false;
      const values = boxes.filter((box) => box.checked).map((box) => box.value);
      typed(values.join(" "));
    }

    return labels;
  }

  /** How a number or a date is typed in; who knows the month has no day to look up. */
  function typing(question) {
    const { low: min, high: max } = boundsOf(question);
    if (isDate(question)) return { type: TYPED[question.step], min, max };
    const isWhole = !decimals(question.step) && !decimals(question.low);
    const inputmode = question.low < 0 ? null : isWhole ? "numeric" : "decimal"; // many phones' pads lack a minus
    return { type: "number", inputmode, min, max, step: question.step };
  }

  const TYPED = { day: "date", week: "date", month: "month", quarter: "month", year: "number" };

  /** The bounds as they are typed in: of months and years no more than those. */
  function boundsOf({ low, high, step, kind }) {
    const digits = { date: 10, month: 7, number: 4 }[TYPED[step]];
    return kind === "date" ? { low: low.slice(0, digits), high: high.slice(0, digits) } : { low, high };
  }

  function typedField(question, { id, given, hints, typed }) {
    const isSkipped = given === SKIPPED;
    const input = element("input", {
      id,
      ...typing(question),
      required: true,
      disabled: isSkipped,
      value: isSkipped ? "" : (given ?? ""),
      "aria-describedby": hints,
      oninput: () => typed(input.value),
    });
    const unit = element("bdi", { class: "unit" }, isNumber(question) ? spoken(question.unit) : "");
    const described = { "aria-describedby": `${id}-asked` };
    const skipBox = { type: "checkbox", checked: isSkipped, onchange: skipped, ...described };
    return [
      element("div", { class: "number" }, input, unit),
      maySkip(question) ? choice(say("skip"), skipBox) : null,
    ];

    function skipped({ target }) {
      input.disabled = target.checked;
      typed(target.checked ? SKIPPED : input.value);
    }
  }

  function hintOf(question) {
    if (isSeveral(question)) return say("several.help");
    if (isDate(question)) return dateHint(question);
    if (!isNumber(question)) return "";
    const range = say("number.range", { low: plain(question.low), high: plain(question.high) });
    return range + (question.step === 1 ? "" : say("number.step", { step: plain(question.step) })) + say("full.stop");
  }

  /** The bounds, and what is told where less is told than is typed in. */
  function dateHint(question) {
    const told = { week: "date.week", quarter: "date.quarter" }[question.step];
    return say("date.range", boundsOf(question)) + (told ? say(told) : "") + say("full.stop");
  }

  return Object.freeze({
    isTyped,
    together,
    countOf,
    answerOf,
    releasedOf,
    isOutside,
    inWords,
    labelOf,
    codesOf,
    codesOutside,
    answersOf,
    asked,
    markOpen,
  });
})();
