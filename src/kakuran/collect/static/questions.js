"use strict";
/* One question: its field, and the way between its answers and their codes 0, 1, 2 …, which are what is perturbed. */
const Questions = (() => {
  const { element, say, spoken, plain } = Page;
  const MANY = 7; // more answers than this are put into a list to choose from
  const OFF_GRID = 1e-6; // how far a number may lie off its grid, in steps: what floats do, and no more

  const isNumber = (question) => question.kind === "numeric";
  const isGroup = (question) => !isNumber(question) && question.values.length <= MANY;

  /** How many answers there are. */
  function countOf(question) {
    return isNumber(question) ? Math.round((question.high - question.low) / question.step) + 1 : question.values.length;
  }

  /** The answer that has a code; what is released may lie beyond the bounds, or before the first value and after the last. */
  function answerOf(question, code) {
    if (!isNumber(question)) return question.values[code]?.value ?? beyond(question, code);
    // Whole numbers of the last digit, so that 3 steps of 0.1 are 0.3.
    const unit = 10 ** Math.max(decimals(question.low), decimals(question.step));
    return (Math.round(question.low * unit) + code * Math.round(question.step * unit)) / unit;
  }

  function beyond({ values, beyond: names }, code) {
    const reach = names.length / 2;
    return names[code < 0 ? code + reach : code - values.length + reach];
  }

  function decimals(number) {
    const [mantissa, exponent = "0"] = String(number).split("e");
    return Math.max(0, (mantissa.split(".")[1]?.length ?? 0) - Number(exponent));
  }

  /** The code of what was typed or chosen, undefined where it is no answer: no number is rounded to one. */
  function codeOf(question, given = "") {
    if (given === "") return undefined;
    if (isNumber(question) && !isOnGrid(question, given)) return undefined;
    const code = isNumber(question) ? Math.round(stepsOf(question, given)) : Number(given);
    return code >= 0 && code < countOf(question) ? code : undefined;
  }

  const stepsOf = (question, given) => (Number(given) - question.low) / question.step;

  function isOnGrid(question, given) {
    const steps = stepsOf(question, given);
    return Math.abs(steps - Math.round(steps)) < OFF_GRID;
  }

  function inWords(question, answer) {
    const named = question.values?.find(({ value }) => value === answer);
    if (!isNumber(question)) return named ? spoken(named.label) : String(answer);
    return [plain(answer), spoken(question.unit)].filter(Boolean).join(" ");
  }

  /** The question with its field, which starts with what was given before; `typed` is called with what is given. */
  function asked(question, id, given, typed) {
    const help = [spoken(question.help), rangeOf(question)].filter(Boolean).join(" ");
    const hints = [help && `${id}-help`, `${id}-error`].filter(Boolean).join(" ");
    const field = isNumber(question) ? numberField : isGroup(question) ? choiceFields : listField;
    const [frame, heading] = isGroup(question)
      ? [{ class: "card", "aria-describedby": hints }, element("legend", { class: "asked" }, spoken(question.text))]
      : [{ class: "card" }, element("label", { class: "asked", for: id }, spoken(question.text))];
    return element(
      isGroup(question) ? "fieldset" : "div",
      frame,
      heading,
      help ? element("p", { class: "help", id: `${id}-help` }, help) : null,
      field(question, { id, given, hints, typed: (event) => typed(event.target.value) }),
      element("p", { class: "error", id: `${id}-error`, hidden: true }),
    );
  }

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
    const codes = [0, 1, 2].filter((code) => code === 0 || code < countOf(question) - 1);
    return codes.map((code) => plain(answerOf(question, code))).join(say("comma"));
  }

  function choiceFields(question, { id, given, typed }) {
    return question.values.map(({ label }, code) =>
      element(
        "label",
        { class: "choice" },
        element("input", {
          type: "radio",
          name: id,
          id: code === 0 ? id : null,
          value: code,
          required: true,
          checked: given === String(code),
          onchange: typed,
        }),
        element("span", {}, spoken(label)),
      ),
    );
  }

  function listField(question, { id, given, hints, typed }) {
    return element(
      "select",
      { id, required: true, "aria-describedby": hints, onchange: typed },
      element("option", { value: "" }, say("choose")),
      question.values.map(({ label }, code) =>
        element("option", { value: code, selected: given === String(code) }, spoken(label)),
      ),
    );
  }

  function numberField(question, { id, given, hints, typed }) {
    const isWhole = !decimals(question.step) && !decimals(question.low);
    return element(
      "div",
      { class: "number" },
      element("input", {
        id,
        type: "number",
        inputmode: question.low < 0 ? null : isWhole ? "numeric" : "decimal", // many phones' pads lack a minus
        min: question.low,
        max: question.high,
        step: question.step,
        required: true,
        value: given ?? "",
        "aria-describedby": hints,
        oninput: typed,
      }),
      element("span", { class: "unit" }, spoken(question.unit)),
    );
  }

  function rangeOf(question) {
    if (!isNumber(question)) return "";
    const range = say("number.range", { low: plain(question.low), high: plain(question.high) });
    return range + (question.step === 1 ? "" : say("number.step", { step: plain(question.step) })) + say("full.stop");
  }

  return Object.freeze({ countOf, answerOf, codeOf, inWords, asked, markOpen });
})();
