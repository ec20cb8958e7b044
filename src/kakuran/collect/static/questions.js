"use strict";
/*
 * What people are asked: its field, and the way between answers and their codes 0, 1, 2 …, which are what is perturbed.
 *
 * A survey's columns each have codes of their own. Most are a question; of a question with several answers there may be
 * several, each of which tells some of its options. Who would rather not answer, and whom a question does not apply to,
 * have codes like everybody else.
 */
const Questions = (() => {
  const { element, say, spoken, plain } = Page;
  const MANY = 7; // more answers than this are put into a list to choose from
  const OFF_GRID = 1e-6; // how far a number may lie off its grid, in steps: what floats do, and no more
  const SKIPPED = "skipped"; // given by who would rather not answer
  const NONE = "none"; // given by who chooses none of several

  const isNumber = (question) => question.kind === "numeric";
  const isSeveral = (question) => question.kind === "several";
  const isGroup = (question) => isSeveral(question) || (!isNumber(question) && question.values.length <= MANY);

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

  // Codes of a column.

  const pointsOf = (column) =>
    isNumber(column) ? Math.round((column.high - column.low) / column.step) + 1 : column.values.length;

  /** How many codes there are: one for every answer, and one for those of whom there is none. */
  const countOf = (column) => pointsOf(column) + Number(Boolean(column.missing));

  /** Whether what a survey says of a column keeps its codes among those that can be perturbed. */
  function isSound(column) {
    const { outside = 0, several } = column;
    const sets = 2 ** (several?.ticks.length ?? 0);
    return Number.isInteger(outside) && outside >= 0 && outside < countOf(column) && sets <= pointsOf(column);
  }

  /** The answer that has a code, null where it is missing; a released one may lie `reach` codes beyond the bounds. */
  function answerOf(column, code, reach = 0) {
    if (column.missing && code === countOf(column) - 1 + reach) return null;
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
    if (isNumber(column) && answer !== null) return [plain(answer), spoken(column.unit)].filter(Boolean).join(" ");
    const code = answer === null ? countOf(column) - 1 : column.values.findIndex(({ value }) => value === answer);
    return code < 0 ? String(answer) : labelOf(column, code); // what lies beyond the values has a name and no label
  }

  /** What the answer with a code is called, where it is no number. */
  function labelOf(column, code) {
    if (code === column.outside) return say("outside");
    if (column.missing && code === countOf(column) - 1) return say("skip");
    if (!column.several) return spoken(column.values[code].label);
    const { ticks, options } = column.several;
    const ticked = ticks.filter((_, place) => (code >> place) & 1);
    if (ticks.length === 1) return say(ticked.length ? "several.yes" : "several.no");
    const labels = ticked.map((tick) => spoken(options.find(({ value }) => value === tick).label));
    return labels.join(say("comma")) || say("several.none");
  }

  // What was given: a code as text, a typed number, the places of options, SKIPPED, NONE, or nothing yet.

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
    const code = isNumber(column) ? Math.round(stepsOf(column, given)) : Number(given);
    return code >= 0 && code < pointsOf(column) ? code : undefined;
  }

  const stepsOf = (column, given) => (Number(given) - column.low) / column.step;

  function isOnGrid(column, given) {
    const steps = stepsOf(column, given);
    return Math.abs(steps - Math.round(steps)) < OFF_GRID;
  }

  /** The codes of those whom a question does not apply to. */
  const codesOutside = (question) => Object.fromEntries(question.columns.map(({ name, outside }) => [name, outside]));

  /** The answers given, as far as other questions may depend on them. */
  function answersOf(question, given = "") {
    if (given === "" || given === SKIPPED || given === NONE || isNumber(question)) return [];
    const places = given.split(" ").map(Number);
    return places.map((place) => (isSeveral(question) ? question.options : question.values)[place].value);
  }

  // Fields.

  /** The question with its field, which starts with what was given before; `typed` is called with what is given. */
  function asked(question, id, given, typed, isRouting) {
    const help = [spoken(question.help), hintOf(question)].filter(Boolean).join(" ");
    const hints = [help && `${id}-help`, `${id}-error`].filter(Boolean).join(" ");
    const field = isNumber(question) ? numberField : isSeveral(question) ? severalFields : choosingField(question);
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
    return element("label", { class: "choice" }, input, element("span", {}, label));
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

  function numberField(question, { id, given, hints, typed }) {
    const isWhole = !decimals(question.step) && !decimals(question.low);
    const isSkipped = given === SKIPPED;
    const input = element("input", {
      id,
      type: "number",
      inputmode: question.low < 0 ? null : isWhole ? "numeric" : "decimal", // many phones' pads lack a minus
      min: question.low,
      max: question.high,
      step: question.step,
      required: true,
      disabled: isSkipped,
      value: isSkipped ? "" : (given ?? ""),
      "aria-describedby": hints,
      oninput: () => typed(input.value),
    });
    const unit = element("span", { class: "unit" }, spoken(question.unit));
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
    if (!isNumber(question)) return "";
    const range = say("number.range", { low: plain(question.low), high: plain(question.high) });
    return range + (question.step === 1 ? "" : say("number.step", { step: plain(question.step) })) + say("full.stop");
  }

  return Object.freeze({
    together,
    countOf,
    isSound,
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
