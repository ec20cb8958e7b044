"use strict";
/*
 * The one draw. It is written to this browser's storage before anybody sees it, and from then on only what is stored
 * there is ever shown or sent: a reload, a second click, the back button and a second tab all meet the same draw.
 *
 * What is stored: {version, id, answers, tried, sent}, one for each survey. `answers` are those to send; of the true
 * ones nothing is kept.
 */
const Draw = (() => {
  const place = (survey) => `kakuran:survey:${survey.id}`;

  /** What is stored for a survey; a draw for an earlier version does not count as long as it never left the device. */
  function stored(survey) {
    const draw = JSON.parse(localStorage.getItem(place(survey)));
    return draw && (draw.version === survey.version || draw.tried) ? draw : null;
  }

  /** Draw what to send for the codes of the true answers, unless that was done before. */
  function once(survey, codes) {
    if (stored(survey)) return;
    const answers = {};
    for (const question of survey.questions) {
      const released = Perturb.sampler(question.mechanism)(codes[question.name]);
      answers[question.name] = Questions.answerOf(question, released);
    }
    keep(survey, { version: survey.version, id: randomId(), answers, tried: false, sent: false });
  }

  /** Note that a draw was tried to be sent, or was sent. */
  function mark(survey, changes) {
    keep(survey, { ...stored(survey), ...changes });
  }

  function keep(survey, draw) {
    localStorage.setItem(place(survey), JSON.stringify(draw));
  }

  /** A random UUID (version 4); `crypto.randomUUID` is missing on plain-HTTP addresses. */
  function randomId() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const text = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return text.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  }

  /**
   * The ε of what is drawn from, whatever the survey says it is; undefined where its chances are none.
   */
  function epsilon(survey) {
    const isSound = (question) => Perturb.isSound(question.mechanism, Questions.countOf(question));
    if (!survey.questions.every(isSound)) return undefined;
    return survey.questions.reduce((sum, { mechanism }) => sum + Perturb.epsilon(mechanism), 0);
  }

  return Object.freeze({ stored, once, mark, epsilon });
})();
