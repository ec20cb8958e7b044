"use strict";
/* The survey owner's page: how the survey stands, looked at again and again; what is asked for is in asking.js. */
(() => {
  const { element, say, counted, spoken, number } = Page;
  const { Refused, ask, askJson, asQuery } = Asking;
  const [SOONEST, LATEST] = [2000, 30000]; // milliseconds between two looks: sooner while answers come in

  let survey;
  let status = { state: "open", n: null };
  let summary = null;
  let pause = SOONEST;
  let timer;
  let isLooking = false;
  let isUnreachable = false;

  const screen = document.getElementById("screen");
  const alertLine = document.getElementById("alert");

  const tell = (words) => Page.tell(alertLine, words);

  // Names in the survey's own words.

  const names = {
    question: (name) => survey.questions.find((question) => question.name === name),
    title: (name) => spoken(names.question(name).text),
    label(name, label) {
      const question = names.question(name);
      const code = (question.values ?? []).findIndex((one) => String(one.value) === label);
      if (code >= 0) return Questions.labelOf(question, code);
      return question.missing && label === "missing" ? Questions.inWords(question, null) : label;
    },
  };

  // The page: what never changes is built once, what does is replaced.

  function build() {
    document.title = `${spoken(survey.title)} · ${say("dashboard.title")}`;
    document.getElementById("title").textContent = spoken(survey.title);
    screen.replaceChildren(
      element("div", { id: "suppressed" }),
      element("div", { id: "impossible", role: "status" }),
      element("section", { id: "promise", class: "card", "aria-labelledby": "promise-title" }),
      element("div", { id: "questions", class: "grid" }),
      element("section", { id: "history", class: "card", "aria-labelledby": "history-title" }),
      ...Tables.cards(),
      exportCard(),
    );
    document
      .getElementById("standing")
      .replaceChildren(
        element(
          "p",
          { id: "live", role: "status" },
          element("span", { id: "n" }),
          " ",
          element("span", { id: "n-words" }),
        ),
        element("span", { id: "state", class: "badge" }),
        element("span", { id: "updated", class: "small" }),
        element("button", { id: "toggle", type: "button", class: "secondary", onclick: toggled }),
      );
    showStanding();
    if (summary) showSummary();
  }

  function showStanding() {
    const isOpen = status.state === "open";
    document.getElementById("state").textContent = say(`state.${status.state}`);
    document.getElementById("state").classList.toggle("closed", !isOpen);
    document.getElementById("toggle").textContent = isOpen ? say("close") : say("reopen");
    document.getElementById("toggle").classList.toggle("danger", isOpen);
    if (!summary) return;
    document.getElementById("n").textContent = number(summary.n);
    document.getElementById("n-words").textContent = counted("answers", summary.n);
    const time = new Intl.DateTimeFormat(document.documentElement.lang, { timeStyle: "medium" }).format(new Date());
    document.getElementById("updated").textContent = say("updated", { time });
  }

  function showSummary() {
    showStanding();
    const isKnown = !summary.suppressed;
    for (const id of ["questions", "history", "crosstab", "tree"]) document.getElementById(id).hidden = !isKnown;
    document.getElementById("suppressed").replaceChildren(...(isKnown ? [] : [Panels.suppressed(summary)]));
    document.getElementById("promise").replaceChildren(...Panels.promise(survey, summary));
    document.getElementById("impossible").replaceChildren(...Panels.impossible(summary, names));
    document.getElementById("left-out").textContent = Panels.leftOut(summary.export, status.state === "open");
    if (!isKnown) return;
    const focused = focusedTable();
    document
      .getElementById("questions")
      .replaceChildren(...summary.questions.map((one) => Panels.question(summary, one, names)));
    document.getElementById("history").replaceChildren(...Panels.history(summary, names));
    if (focused) document.querySelector(focused)?.focus({ preventScroll: true });
  }

  /** Where the focus is among what a refresh replaces, so that it can be put back there. */
  function focusedTable() {
    const details = document.activeElement?.closest("details[data-key]");
    const part = document.activeElement?.matches("summary") ? "summary" : ".scroll";
    return details && `details[data-key="${CSS.escape(details.dataset.key)}"] > ${part}`;
  }

  // Export, closing.

  function exportCard() {
    return element(
      "section",
      { class: "card", "aria-labelledby": "export-title" },
      element("h2", { id: "export-title" }, say("export.title")),
      element("p", { class: "small" }, say("export.body")),
      element("p", { id: "left-out" }),
      element(
        "div",
        { class: "buttons" },
        ["csv", "parquet", "html"].map((format) =>
          element(
            "button",
            { type: "button", class: "secondary", onclick: () => download(format) },
            say(`export.${format}`),
          ),
        ),
      ),
    );
  }

  /** A link cannot carry the token, so the file is fetched first and then handed to the browser to save. */
  async function download(format) {
    try {
      const reply = await ask(`admin/export?${asQuery({ format, lang: document.documentElement.lang })}`);
      const [, name] = /filename="([^"]+)"/.exec(reply.headers.get("Content-Disposition") ?? "") ?? [];
      const address = URL.createObjectURL(await reply.blob());
      element("a", { href: address, download: name ?? `${survey.id}.${format}` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60000);
      tell("");
    } catch (fault) {
      if (fault instanceof Refused) tell(say("export.failed", { reason: fault.message }));
      else complain(fault);
    }
  }

  function toggled() {
    if (status.state !== "open") return setState("reopen");
    const dialog = document.getElementById("confirm");
    dialog.replaceChildren(
      element("h2", { id: "confirm-title" }, say("close.title")),
      element("p", {}, say("close.body")),
      element(
        "div",
        { class: "buttons" },
        element(
          "button",
          { type: "button", class: "secondary", autofocus: true, onclick: () => dialog.close() },
          say("close.cancel"),
        ),
        element(
          "button",
          {
            type: "button",
            class: "primary",
            onclick: () => {
              dialog.close();
              setState("close");
            },
          },
          say("close.confirm"),
        ),
      ),
    );
    dialog.showModal();
  }

  async function setState(action) {
    try {
      status.state = (await askJson(`admin/${action}`, { method: "POST" })).state;
      showStanding();
    } catch (fault) {
      complain(fault);
    }
  }

  // Looking again and again, more seldom while nothing happens and not at all while nobody looks.

  async function look() {
    if (isLooking) return;
    isLooking = true;
    clearTimeout(timer);
    try {
      status = await askJson("status");
      const hasMoved = await refresh();
      pause = hasMoved ? SOONEST : Math.min(pause * 1.5, LATEST);
      await Tables.show(summary);
      if (isUnreachable) tell("");
      isUnreachable = false;
    } catch (fault) {
      pause = Math.min(pause * 2, LATEST);
      complain(fault);
      if (fault.code === 401) return;
    } finally {
      isLooking = false;
    }
    if (!document.hidden) timer = setTimeout(look, pause);
  }

  /** Ask for the summary where there may be more answers, and show it where there are. */
  async function refresh() {
    const before = summary;
    if (!before || status.n === null || status.n !== before.n) summary = await askJson("admin/summary");
    const hasMoved = before?.n !== summary.n;
    if (hasMoved) showSummary();
    else showStanding();
    return hasMoved;
  }

  function complain(fault) {
    if (fault.code === 401) {
      Asking.forget();
      askForToken(say("token.wrong"));
      return;
    }
    isUnreachable = !(fault instanceof Refused);
    tell(isUnreachable ? say("unreachable") : fault.message);
  }

  function askForToken(words) {
    tell(words);
    document.getElementById("standing").replaceChildren();
    screen.replaceChildren(
      element(
        "form",
        {
          class: "card token",
          onsubmit: (event) => {
            event.preventDefault();
            Asking.remember(document.getElementById("token").value.trim());
            start();
          },
        },
        element("h2", {}, say("token.title")),
        element("label", { class: "asked", for: "token" }, say("token.label")),
        element("p", { class: "help", id: "token-help" }, say("token.help")),
        element("input", {
          id: "token",
          type: "password",
          required: true,
          autocomplete: "off",
          "aria-describedby": "token-help",
        }),
        element("button", { class: "primary", type: "submit" }, say("token.open")),
      ),
    );
  }

  function start() {
    tell("");
    summary = null;
    Tables.outdate();
    build();
    look();
  }

  async function open() {
    Asking.takeToken();
    survey = await Page.loadSurvey();
    if (!survey) return tell(say("fault.survey"));
    status.state = survey.state;
    Tables.begin(survey, names, complain);
    Page.offerLanguages(survey.languages, () => {
      if (!Asking.token()) return askForToken("");
      build();
      Tables.outdate();
      if (summary) Tables.show(summary);
    });
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && Asking.token()) look();
    });
    document.getElementById("title").textContent = spoken(survey.title);
    if (Asking.token()) start();
    else askForToken("");
  }

  open();
})();
