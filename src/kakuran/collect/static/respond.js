"use strict";
/*
 * The respondent's page: ask, draw once, show what will be sent, send it.
 *
 * The draw is written to this browser's storage before it is shown or sent, and from then on only what is stored there
 * is ever shown or sent. True answers live in memory: until the draw in `typed`, then in `truth` for as long as this
 * page is open. They are never stored and never part of a request.
 */
(() => {
  const { element, say, spoken, number, plain, percent } = Page;
  const MANY = 7; // more answers than this are put into a list to choose from
  const ROUNDING = 1e-6; // what adding up may change of an ε
  const PATIENCE = 60; // the most seconds to wait before trying again

  let survey;
  let epsilon; // of what this page draws from, whatever the survey says it is
  let typed = {};
  let truth = null;
  let invitation = "";
  let isSending = false;

  // The draw: {version, id, answers, tried, sent}, one for each survey.

  const place = () => `kakuran:survey:${survey.id}`;

  function storedDraw() {
    return JSON.parse(localStorage.getItem(place()));
  }

  function store(draw) {
    localStorage.setItem(place(), JSON.stringify(draw));
  }

  /** A draw of this version; one of an earlier version does not count as long as it never left the device. */
  function ourDraw() {
    const draw = storedDraw();
    return draw && (draw.version === survey.version || draw.tried) ? draw : null;
  }

  function drawOnce(codes) {
    if (ourDraw()) return; // another tab was faster
    const answers = {};
    for (const question of survey.questions) {
      answers[question.name] = answerOf(question, Perturb.sampler(question.mechanism)(codes[question.name]));
    }
    store({ version: survey.version, id: randomId(), answers, tried: false, sent: false });
  }

  /** A random UUID (version 4); `crypto.randomUUID` is missing on plain-HTTP addresses. */
  function randomId() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const text = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return text.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  }

  // Between codes and answers.

  function answerOf(question, code) {
    if (question.kind === "categorical") return question.values[code].value;
    // Whole numbers of the last digit, so that 3 steps of 0.1 are 0.3.
    const digits = Math.max(decimals(question.low), decimals(question.step));
    const unit = 10 ** digits;
    return (Math.round(question.low * unit) + code * Math.round(question.step * unit)) / unit;
  }

  function decimals(number) {
    const [mantissa, exponent = "0"] = String(number).split("e");
    return Math.max(0, (mantissa.split(".")[1]?.length ?? 0) - Number(exponent));
  }

  /** The code of what was typed or chosen, undefined where it is no answer. */
  function codeOf(question) {
    const given = typed[question.name] ?? "";
    if (given === "") return undefined;
    if (question.kind === "categorical") return Number(given);
    const code = Math.round((Number(given) - question.low) / question.step);
    return code >= 0 && code < countOf(question) ? code : undefined;
  }

  /** How many answers a question has. */
  function countOf(question) {
    if (question.kind === "categorical") return question.values.length;
    return Math.round((question.high - question.low) / question.step) + 1;
  }

  function inWords(question, answer) {
    if (question.kind === "categorical") return spoken(question.values.find(({ value }) => value === answer).label);
    return [plain(answer), spoken(question.unit)].filter(Boolean).join(" ");
  }

  // Screens.

  const screen = document.getElementById("screen");
  const alertLine = document.getElementById("alert");
  const statusLine = document.getElementById("status");

  function render() {
    document.title = spoken(survey.title);
    document.getElementById("title").textContent = spoken(survey.title);
    tell(alertLine, "");
    tell(statusLine, "");
    const draw = ourDraw();
    if (draw?.sent) show(thanks(draw));
    else if (draw && draw.version !== survey.version) show(notice("earlier.title", "earlier.body"));
    else if (survey.state === "closed")
      show(notice("closed.title", "closed.body", draw && !draw.tried && "closed.drawn"));
    else show(draw ? review(draw) : form());
    document.getElementById("footer").replaceChildren(how());
  }

  function show(...content) {
    screen.replaceChildren(...content);
  }

  /** A new screen starts at its heading, for eyes and screen readers alike. */
  function moveOn() {
    render();
    (screen.querySelector("h2") ?? document.getElementById("title")).focus();
    scrollTo(0, 0);
  }

  function tell(line, text) {
    line.textContent = text;
    line.classList.toggle("notice", Boolean(text));
  }

  function notice(title, ...keys) {
    return element(
      "section",
      { class: "card" },
      element("h2", { tabindex: -1 }, say(title)),
      keys.filter(Boolean).map((key) => element("p", {}, say(key))),
    );
  }

  function form() {
    return element(
      "form",
      { novalidate: true, autocomplete: "off", onsubmit: submitted },
      element("p", { class: "lead" }, spoken(survey.introduction)),
      element("p", { class: "promise" }, say("promise")),
      survey.questions.map(asked),
      element("p", { class: "small", id: "once" }, say("draw.once")),
      element("button", { class: "primary", type: "submit", "aria-describedby": "once" }, say("draw")),
    );
  }

  function asked(question, place) {
    const id = `q${place}`;
    const help = [spoken(question.help), rangeOf(question)].filter(Boolean).join(" ");
    const hints = [help && `${id}-help`, `${id}-error`].filter(Boolean).join(" ");
    const parts = [
      help ? element("p", { class: "help", id: `${id}-help` }, help) : null,
      question.kind === "numeric"
        ? numberField(question, id, hints)
        : question.values.length > MANY
          ? listField(question, id, hints)
          : question.values.map((_, code) => choiceField(question, id, code)),
      element("p", { class: "error", id: `${id}-error`, hidden: true }),
    ];
    const isGroup = question.kind === "categorical" && question.values.length <= MANY;
    const heading = element(
      isGroup ? "legend" : "label",
      { class: "asked", for: isGroup ? null : id },
      spoken(question.text),
    );
    return element(
      isGroup ? "fieldset" : "div",
      { class: "card", id: `${id}-card`, "aria-describedby": isGroup && hints },
      heading,
      parts,
    );
  }

  function choiceField(question, id, code) {
    return element(
      "label",
      { class: "choice" },
      element("input", {
        type: "radio",
        name: id,
        id: code === 0 ? id : null,
        value: code,
        required: true,
        checked: typed[question.name] === String(code),
        onchange: (event) => typedIn(question, event.target.value),
      }),
      element("span", {}, spoken(question.values[code].label)),
    );
  }

  function listField(question, id, hints) {
    return element(
      "select",
      { id, required: true, "aria-describedby": hints, onchange: (event) => typedIn(question, event.target.value) },
      element("option", { value: "" }, say("choose")),
      question.values.map(({ label }, code) =>
        element("option", { value: code, selected: typed[question.name] === String(code) }, spoken(label)),
      ),
    );
  }

  function numberField(question, id, hints) {
    return element(
      "div",
      { class: "number" },
      element("input", {
        id,
        type: "number",
        inputmode: question.low < 0 ? null : decimals(question.step) || decimals(question.low) ? "decimal" : "numeric",
        min: question.low,
        max: question.high,
        step: question.step,
        required: true,
        value: typed[question.name] ?? "",
        "aria-describedby": hints,
        oninput: (event) => typedIn(question, event.target.value),
      }),
      element("span", { class: "unit" }, spoken(question.unit)),
    );
  }

  function rangeOf(question) {
    if (question.kind !== "numeric") return "";
    const range = say("number.range", { low: plain(question.low), high: plain(question.high) });
    return range + (question.step === 1 ? "" : say("number.step", { step: plain(question.step) })) + say("full.stop");
  }

  function typedIn(question, value) {
    typed[question.name] = value;
    markOpen(question, codeOf(question) === undefined && !document.getElementById(errorOf(question)).hidden);
  }

  const errorOf = (question) => `q${survey.questions.indexOf(question)}-error`;

  function markOpen(question, isOpen) {
    const line = document.getElementById(errorOf(question));
    const words = question.kind === "categorical" ? "error.choice" : "error.number";
    line.hidden = !isOpen;
    line.textContent = isOpen ? say(words, { low: plain(question.low), high: plain(question.high) }) : "";
    for (const field of line.parentElement.querySelectorAll("input, select")) {
      if (isOpen) field.setAttribute("aria-invalid", "true");
      else field.removeAttribute("aria-invalid");
    }
  }

  function submitted(event) {
    event.preventDefault();
    const codes = Object.fromEntries(survey.questions.map((question) => [question.name, codeOf(question)]));
    const open = survey.questions.filter((question) => codes[question.name] === undefined);
    for (const question of survey.questions) markOpen(question, open.includes(question));
    if (open.length) {
      tell(alertLine, say("error.some", { count: open.length }));
      document.getElementById(`q${survey.questions.indexOf(open[0])}`).focus();
      return;
    }
    try {
      drawOnce(codes);
    } catch (fault) {
      if (!(fault instanceof DOMException)) throw fault;
      tell(alertLine, say("fault.storage"));
      return;
    }
    truth = Object.fromEntries(
      survey.questions.map((question) => [question.name, answerOf(question, codes[question.name])]),
    );
    typed = {};
    moveOn();
  }

  function review(draw) {
    return element(
      "section",
      {},
      element("h2", { tabindex: -1 }, say("review.title")),
      element("p", { class: "lead" }, truth ? say("review.why") : say("review.forgotten")),
      survey.questions.map((question) => compared(question, draw)),
      survey.invitations ? invitationField() : null,
      element("button", { class: "primary", type: "button", id: "send", onclick: send }, say("send")),
    );
  }

  function compared(question, draw) {
    const sent = draw.answers[question.name];
    const isSame = truth && truth[question.name] === sent;
    const own = truth && [
      element(
        "div",
        { class: "own" },
        element("dt", {}, say("review.true")),
        element("dd", {}, inWords(question, truth[question.name])),
      ),
    ];
    return element(
      "div",
      { class: "card" },
      element("h3", {}, spoken(question.text)),
      element(
        "dl",
        { class: "compared" },
        own,
        element(
          "div",
          { class: "sent" },
          element("dt", {}, draw.sent ? say("review.was") : say("review.sent")),
          element(
            "dd",
            {},
            inWords(question, sent),
            isSame ? element("span", { class: "same" }, say("review.same")) : null,
          ),
        ),
      ),
      element("p", { class: "small" }, why(question)),
    );
  }

  function why({ mechanism }) {
    if (mechanism.kind !== "retention") return say(`why.${mechanism.kind}`);
    const kept = Number(BigInt(mechanism.threshold)) / 2 ** 64;
    return say("why.retention", { kept: percent(kept), count: mechanism.size });
  }

  function invitationField() {
    return element(
      "div",
      { class: "card" },
      element("label", { class: "asked", for: "invitation" }, say("invitation.label")),
      element("p", { class: "help", id: "invitation-help" }, say("invitation.help")),
      element("input", {
        id: "invitation",
        value: invitation,
        autocomplete: "off",
        spellcheck: "false",
        "aria-describedby": "invitation-help",
        oninput: (event) => (invitation = event.target.value.trim()),
      }),
    );
  }

  function thanks(draw) {
    return element(
      "section",
      {},
      element(
        "div",
        { class: "card done" },
        element("h2", { tabindex: -1 }, say("thanks.title")),
        element("p", {}, say("thanks.body")),
      ),
      element(
        "details",
        {},
        element("summary", {}, say("thanks.details")),
        draw.version === survey.version ? survey.questions.map((question) => compared(question, draw)) : null,
      ),
    );
  }

  function how() {
    const file = element("a", { href: "static/perturb.js" }, "perturb.js");
    const [before, after] = say("how.check", { file: "\u0000" }).split("\u0000");
    const numbers = { k: plain(survey.k), n: plain(survey.expected_n), epsilon: number(epsilon, 2) };
    return element(
      "details",
      {},
      element("summary", {}, say("how.title")),
      element("p", {}, say("how.chance")),
      survey.k ? element("p", {}, say("how.k", numbers)) : null,
      element("p", {}, say("how.epsilon", { ...numbers, factor: plain(Number(Math.exp(epsilon).toPrecision(2))) })),
      element("p", {}, before, file, after),
      element("code", {}, document.querySelector('script[src$="perturb.js"]').integrity),
    );
  }

  // Sending.

  async function send() {
    const draw = ourDraw();
    if (isSending || !draw || draw.sent) return;
    isSending = true;
    const button = document.getElementById("send");
    button.setAttribute("aria-disabled", "true");
    tell(alertLine, "");
    tell(statusLine, say("sending"));
    try {
      store({ ...draw, tried: true });
      await deliver(draw);
    } finally {
      isSending = false;
      button.removeAttribute("aria-disabled");
      tell(statusLine, "");
    }
  }

  /** Send until it is taken or refused; the same id and content every time, so that nothing counts twice. */
  async function deliver({ id, version, answers }) {
    for (;;) {
      const reply = await post({ id, version, answers, ...(survey.invitations ? { invitation } : {}) });
      if (reply.ok) {
        store({ ...storedDraw(), sent: true });
        truth = null;
        moveOn();
        return;
      }
      if (reply.status !== 429) {
        refused(reply);
        return;
      }
      await wait(Math.min(Math.max(Number(reply.headers.get("Retry-After")) || 1, 1), PATIENCE));
    }
  }

  async function post(message) {
    try {
      return await fetch("api/responses", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(message),
      });
    } catch {
      return { ok: false, status: 0 };
    }
  }

  async function wait(seconds) {
    for (let left = seconds; left > 0; left -= 1) {
      tell(statusLine, say("fault.busy", { seconds: left }));
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    tell(statusLine, say("sending"));
  }

  async function refused(reply) {
    if (reply.status === 0 || reply.status >= 500) return tell(alertLine, say("fault.offline"));
    const problem = await reply.json().catch(() => ({}));
    const kind = (problem.type ?? "").split("/").pop();
    if (kind === "closed") {
      survey.state = "closed";
      return moveOn();
    }
    if (kind === "bad-invitation") {
      tell(alertLine, say("fault.invitation"));
      return document.getElementById("invitation").focus();
    }
    if (kind === "wrong-version") return tell(alertLine, say("fault.version"));
    return tell(alertLine, say("fault.refused", { reason: problem.detail ?? problem.title ?? reply.status }));
  }

  // Opening.

  /** The invitation comes behind a # in the address, which browsers keep to themselves; it is taken off at once. */
  function takeInvitation() {
    invitation = new URLSearchParams(location.hash.slice(1)).get("i") ?? "";
    if (invitation) history.replaceState(null, "", location.pathname + location.search);
  }

  async function open() {
    if (typeof Perturb === "undefined") return tell(alertLine, say("fault.script"));
    takeInvitation();
    tell(statusLine, say("loading"));
    try {
      const reply = await fetch("api/survey");
      if (!reply.ok) throw new Error(reply.status);
      survey = await reply.json();
    } catch {
      tell(statusLine, "");
      return tell(alertLine, say("fault.survey"));
    }
    Page.offerLanguages(survey.languages, render);
    const isSound = (question) => Perturb.isSound(question.mechanism, countOf(question));
    epsilon = survey.questions.reduce((sum, { mechanism }) => sum + Perturb.epsilon(mechanism), 0);
    if (!survey.questions.every(isSound) || !(epsilon <= survey.epsilon + ROUNDING)) {
      tell(statusLine, "");
      return tell(alertLine, say("fault.promise"));
    }
    try {
      render();
    } catch (fault) {
      if (!(fault instanceof DOMException)) throw fault;
      tell(statusLine, "");
      tell(alertLine, say("fault.storage"));
    }
  }

  open();
})();
