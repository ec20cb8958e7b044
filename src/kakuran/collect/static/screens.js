"use strict";
/* What the respondent's page shows of a survey and a draw: a function of these alone. */
const Screens = (() => {
  const { element, say, spoken, apart, number, plain, factorOf, percent } = Page;

  function notice(title, ...keys) {
    return element(
      "section",
      { class: "card" },
      element("h2", { tabindex: -1 }, say(title)),
      keys.filter(Boolean).map((key) => element("p", {}, say(key))),
    );
  }

  /** What was answered here before, and what it tells together with this survey; `agreed` is called by who goes on. */
  function answeredBefore(survey, before, agreed) {
    const epsilon = before.reduce((sum, one) => sum + one.epsilon, survey.epsilon);
    const titles = before.map(({ title }) => say("quoted", { title: apart(spoken(title)) })).join(say("comma"));
    const numbers = { titles, epsilon: number(epsilon, 2), factor: factorOf(epsilon) };
    return element(
      "section",
      { class: "card" },
      element("h2", { tabindex: -1 }, say("before.title")),
      element("p", {}, say("before.body", numbers)),
      element("button", { class: "primary", type: "button", onclick: agreed }, say("before.agree")),
    );
  }

  /** All that is sent, each beside what was answered, where that is known. */
  function sheet(survey, draw, truth) {
    const isSent = ({ name }) => Object.hasOwn(draw.answers, name);
    return survey.questions.filter(isSent).map((question) => compared(question, survey, draw, truth));
  }

  function compared(question, survey, draw, truth) {
    const tell = survey.tells.find(({ told }) => told === draw.told) ?? survey.tells[0];
    const sent = draw.answers[question.name];
    const isSame = truth && truth[question.name] === sent;
    const own = truth && [
      element(
        "div",
        { class: "own" },
        element("dt", {}, say("review.true")),
        element("dd", { translate: "no" }, element("bdi", {}, Questions.inWords(question, truth[question.name]))),
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
            element("bdi", {}, Questions.inWords(question, sent)),
            isSame ? element("span", { class: "same" }, say(survey.trust ? "review.same.trust" : "review.same")) : null,
          ),
        ),
      ),
      truth && Questions.isOutside(question, truth[question.name])
        ? element("p", { class: "small" }, say("review.outside"))
        : null,
      element("p", { class: "small" }, why(question, tell)),
    );
  }

  function why({ kind, mechanism }, tell) {
    const isRetention = mechanism.kind === "retention" || mechanism.shifts?.length === 1;
    if (!isRetention) return say(`why.${kind === "date" && mechanism.kind === "window" ? kind : mechanism.kind}`);
    const kept = Number(BigInt(tell.threshold ?? mechanism.threshold)) / 2 ** 64;
    return say("why.retention", { kept: percent(kept), count: mechanism.size });
  }

  function thanks(survey, draw, isSentElsewhere) {
    return element(
      "section",
      {},
      element(
        "div",
        { class: "card done" },
        element("h2", { tabindex: -1 }, say("thanks.title")),
        element("p", {}, say(isSentElsewhere ? "thanks.elsewhere" : "thanks.body")),
      ),
      element(
        "details",
        {},
        element("summary", {}, say("thanks.details")),
        draw.version === survey.version ? sheet(survey, draw, null) : null,
      ),
    );
  }

  /** What holds against a server that has to be trusted; nothing of one that need not be. */
  function trust({ trust: trusted, epsilon }) {
    const numbers = { epsilon: number(epsilon, 2), factor: factorOf(epsilon) };
    return trusted ? element("p", { class: "promise", id: "trust" }, say("trust", numbers)) : null;
  }

  /** What is promised, and how to check it. */
  function how(survey) {
    const { epsilon, certainty } = survey;
    const numbers = { k: plain(survey.k), n: plain(survey.expected_n), epsilon: number(epsilon, 2) };
    return element(
      "details",
      {},
      element("summary", {}, say("how.title")),
      survey.trust ? null : element("p", {}, say("how.chance")),
      survey.k && !survey.trust ? element("p", {}, say("how.k", numbers)) : null,
      element("p", {}, say("how.epsilon", { ...numbers, factor: factorOf(epsilon) })),
      survey.trust ? element("p", {}, say("how.trust", { ...numbers, certainty: plain(certainty) })) : null,
      // No link: by a header a server can have browsers fetch what a link leads to, for what is ticked beside it.
      element("p", {}, say("how.check", { file: "static/perturb.js" })),
      element("code", {}, document.querySelector('script[src$="perturb.js"]').integrity),
    );
  }

  return Object.freeze({ notice, answeredBefore, sheet, thanks, trust, how });
})();
