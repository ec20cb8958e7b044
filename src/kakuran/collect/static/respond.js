"use strict";
/*
 * The respondent's page: draw what to ask where not everybody is asked all, ask, draw once, show what will be sent,
 * send it.
 *
 * True answers live in memory: until the draw in `typed`, then in `truth` until it is sent or the page is closed. They
 * are never stored and never part of a request. What is shown and sent afterwards is what draw.js has stored.
 */
(() => {
  const { element, tell, say, spoken, apart, number, percent } = Page;

  const LONGEST_REASON = 300; // characters of what a server says against an answer

  let survey; // as this page has read it
  let questions; // of the survey, as people are asked them
  let isClosed;
  let agreedTo = 0; // answers that were sent from here under other ids, when somebody agreed to send this as well
  let chosen = null; // the set of questions that this device tells
  let typed = Object.create(null);
  let truth = null;
  let invitation = "";
  let isSending = false;
  let isSentElsewhere = false; // by another tab, which shares the draw

  // Screens.

  const screen = document.getElementById("screen");
  const alertLine = document.getElementById("alert");
  const statusLine = document.getElementById("status");

  function render() {
    document.title = spoken(survey.title);
    document.getElementById("title").textContent = spoken(survey.title);
    tell(alertLine, "");
    tell(statusLine, "");
    const draw = Draw.stored(survey);
    const before = unagreed(draw);
    if (draw?.sent) show(Screens.thanks(survey, draw, isSentElsewhere));
    else if (draw && draw.version !== survey.version) show(Screens.notice("earlier.title", "earlier.body"));
    else if (isClosed)
      show(Screens.notice("closed.title", "closed.body", draw && !draw.tried && "closed.drawn"));
    else if (before.length) show(Screens.answeredBefore(survey, before, () => agreed(before.length)));
    else show(draw ? review(draw) : form());
    document.getElementById("footer").replaceChildren(Screens.how(survey));
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

  /** What this device has sent here under other ids, as long as nobody has agreed to send this as well. */
  function unagreed(draw) {
    const before = draw?.tried ? [] : Draw.before(survey);
    return before.length > agreedTo ? before : [];
  }

  function agreed(count) {
    agreedTo = count;
    moveOn();
  }

  function form() {
    chosen ??= Draw.tell(survey);
    return element(
      "form",
      { novalidate: true, autocomplete: "off", onsubmit: submitted },
      element("p", { class: "lead" }, spoken(survey.introduction)),
      element("p", { class: "promise" }, say("promise")),
      Screens.trust(survey),
      survey.tells.length > 1 ? element("p", { class: "small", id: "asked" }, whatIsAsked()) : null,
      asked().map(card),
      element("p", { class: "small", id: "once" }, say("draw.once")),
      survey.memoise ? element("p", { class: "small", id: "memoised" }, say("draw.memoised")) : null,
      element("button", { class: "primary", type: "submit", "aria-describedby": "once" }, say("draw")),
    );
  }

  const asksAll = () => survey.ask === "all";
  const isTold = (question) => question.columns.some(({ name }) => chosen.questions.includes(name));
  const decidersOf = ({ only_if: conditions = {} }) =>
    Object.entries(conditions).map(([name, answers]) => [questions.find((one) => one.name === name), answers]);

  /** What is told, and what decides whether that applies, though it may not be told itself. */
  function asked() {
    const needed = new Set();
    const need = (question) => {
      needed.add(question);
      for (const [decider] of decidersOf(question)) need(decider);
    };
    questions.filter((question) => asksAll() || isTold(question)).forEach(need);
    return questions.filter((question) => needed.has(question));
  }

  /** Whether the true answers so far lead to a question; nobody else learns of it. */
  function applies(question) {
    return decidersOf(question).every(([decider, answers]) => {
      const given = Questions.answersOf(decider, typed[decider.name]);
      return applies(decider) && given.some((one) => answers.includes(one));
    });
  }

  function whatIsAsked() {
    const numbers = { told: number(questions.filter(isTold).length), count: number(questions.length) };
    return say(asksAll() ? "asked.all" : "asked.drawn", numbers) + howLikely();
  }

  /** How likely sets of questions are: of columns all are, but a question with several of them is in more sets. */
  function howLikely() {
    const isIn = (question) => survey.tells.map((set) => question.columns.some(({ name }) => set.questions.includes(name)));
    const inSets = questions.map(isIn);
    const sets = survey.tells.map((_, at) => JSON.stringify(inSets.map((one) => one[at])));
    const times = new Map();
    for (const set of sets) times.set(set, (times.get(set) ?? 0) + 1);
    if (new Set(times.values()).size === 1) return say("asked.even", { sets: number(times.size) });
    const counts = inSets.map((one) => one.filter(Boolean).length);
    const [most, least] = [Math.max(...counts), Math.min(...counts)];
    const [question, other] = [most, least].map((count) => apart(spoken(questions[counts.indexOf(count)].text)));
    const [often, seldom] = [most, least].map((count) => percent(count / sets.length));
    return say("asked.uneven", { sets: number(times.size), question, other, often, seldom });
  }

  function card(question) {
    const isRouting = !asksAll() && !isTold(question);
    const hear = (given) => typedIn(question, given);
    const made = Questions.asked(question, idOf(question), typed[question.name], hear, isRouting);
    made.hidden = !applies(question);
    return made;
  }

  const idOf = (question) => `q${questions.indexOf(question)}`;
  const codesOf = (question) => Questions.codesOf(question, typed[question.name]);

  function typedIn(question, given) {
    typed[question.name] = given;
    if (codesOf(question)) Questions.markOpen(question, idOf(question), false);
    for (const one of asked()) document.getElementById(`${idOf(one)}-card`).hidden = !applies(one);
  }

  function submitted(event) {
    event.preventDefault();
    const open = asked().filter((question) => applies(question) && !codesOf(question));
    for (const question of asked())
      Questions.markOpen(question, idOf(question), open.includes(question), typed[question.name]);
    if (open.length) {
      tell(alertLine, say("error.some", { count: open.length }));
      document.getElementById(idOf(open[0])).focus();
      return;
    }
    const given = asked().map((question) => (applies(question) ? codesOf : Questions.codesOutside)(question));
    const codes = Object.assign({}, ...given);
    try {
      if (Draw.stored(survey)?.sent) return sentElsewhere();
      Draw.once(survey, chosen, codes);
    } catch (fault) {
      if (!(fault instanceof DOMException)) throw fault;
      tell(alertLine, say("fault.storage"));
      return;
    }
    const answered = survey.questions.filter(({ name }) => Object.hasOwn(codes, name));
    truth = Object.fromEntries(
      answered.map((column) => [column.name, Questions.answerOf(column, codes[column.name])]),
    );
    typed = Object.create(null);
    moveOn();
  }

  function review(draw) {
    return element(
      "section",
      {},
      element("h2", { tabindex: -1 }, say("review.title")),
      element("p", { class: "lead" }, say(truth ? (survey.trust ? "review.why.trust" : "review.why") : "review.forgotten")),
      Screens.trust(survey),
      Screens.sheet(survey, draw, truth),
      isSomeKept(draw) ? element("p", { class: "small" }, say("review.untold")) : null,
      survey.invitations ? invitationField() : null,
      element("button", { class: "primary", type: "button", id: "send", onclick: send }, say("send")),
    );
  }

  const isSomeKept = (draw) =>
    Boolean(draw.told) && (asksAll() || Object.keys(truth ?? {}).some((name) => !Object.hasOwn(draw.answers, name)));

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

  // Sending.

  async function send() {
    const draw = Draw.stored(survey);
    if (isSending || !draw) return;
    if (draw.sent) return sentElsewhere();
    if (unagreed(draw).length) return moveOn(); // another tab has sent something meanwhile
    isSending = true;
    const button = document.getElementById("send");
    button.setAttribute("aria-disabled", "true");
    tell(alertLine, "");
    tell(statusLine, say("sending"));
    try {
      Draw.mark(survey, { tried: true });
      const { id, version, told, answers } = draw;
      const message = { id, version, told, answers, ...(survey.invitations ? { invitation } : {}) };
      const reply = await Sending.deliver(message, waiting);
      Draw.mark(survey, { tried: true, sent: reply.ok });
      await (reply.ok ? taken() : refused(reply));
    } finally {
      isSending = false;
      button.removeAttribute("aria-disabled");
      tell(statusLine, "");
    }
  }

  const waiting = (seconds) => tell(statusLine, seconds ? say("fault.busy", { seconds }) : say("sending"));

  function taken() {
    truth = null;
    moveOn();
  }

  /** Another tab was first: nothing is sent again, and whoever sits here is told why. */
  function sentElsewhere() {
    isSentElsewhere = true;
    truth = null;
    typed = Object.create(null);
    moveOn();
  }

  async function refused(reply) {
    if (reply.status === 0 || reply.status >= 500) return tell(alertLine, say("fault.offline"));
    const problem = (await reply.json().catch(() => null)) ?? {};
    const kind = String(problem.type).split("/").pop();
    if (kind === "closed") {
      isClosed = true;
      return moveOn();
    }
    if (kind === "bad-invitation") {
      tell(alertLine, say("fault.invitation"));
      return document.getElementById("invitation").focus();
    }
    if (kind === "wrong-version") return tell(alertLine, say("fault.version"));
    const reason = String(problem.detail ?? problem.title ?? reply.status).replace(/\p{C}/gu, "");
    return tell(alertLine, say("fault.refused", { reason: apart(reason.slice(0, LONGEST_REASON)) }));
  }

  // Opening.

  /** The invitation comes behind a # in the address, which browsers keep to themselves; it is taken off at once. */
  function takeInvitation() {
    invitation = new URLSearchParams(location.hash.slice(1)).get("i") ?? "";
    if (invitation) history.replaceState(null, "", location.pathname + location.search);
  }

  /** The page's own policy, before anything is asked: a server may leave out its header, and styles that load tell. */
  function enclose() {
    const content =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; form-action 'none'; base-uri 'none'";
    document.head.prepend(element("meta", { "http-equiv": "Content-Security-Policy", content }));
  }

  async function open() {
    enclose();
    const parts = [typeof Perturb, typeof Definition, typeof Screens, typeof Sending];
    if (parts.includes("undefined") || top !== self) return tell(alertLine, say("fault.script"));
    takeInvitation();
    tell(statusLine, say("loading"));
    const given = await Page.loadSurvey();
    if (!given) {
      tell(statusLine, "");
      return tell(alertLine, say("fault.survey"));
    }
    try {
      survey = Definition.read(given);
    } catch ({ key = "fault.definition", place = "survey" }) {
      tell(statusLine, "");
      const refuse = () => tell(alertLine, say(key, { place }));
      Page.offerLanguages(Object.keys(Texts), refuse);
      return refuse();
    }
    isClosed = survey.state === "closed";
    questions = Questions.together(survey.questions);
    Page.offerLanguages(survey.languages, render);
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
